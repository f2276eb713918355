"""Migrations of the state database are one chain, in the order of their numbers, and end with the
schema that the program uses."""

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, inspect

from vedette.state.db.database import open_database
from vedette.state.start import migrate
from vedette.state.table_list import METADATA

VERSIONS = Path(__file__).parents[2] / "vedette" / "state" / "migrations" / "versions"


def _value(text: str, name: str) -> str:
    found = re.search(rf'^{name} = (?:"(\d+)"|None)$', text, re.MULTILINE)
    assert found, f"{name} of {text[:80]!r}"
    return found[1] or ""


def test_each_migration_follows_the_one_before() -> None:
    before = ""
    for path in sorted(VERSIONS.glob("[0-9]*.py")):
        text = path.read_text()
        assert _value(text, "revision") == path.name.partition("_")[0]
        assert _value(text, "down_revision") == before, path.name
        before = _value(text, "revision")


@pytest.mark.parametrize("path", sorted(VERSIONS.glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_a_migration_uses_nothing_that_changes(path: Path) -> None:
    assert "vedette" not in re.findall(r"^ *(?:from|import) (\w+)", path.read_text(), re.MULTILINE)


def _schema(connection: Connection) -> dict[str, Any]:
    """Maps table to its columns, keys, constraints and indexes, with their names and options."""
    found = inspect(connection)
    tables = set(found.get_table_names()) - {"alembic_version"}
    return {table: _table(found, table) for table in sorted(tables)}


def _table(found: Any, name: str) -> dict[str, Any]:
    columns = (
        {**column, "type": repr(column["type"])}
        for column in found.get_columns(name, autoincrement=True)
    )
    parts = {
        "columns": columns,
        "foreign keys": found.get_foreign_keys(name),
        "unique constraints": found.get_unique_constraints(name),
        "checks": found.get_check_constraints(name),
        "indexes": found.get_indexes(name),
    }
    described = {part: sorted(map(repr, values)) for part, values in parts.items()}
    sql = found.bind.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = ?", (name,))
    return {
        **described,
        "primary key": repr(found.get_pk_constraint(name)),
        "options": found.get_table_options(name),
        "counts ids up for ever": "AUTOINCREMENT" in sql.scalar_one().upper(),
    }


def test_the_migrations_end_with_the_tables_that_the_program_uses(tmp_path: Path) -> None:
    database = open_database("", tmp_path)
    migrate(database)
    with database.reading() as connection:
        migrated = _schema(connection)
    database.close()
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        METADATA.create_all(connection)
        used = _schema(connection)
    engine.dispose()
    assert migrated.keys() == used.keys()
    for name, table in used.items():
        assert migrated[name] == table, name
