"""The store that generated segments and binaries are asked from."""

from collections.abc import Iterator

import pytest

from tests.support.indexed import KINDS
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
    SEGMENT,
    definitions,
)


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def store(
    root_engine: ClickHouseEngine, request: pytest.FixtureRequest
) -> Iterator[ClickHouseEngine]:
    """Tables of segments and binaries that are never merged by themselves."""
    capabilities: Capabilities = request.param
    database = database_of(request.module.__name__.rpartition(".")[2], capabilities)
    engine = routed(root_engine.sibling(database, capabilities))
    capabilities = engine.capabilities
    named = (SEGMENT, BINARY_SEEN, BINARY_READING, TAG, BINARY_TAG)
    for table in (*named, PARTITION, INDEXED_PARTITION, MERGING):
        for statement in definitions(table, capabilities):
            engine.command(statement)
    for table in (SEGMENT, BINARY_SEEN):
        engine.command(f"SYSTEM STOP MERGES {capabilities.storage(table.name)}")
    yield engine
    engine.close()
    root_engine.command(f"DROP DATABASE {database} SYNC")
