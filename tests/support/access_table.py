"""Who may call which route, as `tests/corpus/access/routes.txt` has it, apart from the table that
the server goes by: a change of one without the other is found."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from vedette.model.principal import Role

FILE: Final = Path(__file__).parents[1] / "corpus" / "access" / "routes.txt"

REACHED: Final = 0
"""The handler was reached: any status but 401, 403 and, for an object, 404."""

_LINE: Final = re.compile(
    r"(?P<right>[a-z/]+)(?P<mark>[*!+~]?)(?P<lax>\??)\s+(?P<reading>[r-])\s+"
    r"(?P<methods>[A-Z|]+)\s+(?P<path>\S+)(\s+(?P<body>\{.*))?"
)
_LEAST: Final = {
    "user": Role.NONE,
    "own": Role.NONE,
    "viewer": Role.VIEWER,
    "analyst": Role.ANALYST,
    "admin": Role.ADMINISTRATOR,
}


@dataclass(frozen=True)
class Caller:
    """Who calls: a role in some sensor groups, or another kind of caller."""

    name: str
    kind: str = "user"
    """none, user, global, ingest, app (of the cloud side, with every permission in the groups of
    its roles) or sensor (by its own key)."""
    roles: tuple[tuple[str, Role], ...] = ()
    """Roles by name of the group."""
    is_read_only: bool = False

    def role_in(self, group: str) -> Role:
        return Role.ADMINISTRATOR if self.kind == "global" else dict(self.roles).get(group, Role(0))

    @property
    def highest(self) -> Role:
        if self.kind == "global":
            return Role.ADMINISTRATOR
        return max((role for _, role in self.roles), default=Role.NONE)


@dataclass(frozen=True)
class Row:
    """One route, or one body of it."""

    right: str
    mark: str
    is_lax: bool
    may_be_read: bool
    method: str
    path: str
    body: Any

    def expected(self, caller: Caller, group: str, *, is_own: bool = False) -> int:
        """The status that `caller` gets for the object of a group, or for an object of their own;
        `REACHED` if they may."""
        if self.right in ("open", "body"):
            return REACHED
        if caller.kind == "sensor":
            return REACHED if self.right == "sensor" else 401
        if caller.kind == "none":
            return 401
        if caller.kind == "app" and not self.is_of_cloud:
            return 403
        if self.right == "send":
            is_sender = caller.kind in ("ingest", "global")
            return REACHED if is_sender and not caller.is_read_only else 403
        if caller.kind == "ingest" or self.right == "sensor":
            return 403
        if caller.is_read_only and not self.may_be_read:
            return 403
        return self._expected_of_user(caller, group, is_own)

    def _expected_of_user(self, caller: Caller, group: str, is_own: bool) -> int:
        if self.right in ("global", "every"):
            return REACHED if caller.kind == "global" else 403
        to_call, _, within = self.right.rpartition("/")
        if caller.highest < _LEAST[to_call or within]:
            return 403
        if self.right == "own":
            is_seen = is_own or (self.mark == "+" and caller.kind == "global")
            return REACHED if is_seen else 404
        if not self.mark:
            return REACHED
        role = caller.role_in(group)
        if self.mark == "*" and role < Role.VIEWER:
            return 404
        if self.mark == "~" and role < _LEAST[within]:
            return 404
        return REACHED if role >= _LEAST[within] else 403

    @property
    def is_of_cloud(self) -> bool:
        """Whether it is of the cloud side, which alone is open to apps."""
        return "/{org_key}/" in self.path

    @property
    def is_of_object(self) -> bool:
        """Whether reaching the handler means that it found an object."""
        return bool(self.mark or self.right == "own") and not self.is_lax


def rows() -> list[Row]:
    """All rows, with alternatives written out."""
    lines = (line.strip() for line in FILE.read_text().splitlines())
    return [row for line in lines if line and not line.startswith("#") for row in _rows(line)]


def _rows(line: str) -> Iterator[Row]:
    found = _LINE.fullmatch(line)
    assert found, f"not a row of the access table: {line}"
    for method, path in product(found["methods"].split("|"), paths_of(found["path"])):
        yield Row(
            found["right"],
            found["mark"],
            bool(found["lax"]),
            found["reading"] == "r",
            method,
            path,
            json.loads(found["body"]) if found["body"] else None,
        )


def paths_of(pattern: str) -> Iterator[str]:
    parts = re.split(r"\(([^)]*)\)", pattern)
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    for chosen in product(*choices):
        yield "".join(chosen)
