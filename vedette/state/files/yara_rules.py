"""Rows of YARA rules that users added, and of rules that the server stopped."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.schema_fleet import YARA_RULE
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import YARA_TEXTS

YARA_ALL_BYTES_MAX: Limit[int] = 2 * 1024 * 1024
"""Bytes of all YARA texts. The reading process compiles them at start; a megabyte takes 20 seconds
on a busy machine."""


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class YaraRule:
    """A named text of YARA rules. Times are epoch microseconds."""

    name: str
    text: str
    enabled: bool
    problem: str
    """Reason why the server stopped it; "" if it was not stopped."""
    username: str
    """Author of the latest change."""
    changed_us: int

    @property
    def is_in_force(self) -> bool:
        return self.enabled and not self.problem

    @property
    def digest(self) -> str:
        """Shortened SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def all_rules(database: Database) -> list[YaraRule]:
    """Returns all texts, sorted by name."""
    with database.reading() as connection:
        rows = connection.execute(select(YARA_RULE).order_by(YARA_RULE.c.name)).mappings().all()
    return [_rule(row) for row in rows]


def marks(database: Database) -> list[tuple[object, ...]]:
    """Returns (name, enabled, problem, time of change) of all texts; differs after any change."""
    columns = (YARA_RULE.c.name, YARA_RULE.c.enabled, YARA_RULE.c.problem, YARA_RULE.c.changed_us)
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(select(*columns).order_by(columns[0]))]


def get(database: Database, name: str) -> YaraRule:
    """Returns the text with this name. Raises NotFoundError."""
    with database.reading() as connection:
        row = connection.execute(select(YARA_RULE).where(YARA_RULE.c.name == name)).mappings()
        found = row.first()
    if found is None:
        raise NotFoundError(f"YARA rules {name[:64]!r} not found")
    return _rule(found)


def save(
    database: Database,
    name: str,
    username: str,
    now_us: int,
    *,
    text: str | None = None,
    enabled: bool | None = None,
) -> YaraRule:
    """Adds a text, which the caller has validated, or changes one; None leaves a value unchanged. A
    change restarts a stopped text.

    Raises BadRequestError for an invalid name, NotFoundError, and ConflictError above the quota or
    size limit.
    """
    if not _NAME.fullmatch(name):
        raise BadRequestError("name: 1 to 64 letters, digits, dots, dashes and underscores")
    values: dict[str, object] = {"username": username, "changed_us": now_us, "problem": ""}
    values |= {} if text is None else {"text": text}
    values |= {} if enabled is None else {"enabled": int(enabled)}
    with database.writing() as connection:
        changed = connection.execute(
            update(YARA_RULE).where(YARA_RULE.c.name == name).values(values)
        ).rowcount
        if not changed and text is None:
            raise NotFoundError(f"YARA rules {name[:64]!r} not found")
        if not changed:
            check_room(connection, YARA_TEXTS)
        others = select(func.coalesce(func.sum(func.length(YARA_RULE.c.text)), 0)).where(
            YARA_RULE.c.name != name
        )
        if text is not None and int(connection.scalar(others) or 0) + len(text) > (
            YARA_ALL_BYTES_MAX
        ):
            raise ConflictError(f"all YARA rules together exceed {YARA_ALL_BYTES_MAX:,} bytes")
        if not changed:
            row = {"name": name, "enabled": 1, **values}
            connection.execute(insert(YARA_RULE).values(row))
    return get(database, name)


def remove(database: Database, name: str) -> None:
    """Deletes the text with this name. Raises NotFoundError."""
    with database.writing() as connection:
        gone = connection.execute(delete(YARA_RULE).where(YARA_RULE.c.name == name)).rowcount
    if not gone:
        raise NotFoundError(f"YARA rules {name[:64]!r} not found")


def stop(database: Database, name: str, digest: str, problem: str) -> None:
    """Marks a text as stopped after it exceeded its time. Does nothing if the text has changed
    meanwhile."""
    known = next((one for one in all_rules(database) if one.name == name), None)
    if known is None or known.digest != digest:
        return
    with database.writing() as connection:
        connection.execute(
            update(YARA_RULE)
            .where(YARA_RULE.c.name == name, YARA_RULE.c.changed_us == known.changed_us)
            .values(problem=problem)
        )


def _rule(row: object) -> YaraRule:
    values = dict(row)  # type: ignore[call-overload]
    return YaraRule(**values | {"enabled": bool(values["enabled"])})
