"""Bodies and responses of actions, which a watchlist, feed or rule runs on a hit
(docs/api-detection.md#actions)."""

from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BeforeValidator, Field, WithJsonSchema

from vedette.limits import WEBHOOK_SECRET_CHARS_MAX, Limit
from vedette.record.answers import Answer
from vedette.record.bodies import Request, RequestBody
from vedette.record.kinds import Flag, SentBack, number, text

ACTION_DATA_CHARS_MAX: Limit[int] = 20_000
"""Maximum characters of `action_data` that is sent as a JSON string."""

WEBHOOK_URL_CHARS_MAX: Limit[int] = 20_000
"""Maximum characters of the URL of a webhook."""

_Key = Annotated[str, text(WEBHOOK_SECRET_CHARS_MAX)]


def _data(value: Any) -> dict[str, Any]:
    """Parses an object, or a string with a JSON object. Raises ValueError for anything else."""
    if isinstance(value, str) and value:
        if len(value) > ACTION_DATA_CHARS_MAX:
            raise ValueError(f"must have at most {ACTION_DATA_CHARS_MAX:,} characters")
        value = orjson.loads(value)
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise ValueError("must be an object or a string with a JSON object")  # noqa: TRY004 - Pydantic expects it
    return value


_Data = Annotated[
    dict[str, Any],
    BeforeValidator(_data),
    WithJsonSchema(
        {"type": ["string", "object", "null"], "maxLength": ACTION_DATA_CHARS_MAX},
        mode="validation",
    ),
    Field(description="An object, or a string with a JSON object"),
]


class ActionSwitch(Request):
    """Enables or disables an action; the other members configure a webhook."""

    enabled: Annotated[Flag, Field(description="Whether the action is enabled")]
    url: Annotated[
        Annotated[str, text(WEBHOOK_URL_CHARS_MAX)] | None, Field(description="URL of the webhook")
    ] = None
    template: Annotated[_Key | None, Field(description="Name of the template")] = None
    secret: Annotated[_Key | None, Field(description="Key that signs messages")] = None
    authorization: Annotated[_Key | None, Field(description="Authorization header of messages")] = (
        None
    )
    params: Annotated[
        dict[str, _Key] | None, Field(description="Values for the template, by name")
    ] = None
    action_type: SentBack = None
    authorization_set: SentBack = None
    params_set: SentBack = None
    secret_set: SentBack = None


class ActionRequest(Request):
    """A stored action. Its type is set when the action is added."""

    action_data: _Data = {}
    id: SentBack = None
    group_id: SentBack = None
    watchlist_id: SentBack = None


class NewActionRequest(ActionRequest):
    """A new stored action."""

    action_type: Annotated[
        int, number(0, 3), Field(description="0 email, 1 syslog, 2 http, 3 alert")
    ]
    enabled: SentBack = None


class ActionChange(ActionRequest):
    """A change of a stored action."""

    action_type: SentBack = None
    enabled: Annotated[Flag | None, Field(description="Whether the action is enabled")] = None


class ActionState(Answer):
    """State of one action type."""

    action_type: str
    enabled: bool


class ActionEnabled(Answer):
    """Whether an action is enabled."""

    enabled: bool


class ActionTrial(Answer):
    """Targets to which a test message is sent."""

    result: Literal["success"]
    targets: list[str]


class AddedAction(Answer):
    """The number of a new action."""

    action_id: int


class StoredAction(Answer):
    """A stored action; `watchlist_id` and `group_id` are both the id of its source."""

    id: int
    action_type: int
    action_data: str
    enabled: bool
    watchlist_id: int | str
    group_id: int | str


ACTION_SWITCH: Final = RequestBody(ActionSwitch)
NEW_ACTION: Final = RequestBody(NewActionRequest)
ACTION_CHANGE: Final = RequestBody(ActionChange)
