"""Engines for tests.

chDB holds one data directory in a process, so a test run has one engine, `root_engine`, and
every test that asks for `engine` gets a database of its own in it, with all tables. A test
that needs a data directory of its own (a crash, a second server) runs it in a subprocess.

`contract_engine` runs a test twice: on plain tables, and on Distributed tables over a cluster of
one local shard, where every answer must be the same. With VEDETTE_TEST_STORES so does `engine`
among the contracts, and both on a cluster of two shards, too (`support/two_shards.py`).
`doubled_engine` names one shard twice: reads see every row two times.
"""

import gc
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import settings
from structlog.dev import ConsoleRenderer, plain_traceback

from tests.support.forms import in_form
from tests.support.indexed import CHOSEN_STORES, STORES
from tests.support.memory import in_memory
from tests.support.passwords import hash_cheaply
from tests.support.ports import free_port
from tests.support.rewritten import rewrite_before_workers
from tests.support.store_pool import StorePool
from tests.support.tiers import TESTS, TIERS, chosen_tiers, tier_of
from tests.support.two_shards import policies
from vedette.store.engine.capabilities import EMBEDDED, Capabilities, distributed
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.grants import RIGHTS
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables

# How long one example takes says more about what else the machine does than about the code.
settings.register_profile("any machine", deadline=None, max_examples=in_form(30, 200))
settings.load_profile("any machine")

# Where no server configures the log. The default shows the values of all variables of each call,
# in colour, which takes a second and a half for one exception.
ConsoleRenderer.get_active().exception_formatter = plain_traceback

hash_cheaply()

_CLUSTERS = """
    <tcp_port>{port}</tcp_port>
    <listen_host>127.0.0.1</listen_host>
    <remote_servers>
        <one><shard>{replica}</shard></one>
        <doubled><shard>{replica}</shard><shard>{replica}</shard></doubled>
        <replicas><shard>{replica}{replica}</shard></replicas>
        <away>
            <shard><internal_replication>true</internal_replication>{replica}{replica}{away}</shard>
        </away>
        <two_shards><shard>{replica}</shard><shard>{replica}</shard></two_shards>
    </remote_servers>
"""
_USERS = """<clickhouse>
    <profiles><default>
        <parallel_distributed_insert_select>0</parallel_distributed_insert_select>
    </default></profiles>
    <quotas><default/></quotas>
    <users><default>
        <password/>
        <networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile>
        <quota>default</quota>
        <grants>{grants}</grants>
        {policies}
    </default></users>
</clickhouse>
"""
"""A statement that reads and writes a Distributed table would run on each shard by itself, where
`shardNum()` does not say which one it is: the policies of `support/two_shards.py` need it."""
_OF_TESTS = (
    "GRANT DROP, TRUNCATE, OPTIMIZE, ALTER, CREATE VIEW ON test_*.*",
    "GRANT SYSTEM ON *.*",
    "GRANT SELECT ON system.*",
)
"""Grants that tests need in addition to those of a server (`store/engine/grants.py`)."""

_REPLICA = "<replica><host>127.0.0.1</host><port>{port}</port></replica>"
_AWAY = "<replica><host>127.0.0.9</host><port>9</port></replica>"
"""A replica that never answers."""


_Group = list[pytest.Item]

_OWN_GROUPS = {"recorded"}
"""Folders that group their tests themselves. All others are given to workers by the module: what a
module has opened serves all its tests, and a test of milliseconds takes less time than giving it
away."""

_TOGETHER = {"browser": 2}
"""Folders whose modules are dealt out to so many groups: what they have open together, a browser,
takes longer to open than most of them take."""

_FIRST = "audit"
"""The group that takes longest of all: the flows of the Linux sensor, which share one machine."""


def pytest_configure(config: pytest.Config) -> None:
    """Has pytest-xdist keep the order of the tests, in place of groups of many tests first: a
    group of three kills takes longer than one of a hundred words."""
    config.option.loadscopereorder = False
    rewrite_before_workers(config, Path(__file__).parent)
    if hasattr(config, "workerinput"):
        gc.disable()  # what collecting makes is no garbage


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "collect the files of these tiers only, as in quick,product (tests/support/tiers.py)"
    parser.addoption("--tiers", default="", help=text)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignores the test files of the tiers that a run leaves out; they are not imported."""
    if not collection_path.match("test_*.py") or not collection_path.is_relative_to(TESTS):
        return None
    return tier_of(collection_path) not in chosen_tiers(config.getoption("tiers")) or None


def pytest_report_header(config: pytest.Config) -> str:
    """Names the tiers that this run leaves out."""
    left_out = sorted(set(TIERS) - chosen_tiers(config.getoption("tiers")))
    return f"tiers that are left out: {', '.join(left_out)}" if left_out else ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    dealt: dict[str, list[str]] = defaultdict(list)
    for item in items:
        folder = _folder(item)
        if folder not in _OWN_GROUPS and item.get_closest_marker("xdist_group") is None:
            name = item.nodeid.partition("::")[0].removesuffix(".py").replace("/", "-")
            if folder in _TOGETHER:
                modules = dealt[folder]
                modules += [name] if name not in modules else []
                name = f"{folder} {modules.index(name) % _TOGETHER[folder] + 1}"
            item.add_marker(pytest.mark.xdist_group(name))
    if hasattr(config, "workerinput"):
        items[:] = _in_turn(items)


def _folder(item: pytest.Item) -> str:
    return item.nodeid.split("/")[1] if "/" in item.nodeid else ""


def _in_turn(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests in the order in which several workers take them. What waits (faults and flows, for
    servers and clocks) is spread among what computes, so that at any time some workers do one and
    some the other. What is long comes first and what is quick last, so that no worker waits for
    another at the end. Browsers come long after the flows that make network interfaces: a browser
    gives up what it loads when the network changes. There are few groups of them, and long ones:
    they begin in the middle. Those of the API follow each other: a worker that runs another folder
    in between ends the server of that package, and starts it again."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        groups.setdefault(str(mark.args[0]) if mark else item.nodeid, []).append(item)
    of_folder: dict[str, list[list[pytest.Item]]] = defaultdict(list)
    for name, group in groups.items():
        of_folder["first" if name == _FIRST else _folder(group[0])].append(group)
    engines = of_folder.pop("property", []) + of_folder.pop("contract", [])
    order = [
        *of_folder.pop("first", []),
        *_spread(of_folder.pop("fault", []) + of_folder.pop("flow", []), engines),
        *of_folder.pop("browser", []),
        *of_folder.pop("api", []),
        *chain.from_iterable(of_folder.values()),
    ]
    return list(chain.from_iterable(order))


def _spread(some: list[_Group], others: list[_Group]) -> list[_Group]:
    """Both, each evenly among the other."""
    placed = [
        ((place + 0.5) / len(groups), group)
        for groups in (some, others)
        for place, group in enumerate(groups)
    ]
    return [group for _, group in sorted(placed, key=lambda one: one[0])]


def pytest_collection_finish() -> None:
    """Excludes imported and collected objects from garbage collection, because they exist until the
    end of the run."""
    gc.collect()
    gc.freeze()
    gc.enable()


_ID_BYTES_MAX = 40


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Files made for a test hold the time they were made at, so their bytes are no name: two
    workers would collect different tests."""
    return argname if isinstance(val, bytes) and len(val) > _ID_BYTES_MAX else None


@pytest.fixture(scope="session")
def root_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseEngine]:
    """The one engine of this process; its tables are there to be copied."""
    with in_memory(tmp_path_factory.mktemp("engine")) as directory:
        yield from _root_engine(directory)


def _root_engine(directory: Path) -> Iterator[ClickHouseEngine]:
    port = free_port()
    clusters = _CLUSTERS.format(port=port, replica=_REPLICA.format(port=port), away=_AWAY)
    users = _users(directory / "users.xml")
    engine = open_engine(directory, database="test_0", extra_config=clusters + users)
    create_tables(engine)
    yield engine
    engine.close()


def _users(path: Path) -> str:
    """Leaves the engine's only user the rights that a server is given on a cluster."""
    granted = [f"GRANT {right.sql('test_*')}" for right in RIGHTS]
    queries = "".join(f"<query>{one}</query>" for one in (*granted, *_OF_TESTS))
    path.write_text(_USERS.format(grants=queries, policies=policies()))
    return f"<user_directories><users_xml><path>{path}</path></users_xml></user_directories>"


@pytest.fixture(scope="session")
def store_pool(root_engine: ClickHouseEngine) -> Iterator[StorePool]:
    pool = StorePool(root_engine)
    yield pool
    pool.close()


def _with_tables(pool: StorePool, capabilities: Capabilities) -> Iterator[ClickHouseEngine]:
    engine = pool.take(capabilities)
    yield engine
    pool.give_back(engine)


@pytest.fixture
def plain_engine(store_pool: StorePool) -> Iterator[ClickHouseEngine]:
    """An empty store of an embedded engine."""
    yield from _with_tables(store_pool, EMBEDDED)


@pytest.fixture
def engine(plain_engine: ClickHouseEngine) -> ClickHouseEngine:
    """An empty store; see `tests/contract/conftest.py`."""
    return plain_engine


@pytest.fixture(params=[STORES[kind] for kind in CHOSEN_STORES], ids=CHOSEN_STORES)
def contract_engine(
    store_pool: StorePool, request: pytest.FixtureRequest
) -> Iterator[ClickHouseEngine]:
    """An empty store, once of each kind."""
    yield from _with_tables(store_pool, request.param)


@pytest.fixture
def doubled_engine(store_pool: StorePool) -> Iterator[ClickHouseEngine]:
    """An empty store on a cluster that names its one shard twice."""
    yield from _with_tables(store_pool, distributed("doubled"))
