"""A rule over single events: its condition, event classes and descriptive texts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from vedette.detect.nodes import Node

Level = Literal["informational", "low", "medium", "high", "critical"]

SEVERITY: Final[dict[Level, int]] = {
    "informational": 10,
    "low": 30,
    "medium": 50,
    "high": 75,
    "critical": 100,
}
"""Alert severity of each level, 0 to 100."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A detection rule. `sources` are the event classes (`views/sources.py`) that it applies to."""

    id: str
    title: str
    level: Level
    sources: tuple[str, ...]
    condition: Node
    status: str = ""
    description: str = ""
    author: str = ""
    version: str = ""
    """Date of the last change according to the rule, `YYYY-MM-DD`, or ""."""
    tags: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    name: str = ""
    """Name that correlations and filters may use instead of the id."""
    fields: frozenset[str] = field(default_factory=frozenset)
    """Every field that the condition names."""
    obsoletes: tuple[str, ...] = ()
    """Ids of the rules that this rule replaces."""

    @property
    def techniques(self) -> tuple[str, ...]:
        """ATT&CK techniques of the tags, as `T1059.001`."""
        return techniques_of(self.tags)


def techniques_of(tags: Iterable[str]) -> tuple[str, ...]:
    """Returns the ATT&CK techniques among tags, as `T1059.001`."""
    names = (tag.removeprefix("attack.") for tag in tags if tag.startswith("attack."))
    return tuple(name.upper() for name in names if name[:1] == "t" and name[1:2].isdigit())


@dataclass(frozen=True, slots=True)
class Problem:
    """Reason why a rule could not be loaded. The rest of its file and set is loaded."""

    source: str
    """File name, and number of the document in it, starting at 1."""
    title: str
    reason: str
    """A stable identifier, e.g. `unsupported_logsource`."""
    message: str
