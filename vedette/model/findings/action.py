"""What happens when a source finds something: a mail, a line of syslog, an HTTP POST, an alert."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from vedette.model.findings.detection import Source


class ActionType(IntEnum):
    """Numbers as clients know them (docs/api-objects.md#actions)."""

    EMAIL = 0
    SYSLOG = 1
    HTTP = 2
    ALERT = 3


ACTION_NAMES: Final = {
    ActionType.EMAIL: "email",
    ActionType.SYSLOG: "syslog",
    ActionType.HTTP: "http",
    ActionType.ALERT: "alert",
}
"""`action_type` on the wire, in the order of lists."""

EVERY_SOURCE: Final = "*"
"""In place of the id of a source: all sources of its kind."""

RECIPIENTS: Final = "email_recipients"
"""Member of `action_data` that lists user ids, for mail actions that belong to nobody."""

ALERTS_BY_DEFAULT: Final = frozenset(("rule", "server"))
"""Kinds of sources whose alert action is on until somebody switches it off."""


@dataclass(frozen=True, slots=True)
class Action:
    """A stored action of a source."""

    id: int
    source: Source
    type: ActionType
    enabled: bool = True
    user_id: int = 0
    """Whose mail it is; 0 for what belongs to nobody."""
    data: dict[str, Any] = field(default_factory=dict)
    """Members of `action_data` (docs/notifications.md#actions)."""
    has_secret: bool = False
    """Whether it has a webhook of its own, whose URL and keys are sealed."""

    @property
    def recipients(self) -> tuple[int, ...]:
        """Ids of the users that a mail action is for."""
        if self.user_id:
            return (self.user_id,)
        return tuple(self.data.get(RECIPIENTS, ()))
