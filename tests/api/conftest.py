"""One server for all tests of this folder, with one story sent to it."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.served import Server, start_server
from tests.support.sysmon import Story, story


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="package")
def analyst(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


@pytest.fixture(scope="package")
def sender(server: Server) -> Iterator[httpx.Client]:
    with server.sender() as client:
        yield client


@pytest.fixture(scope="package")
def sent_story(sender: httpx.Client) -> Story:
    """A story that is stored once its post is answered."""
    tale = story("api-host.corp.example")
    answer = sender.post("/api/v1/ingest", json=tale.records)
    assert answer.status_code == 200, answer.text
    assert answer.json()["rejected"] == 0, answer.text
    return tale
