"""Engines for tests.

chDB holds one data directory in a process, so a test run has one engine, `root_engine`, and
every test that asks for `engine` gets a database of its own in it, with all tables. A test
that needs a data directory of its own (a crash, a second server) runs it in a subprocess.

`contract_engine` runs a test twice: on plain tables, and on Distributed tables over a cluster
of one local shard, where every answer must be the same. `doubled_engine` names that shard
twice, as a cluster of two would: reads see every row two times.
"""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.indexed import KINDS
from tests.support.store_pool import StorePool
from vedette.store.engine.capabilities import EMBEDDED, Capabilities, distributed
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.grants import RIGHTS
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables

_CLUSTERS = """
    <tcp_port>{port}</tcp_port>
    <listen_host>127.0.0.1</listen_host>
    <remote_servers>
        <one><shard>{replica}</shard></one>
        <doubled><shard>{replica}</shard><shard>{replica}</shard></doubled>
    </remote_servers>
"""
_USERS = """<clickhouse>
    <profiles><default/></profiles>
    <quotas><default/></quotas>
    <users><default>
        <password/>
        <networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile>
        <quota>default</quota>
        <grants>{grants}</grants>
    </default></users>
</clickhouse>
"""
_OF_TESTS = (
    "GRANT DROP, TRUNCATE, OPTIMIZE, ALTER, CREATE VIEW ON test_*.*",
    "GRANT SYSTEM ON *.*",
    "GRANT SELECT ON system.*",
)
"""What tests do by themselves, besides what a server does (`store/engine/grants.py`)."""

_REPLICA = "<replica><host>127.0.0.1</host><port>{port}</port></replica>"


_MEMORY_FREE_BYTES_MIN = 8 << 30

_BY_MODULE = {"api", "browser", "fault", "flow"}
"""Folders whose modules have servers of their own: all tests of one run in one worker."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in _BY_MODULE and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}-{item.path.stem}"))


_ID_BYTES_MAX = 40


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Files made for a test hold the time they were made at, so their bytes are no name: two
    workers would collect different tests."""
    return argname if isinstance(val, bytes) and len(val) > _ID_BYTES_MAX else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def root_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseEngine]:
    """The one engine of this process; its tables are there to be copied."""
    with _in_memory(tmp_path_factory.mktemp("engine")) as directory:
        yield from _root_engine(directory)


@contextmanager
def _in_memory(otherwise: Path) -> Iterator[Path]:
    """A directory in memory where the machine has it to spare: what these tests ask of the engine
    does not depend on the disk, and making and deleting its many small files takes a fifth less."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < _MEMORY_FREE_BYTES_MIN:
        yield otherwise
        return
    with TemporaryDirectory(dir=memory, prefix="vedette-tests-") as name:
        yield Path(name)


def _root_engine(directory: Path) -> Iterator[ClickHouseEngine]:
    port = _free_port()
    clusters = _CLUSTERS.format(port=port, replica=_REPLICA.format(port=port))
    users = _users(directory / "users.xml")
    engine = open_engine(directory, database="test_0", extra_config=clusters + users)
    create_tables(engine)
    yield engine
    engine.close()


def _users(path: Path) -> str:
    """Leaves the engine's only user the rights that a server is given on a cluster."""
    granted = [f"GRANT {right.sql('test_*')}" for right in RIGHTS]
    queries = "".join(f"<query>{one}</query>" for one in (*granted, *_OF_TESTS))
    path.write_text(_USERS.format(grants=queries))
    return f"<user_directories><users_xml><path>{path}</path></users_xml></user_directories>"


@pytest.fixture(scope="session")
def store_pool(root_engine: ClickHouseEngine) -> StorePool:
    return StorePool(root_engine)


def _with_tables(pool: StorePool, capabilities: Capabilities) -> Iterator[ClickHouseEngine]:
    engine = pool.take(capabilities)
    yield engine
    pool.give_back(engine)


@pytest.fixture
def engine(store_pool: StorePool) -> Iterator[ClickHouseEngine]:
    """An empty store."""
    yield from _with_tables(store_pool, EMBEDDED)


@pytest.fixture(params=[KINDS["plain"], KINDS["distributed"]], ids=["plain", "distributed"])
def contract_engine(
    store_pool: StorePool, request: pytest.FixtureRequest
) -> Iterator[ClickHouseEngine]:
    """An empty store, once of each kind."""
    yield from _with_tables(store_pool, request.param)


@pytest.fixture
def doubled_engine(store_pool: StorePool) -> Iterator[ClickHouseEngine]:
    """An empty store on a cluster that names its one shard twice."""
    yield from _with_tables(store_pool, distributed("doubled"))
