"""A contract holds on every kind of store and with every state database. In `make all` it is
proven with one of them, half of the tests with each; `make forms` and `make contracts` have all.
"""

import pytest

from tests.support.forms import IS_THOROUGH, one_by_name, run_on
from tests.support.indexed import ALL_STORES, CHOSEN_STORES, STORES
from vedette.store.engine.client import ClickHouseEngine

STATES = ("sqlite", "postgresql")
on_both_states = pytest.mark.parametrize("engine_name", STATES, indirect=True)
on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
"""For tests of what differs between them."""

_EVERYWHERE = {
    "engine",
    "exclusive",
    "group_commit",
    "leases",
    "process_cache",
    "process_hashes",
    "start",
}
"""Modules of such tests."""

_OF_SERVERS = {"partition_changes", "servers", "shard_moves"}
"""Modules of what several servers do, which SQLite has not."""

if ALL_STORES:

    @pytest.fixture
    def engine(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
        """An empty store, once of each kind; `plain_engine` is for what only an embedded one has.
        Thrice as long: only with VEDETTE_TEST_STORES."""
        return contract_engine


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Chooses for tests that do not say themselves what they run on."""
    module, name = metafunc.definition.path.stem.removeprefix("test_"), metafunc.definition.nodeid
    if ALL_STORES or IS_THOROUGH or module in _EVERYWHERE:
        return
    state = "postgresql" if module in _OF_SERVERS else one_by_name(name, STATES)
    run_on(metafunc, "engine_name", {state: state})
    store = one_by_name(name, CHOSEN_STORES)
    run_on(metafunc, "contract_engine", {store: STORES[store]})
