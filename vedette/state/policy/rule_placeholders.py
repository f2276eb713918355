"""Values of the placeholders in Sigma rules (docs/detection-conditions.md#placeholders).

A change resets the `codec` of rules that use the placeholder to 0 in the same transaction. They are
then recompiled even if the server is killed first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import NotFoundError
from vedette.state.db import list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema_rules import SIGMA_PLACEHOLDER, SIGMA_RULE
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import SIGMA_PLACEHOLDERS

_VERSION: Final = "sigma_placeholder_version"
_ROW: Final = SIGMA_PLACEHOLDER.c
_MAY_NAME_ONE: Final = SIGMA_RULE.c.text.contains("expand", autoescape=True)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder with its values."""

    name: str
    values: tuple[str, ...]
    modified_us: int
    modified_by: str


@dataclass(frozen=True, slots=True)
class Values:
    """All values by name, and the version of this set."""

    version: int
    by_name: Mapping[str, tuple[str, ...]]


def listed(database: Database) -> list[Placeholder]:
    """Returns all placeholders, sorted by name."""
    query = select(SIGMA_PLACEHOLDER).order_by(_ROW.name)
    with database.reading() as connection:
        return [
            Placeholder(row.name, tuple(json.loads(row.body)), row.modified_us, row.modified_by)
            for row in connection.execute(query)
        ]


def load(database: Database) -> Values:
    """Returns the values for compiling rules."""
    with database.reading() as connection:
        rows = connection.execute(select(_ROW.name, _ROW.body)).all()
        found = {name: tuple(json.loads(body)) for name, body in rows}
        return Values(version(connection), found)


def texts(database: Database) -> list[tuple[str, str]]:
    """Returns (id, text) of the rules that may use a placeholder."""
    is_alive = SIGMA_RULE.c.deleted_us == 0
    query = select(SIGMA_RULE.c.id, SIGMA_RULE.c.text).where(_MAY_NAME_ONE, is_alive)
    with database.reading() as connection:
        return [(rule_id, text) for rule_id, text in connection.execute(query)]


def version(connection: Connection) -> int:
    """Returns a version that increases with every change."""
    return list_versions.current(connection, _VERSION)


def put(database: Database, name: str, values: Sequence[str], by: str, now_us: int) -> None:
    """Sets the values of a placeholder. Raises ConflictError above the quota of placeholders."""
    row = {"body": json.dumps(list(values)), "modified_us": now_us, "modified_by": by}
    with database.writing() as connection:
        _rise(connection, name)
        changed = update(SIGMA_PLACEHOLDER).where(_ROW.name == name).values(**row)
        if connection.execute(changed).rowcount:
            return
        check_room(connection, SIGMA_PLACEHOLDERS)
        connection.execute(insert(SIGMA_PLACEHOLDER).values(name=name, **row))


def remove(database: Database, name: str) -> None:
    """Deletes a placeholder; rules that use it can no longer be evaluated. Raises NotFoundError."""
    with database.writing() as connection:
        _rise(connection, name)
        if not connection.execute(delete(SIGMA_PLACEHOLDER).where(_ROW.name == name)).rowcount:
            raise NotFoundError(f"placeholder {name[:80]!r} not found")


def _rise(connection: Connection, name: str) -> None:
    list_versions.rise(connection, _VERSION)
    names_it = _MAY_NAME_ONE & SIGMA_RULE.c.text.contains(f"%{name}%", autoescape=True)
    connection.execute(update(SIGMA_RULE).where(names_it).values(codec=0))
