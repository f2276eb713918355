"""Servers, the public client and what the tests of the Linux sensor share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.linux_sensor import file_system
from tests.support.served import Server, start_server
from tests.support.server_cluster import ServerCluster, server_cluster

ONE_SERVER = pytest.mark.xdist_group("flows of one server")
"""For modules whose tests use `server`: one worker runs them all, with one."""


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests of this folder; it ends with the last of them."""
    yield from start_server(tmp_path_factory.mktemp("server"))


TWO_SERVERS = pytest.mark.xdist_group("flows of two servers")
"""The same for `two_servers`."""
LEASE_S = 20
"""Longer than a test takes to see what is told while a server is paused."""


@pytest.fixture(scope="package")
def two_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerCluster]:
    """On one PostgreSQL and one ClickHouse, without telemetry at first. A test that ends a server
    starts it again."""
    folder = tmp_path_factory.mktemp("servers")
    with server_cluster(folder, 2, f"server_lease_s={LEASE_S}") as cluster:
        cluster.start()
        yield cluster


@pytest.fixture
def cb(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The public client, connected as an administrator."""
    from cbapi.response import CbResponseAPI

    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    client = CbResponseAPI(
        url=server.url,
        token=server.token,
        ssl_verify=True,
        ssl_cert_file=str(server.certificate),
    )
    yield client
    client.session.session.close()


@pytest.fixture(scope="module")
def fast_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has its sensors check in every five seconds."""
    yield from start_server(tmp_path_factory.mktemp("server"), "--set", "checkin_interval_s=5")


@pytest.fixture
def client(fast_server: Server) -> Iterator[httpx.Client]:
    """An analyst at the server of the Linux sensors."""
    with fast_server.analyst() as opened:
        yield opened


@pytest.fixture
def room() -> Iterator[Path]:
    """The file system that the sensor watches."""
    with file_system() as folder:
        yield folder
