"""Response by rule as a value: what is done to a host by itself when a rule fires, and how far."""

from dataclasses import dataclass
from typing import Final, Literal

ResponseAction = Literal["isolate", "ban"]

LEVELS: Final = ("informational", "low", "medium", "high", "critical")
"""Of rules, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePolicy:
    """A stored policy. It is for the rules of `rule_ids`, or for all of at least `level` when
    there are none."""

    id: int = 0
    name: str
    enabled: bool = False
    action: ResponseAction
    level: str = "critical"
    rule_ids: tuple[str, ...] = ()
    hosts_never: tuple[str, ...] = ()
    """Names of hosts that are never isolated, with * and ?, lower case."""
    hour_max: int = 5
    """Responses an hour; what comes on top is only recorded."""
    expires_hours: int = 24
    """After which it is undone; 0 for never."""
    ban_hosts_max: int = 3
    """A file that more hosts have is not banned: it may be the system's."""
    changed_us: int = 0
    username: str = ""
    """Who changed it last."""

    def is_for(self, rule_id: str, level: str) -> bool:
        """Whether a rule of a level is one that this policy answers."""
        if self.rule_ids:
            return rule_id in self.rule_ids
        return level in LEVELS and LEVELS.index(level) >= LEVELS.index(self.level)
