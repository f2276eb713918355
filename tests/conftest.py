"""Engines for tests.

chDB holds one data directory in a process, so a test run has one engine, `root_engine`, and
every test that asks for `engine` gets a database of its own in it, with all tables. A test
that needs a data directory of its own (a crash, a second server) runs it in a subprocess.

`contract_engine` runs a test twice: on plain tables, and on Distributed tables over a cluster
of one local shard, where every answer must be the same. `doubled_engine` names that shard
twice, as a cluster of two would: reads see every row two times.
"""

import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.copied_tables import copy_tables
from tests.support.indexed import KINDS
from vedette.store.engine.capabilities import EMBEDDED, Capabilities, distributed
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.grants import RIGHTS
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables

_NUMBERS = count(1)

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


_BY_MODULE = {"api", "fault", "flow"}
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
    port = _free_port()
    clusters = _CLUSTERS.format(port=port, replica=_REPLICA.format(port=port))
    directory: Path = tmp_path_factory.mktemp("engine")
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


def _with_tables(root: ClickHouseEngine, capabilities: Capabilities) -> Iterator[ClickHouseEngine]:
    database = f"test_{next(_NUMBERS)}"
    engine = root.sibling(database, capabilities)
    copy_tables(engine, root.database)
    yield engine
    engine.close()
    root.command(f"DROP DATABASE {database} SYNC")


@pytest.fixture
def engine(root_engine: ClickHouseEngine) -> Iterator[ClickHouseEngine]:
    """An empty store."""
    yield from _with_tables(root_engine, EMBEDDED)


@pytest.fixture(params=[KINDS["plain"], KINDS["distributed"]], ids=["plain", "distributed"])
def contract_engine(
    root_engine: ClickHouseEngine, request: pytest.FixtureRequest
) -> Iterator[ClickHouseEngine]:
    """An empty store, once of each kind."""
    yield from _with_tables(root_engine, request.param)


@pytest.fixture
def doubled_engine(root_engine: ClickHouseEngine) -> Iterator[ClickHouseEngine]:
    """An empty store on a cluster that names its one shard twice."""
    yield from _with_tables(root_engine, distributed("doubled"))
