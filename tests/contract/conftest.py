"""A contract holds on every kind of store."""

import pytest

from tests.support.indexed import ALL_STORES
from vedette.store.engine.client import ClickHouseEngine

if ALL_STORES:

    @pytest.fixture
    def engine(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
        """An empty store, once of each kind; `plain_engine` is for what only an embedded one has.
        Thrice as long: only with VEDETTE_TEST_STORES. `contract_engine` is of each kind always."""
        return contract_engine
