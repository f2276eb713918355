"""Actions of a detection source: mail, syslog, HTTP POST, or an alert."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from vedette.model.findings.detection import Source


class ActionType(IntEnum):
    """Action types as numbered in the API (docs/api-detection.md#actions)."""

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
"""`action_type` in the API, in the order of lists."""

EVERY_SOURCE: Final = "*"
"""Source id that stands for all sources of a kind."""

RECIPIENTS: Final = "email_recipients"
"""Member of `action_data` with the ids of the recipients, for mail actions without an owner."""

ALERTS_BY_DEFAULT: Final = frozenset(("rule", "server"))
"""Kinds of sources whose alert action is enabled by default."""


@dataclass(frozen=True, slots=True)
class Action:
    """A stored action of a source."""

    id: int
    source: Source
    type: ActionType
    enabled: bool = True
    user_id: int = 0
    """Owner of a mail action; 0 if the action has no owner."""
    data: dict[str, Any] = field(default_factory=dict)
    """Members of `action_data` (docs/notifications.md#actions)."""
    has_secret: bool = False
    """Whether the action has a webhook of its own. Its URL and keys are sealed."""

    @property
    def recipients(self) -> tuple[int, ...]:
        """Ids of the users that receive the mails of the action."""
        if self.user_id:
            return (self.user_id,)
        return tuple(self.data.get(RECIPIENTS, ()))
