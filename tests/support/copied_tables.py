"""Empty stores of tests, as copies of one that `create_tables` made.

Making the tables of a store takes a third of a second, most of it to understand the expressions
of a hundred indexes; a copy of a table is understood already.
"""

from vedette.store.engine.client import Engine
from vedette.store.schema.table import Table
from vedette.store.schema.tables import TABLES, definitions

FILLED = ("merging", "schema")
"""Tables that hold something in a new store."""


def copy_tables(engine: Engine, original: str) -> None:
    """Creates the tables of a new store as copies. `original` is a database with the empty plain
    tables of `create_tables`."""
    for table in TABLES:
        _copy(engine, table, original)
    fill_tables(engine, original)


def fill_tables(engine: Engine, original: str) -> None:
    """Fills empty tables with the initial rows of a new store."""
    for name in FILLED:
        engine.command(f"INSERT INTO `{name}` SELECT * FROM `{original}`.`{name}`")


def _copy(engine: Engine, table: Table, original: str) -> None:
    create, *route = definitions(table, engine.capabilities)
    head, _, _ = create.partition("(")
    engine.command(f"{head} AS `{original}`.`{table.name}`")
    for statement in route:
        engine.command(statement)
