"""One reading process for the tests of a module."""

import io
from collections.abc import Callable, Iterator

import pytest

from vedette.binaries.file_facts import FileFacts
from vedette.binaries.file_reader import FileReader
from vedette.binaries.trust_store import TrustStore

Read = Callable[..., FileFacts]


@pytest.fixture(scope="module")
def read() -> Iterator[Read]:
    reader = FileReader(TrustStore())
    yield lambda content, is_whole=True: reader.read(
        io.BytesIO(content), len(content), is_whole=is_whole
    )
    reader.close()
