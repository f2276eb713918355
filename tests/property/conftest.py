"""The store that generated segments and binaries are asked from."""

from collections.abc import Iterator

import pytest

from tests.support.forms import IS_THOROUGH, one_by_name, run_on
from tests.support.indexed import ALL_STORES, KINDS
from tests.support.two_shards import database_of, routed
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.schema.detection_tables import BINARY_TAG, TAG
from vedette.store.schema.tables import (
    BINARY_READING,
    BINARY_SEEN,
    INDEXED_PARTITION,
    MERGING,
    PARTITION,
    RECORD,
    SEGMENT,
    definitions,
)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In the short form a test has one of the two other kinds besides plain tables. Joins are what
    Distributed tables do in another way."""
    if not (ALL_STORES or IS_THOROUGH or hasattr(metafunc.module, "store")):
        others = ("distributed", "unindexed")
        is_of_joins = metafunc.definition.path.stem == "test_joins"
        other = others[0] if is_of_joins else one_by_name(metafunc.definition.nodeid, others)
        for fixture in ("store", "reported"):
            run_on(metafunc, fixture, {kind: KINDS[kind] for kind in ("plain", other)})


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def store(
    root_engine: ClickHouseEngine, request: pytest.FixtureRequest
) -> Iterator[ClickHouseEngine]:
    """Tables of segments and binaries that are never merged by themselves."""
    capabilities: Capabilities = request.param
    database = database_of(request.module.__name__.rpartition(".")[2], capabilities)
    engine = routed(root_engine.sibling(database, capabilities))
    capabilities = engine.capabilities
    named = (SEGMENT, BINARY_SEEN, BINARY_READING, TAG, BINARY_TAG, RECORD)
    for table in (*named, PARTITION, INDEXED_PARTITION, MERGING):
        for statement in definitions(table, capabilities):
            engine.command(statement)
    for table in (SEGMENT, BINARY_SEEN):
        engine.command(f"SYSTEM STOP MERGES {capabilities.storage(table.name)}")
    yield engine
    engine.close()
    root_engine.command(f"DROP DATABASE {database} SYNC")
