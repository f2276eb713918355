"""The server that all of these tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hostile_provider import (
    HostileProvider,
    hostile_provider,
)
from tests.support.identity_sign_in import PUBLIC_URL
from tests.support.served import Server, start_server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import identity_providers


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own: it may reach providers on loopback."""
    yield from start_server(
        tmp_path_factory.mktemp("identities"),
        "--set",
        "trusted_proxies=127.0.0.1",
        "--set",
        "egress_allow=127.0.0.1",
        "--set",
        f"public_url={PUBLIC_URL}",
        "--set",
        "log_level=debug",
    )


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server that may reach nothing on loopback."""
    yield from start_server(tmp_path, "--set", f"public_url={PUBLIC_URL}")


@pytest.fixture
def hostile() -> Iterator[HostileProvider]:
    with hostile_provider() as provider:
        yield provider


@pytest.fixture(autouse=True)
def _without_providers(own: Server) -> Iterator[None]:
    """Each test has the server's providers for itself: there may be twenty."""
    yield
    with state_of(own) as database:
        for one in identity_providers.all_providers(database):
            identity_providers.remove(database, one.id, SystemClock().now_us())
