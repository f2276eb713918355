"""Values of the placeholders of Sigma rules (docs/detection.md).

A change marks the rules that name one as compiled by nobody (`codec` 0), in the same
transaction, so that they are compiled anew also when the server is killed before it could.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select, update

from vedette import limits
from vedette.errors import ConflictError, NotFoundError
from vedette.state.db import list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema_rules import SIGMA_PLACEHOLDER, SIGMA_RULE

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
    """All values, by name, and the number of the change that made them so."""

    version: int
    by_name: Mapping[str, tuple[str, ...]]


def listed(database: Database) -> list[Placeholder]:
    """All placeholders, by name."""
    query = select(SIGMA_PLACEHOLDER).order_by(_ROW.name)
    with database.reading() as connection:
        return [
            Placeholder(row.name, tuple(json.loads(row.body)), row.modified_us, row.modified_by)
            for row in connection.execute(query)
        ]


def load(database: Database) -> Values:
    """What rules are compiled with."""
    with database.reading() as connection:
        rows = connection.execute(select(_ROW.name, _ROW.body)).all()
        found = {name: tuple(json.loads(body)) for name, body in rows}
        return Values(version(connection), found)


def texts(database: Database) -> list[tuple[str, str]]:
    """Ids and texts of the rules that may name a placeholder."""
    is_alive = SIGMA_RULE.c.deleted_us == 0
    query = select(SIGMA_RULE.c.id, SIGMA_RULE.c.text).where(_MAY_NAME_ONE, is_alive)
    with database.reading() as connection:
        return [(rule_id, text) for rule_id, text in connection.execute(query)]


def version(connection: Connection) -> int:
    """Rises with every change."""
    return list_versions.current(connection, _VERSION)


def put(database: Database, name: str, values: Sequence[str], by: str, now_us: int) -> None:
    """Sets the values of a placeholder. Raises ConflictError for too many placeholders."""
    row = {"body": json.dumps(list(values)), "modified_us": now_us, "modified_by": by}
    with database.writing() as connection:
        _rise(connection, name)
        changed = update(SIGMA_PLACEHOLDER).where(_ROW.name == name).values(**row)
        if connection.execute(changed).rowcount:
            return
        connection.execute(insert(SIGMA_PLACEHOLDER).values(name=name, **row))
        count = connection.scalar(select(func.count()).select_from(SIGMA_PLACEHOLDER)) or 0
        if count > limits.SIGMA_PLACEHOLDERS_MAX:
            raise ConflictError(f"more than {limits.SIGMA_PLACEHOLDERS_MAX} placeholders")


def remove(database: Database, name: str) -> None:
    """Rules that name it cannot be evaluated any more. Raises NotFoundError."""
    with database.writing() as connection:
        _rise(connection, name)
        if not connection.execute(delete(SIGMA_PLACEHOLDER).where(_ROW.name == name)).rowcount:
            raise NotFoundError(f"there is no placeholder {name[:80]!r}")


def _rise(connection: Connection, name: str) -> None:
    list_versions.rise(connection, _VERSION)
    names_it = _MAY_NAME_ONE & SIGMA_RULE.c.text.contains(f"%{name}%", autoescape=True)
    connection.execute(update(SIGMA_RULE).where(names_it).values(codec=0))
