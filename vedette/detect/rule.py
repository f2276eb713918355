"""A rule over single events: what it looks for, where, and what people need to know of it."""

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
"""Alert severity, 0 to 100, of each level."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`sources` are the names of event classes (`views/sources.py`) that the rule is asked of."""

    id: str
    title: str
    level: Level
    sources: tuple[str, ...]
    condition: Node
    status: str = ""
    description: str = ""
    author: str = ""
    version: str = ""
    """The date that the rule gives for its last change, `YYYY-MM-DD`, or ""."""
    tags: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    name: str = ""
    """What correlations and filters may call it, besides its id."""
    fields: frozenset[str] = field(default_factory=frozenset)
    """Every field that the condition names."""

    @property
    def techniques(self) -> tuple[str, ...]:
        """ATT&CK techniques of the tags, as `T1059.001`."""
        return techniques_of(self.tags)


def techniques_of(tags: Iterable[str]) -> tuple[str, ...]:
    """ATT&CK techniques among tags, as `T1059.001`."""
    names = (tag.removeprefix("attack.") for tag in tags if tag.startswith("attack."))
    return tuple(name.upper() for name in names if name[:1] == "t" and name[1:2].isdigit())


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a rule could not be loaded; the rest of its file and set is."""

    source: str
    """File, and number of the document in it, from 1."""
    title: str
    reason: str
    """A stable word, e.g. `unsupported_logsource`."""
    message: str
