"""Actions of sources over HTTP (docs/api-objects.md#actions)."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import ACTION_DATA_CHARS_MAX
from vedette.model.findings.action import ACTION_NAMES, Action, ActionType
from vedette.notify.action_settings import shown_data

_TYPES: Final = {name: kind for kind, name in ACTION_NAMES.items()} | {"http_post": ActionType.HTTP}


def action_type(name: str) -> ActionType:
    """Of the name in a path. Raises NotFoundError."""
    if name not in _TYPES:
        raise NotFoundError(f"there is no action {name[:40]!r}; there are {', '.join(_TYPES)}")
    return _TYPES[name]


def numbered_type(value: Any) -> ActionType:
    """Of the number that legacy clients send. Raises BadRequestError."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in list(ActionType):
        raise BadRequestError("action_type: must be 0 (email), 1 (syslog), 2 (http) or 3 (alert)")
    return ActionType(value)


def is_enabled(body: Mapping[str, Any], *, needed: bool) -> bool | None:
    """The member `enabled`. Raises BadRequestError."""
    if "enabled" not in body and not needed:
        return None
    if not isinstance(body.get("enabled"), bool):
        raise BadRequestError("enabled: must be true or false")
    return bool(body["enabled"])


def action_data(body: Mapping[str, Any]) -> dict[str, Any]:
    """The member `action_data`: JSON as a text, or an object. Raises BadRequestError."""
    given = body.get("action_data")
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        if len(given) > ACTION_DATA_CHARS_MAX:
            raise BadRequestError(f"action_data: at most {ACTION_DATA_CHARS_MAX} characters")
        try:
            given = orjson.loads(given)
        except orjson.JSONDecodeError as error:
            raise BadRequestError(f"action_data: {error}") from None
    if not isinstance(given, dict):
        raise BadRequestError("action_data: must be an object, or one as text")
    return given


def legacy_body(action: Action) -> dict[str, Any]:
    """A stored action. Clients read the id of its source from `group_id` in both cases."""
    source_id: int | str = action.source.id
    if action.source.id.isdecimal():
        source_id = int(action.source.id)
    return {
        "id": action.id,
        "action_type": int(action.type),
        "action_data": orjson.dumps(shown_data(action)).decode(),
        "enabled": action.enabled,
        "watchlist_id": source_id,
        "group_id": source_id,
    }
