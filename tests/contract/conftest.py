"""A contract holds on every kind of store."""

import pytest

from vedette.store.engine.client import ClickHouseEngine


@pytest.fixture
def engine(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
    """An empty store, once of each kind; `plain_engine` is for what only an embedded one has."""
    return contract_engine
