"""One server for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.served import Server, start_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("server"))
