"""What of a table is audited: the value of `info["audited"]` in its definition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vedette.limits import AUDIT_TARGET_CHARS_MAX


@dataclass(frozen=True, slots=True)
class Audited:
    """What of a table is audited."""

    kind: str
    """What a row is, e.g. `user`."""
    name: tuple[str, ...]
    """The columns that name a row among its kind."""
    columns: frozenset[str] | None = None
    """The columns whose changes count; None for all."""
    secrets: frozenset[str] = frozenset()
    """Columns of which only is shown whether they are set."""

    def target(self, row: Mapping[str, Any]) -> str:
        """The name of a row."""
        return "/".join(str(row.get(name, "")) for name in self.name)[:AUDIT_TARGET_CHARS_MAX]


def audited(
    kind: str, *name: str, only: tuple[str, ...] = (), secrets: tuple[str, ...] = ()
) -> dict[str, Audited]:
    """The `info` of a table: what its rows are, and the columns that name one."""
    columns = frozenset((*only, *secrets)) if only else None
    return {"audited": Audited(kind, name, columns, frozenset(secrets))}
