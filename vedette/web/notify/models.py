"""Parses and formats actions of sources (docs/api-detection.md#actions)."""

from typing import Any, Final

import orjson

from vedette.errors import NotFoundError
from vedette.model.findings.action import ACTION_NAMES, Action, ActionType
from vedette.notify.action_settings import shown_data

_TYPES: Final = {name: kind for kind, name in ACTION_NAMES.items()} | {"http_post": ActionType.HTTP}


def action_type(name: str) -> ActionType:
    """Returns the action type that a path names. Raises NotFoundError."""
    if name not in _TYPES:
        raise NotFoundError(f"unknown action {name[:40]!r}; must be one of {', '.join(_TYPES)}")
    return _TYPES[name]


def legacy_body(action: Action) -> dict[str, Any]:
    """Returns a stored action. Clients read the id of its source from `group_id`, even for a
    watchlist."""
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
