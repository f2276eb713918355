"""The stores that tests are given (`tests/conftest.py`) are what `create_tables` makes."""

from collections.abc import Sequence
from contextlib import closing

from vedette.store.engine.client import ClickHouseEngine
from vedette.store.schema.create import create_tables
from vedette.store.schema.tables import TABLES


def _definitions(engine: ClickHouseEngine) -> Sequence[tuple[str, str]]:
    return engine.query(
        "SELECT name, replaceAll(create_table_query, {database:String}, '') "
        "FROM system.tables WHERE database = {database:String} ORDER BY name",
        {"database": engine.database},
    ).rows


def _filled(engine: ClickHouseEngine) -> dict[str, int]:
    return {
        one.name: engine.query(f"SELECT count() FROM `{one.name}`").rows[0][0] for one in TABLES
    }


def test_a_copied_store_is_like_one_that_was_made(
    contract_engine: ClickHouseEngine, root_engine: ClickHouseEngine
) -> None:
    with closing(root_engine.sibling("test_made", contract_engine.capabilities)) as made:
        create_tables(made)
        try:
            assert _definitions(contract_engine) == _definitions(made)
            assert _filled(contract_engine) == _filled(made)
        finally:
            root_engine.command("DROP DATABASE test_made SYNC")
