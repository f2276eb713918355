"""The reading process may be lost, and nothing else with it."""

import io
import os
import signal
import threading
import time

from tests.support.pe_file import pe_file
from vedette.binaries.file_reader import LOST, FileReader
from vedette.binaries.trust_store import TrustStore

PROGRAM = pe_file()


def read(reader: FileReader, content: bytes = PROGRAM) -> list[str]:
    return reader.read(io.BytesIO(content), len(content)).problems


def test_a_killed_process_costs_one_file() -> None:
    reader = FileReader(TrustStore())
    assert read(reader) == []
    os.kill(reader.pid, signal.SIGKILL)
    assert read(reader) == [LOST]
    assert read(reader) == []
    reader.close()


def test_a_process_that_hangs_is_ended_at_its_deadline() -> None:
    reader = FileReader(TrustStore(), file_s=1)
    assert read(reader) == []
    os.kill(reader.pid, signal.SIGSTOP)
    began = time.monotonic()
    assert read(reader, PROGRAM + bytes(2**20)) == [LOST]
    assert time.monotonic() - began < 10
    assert read(reader) == []
    reader.close()


def test_a_file_that_needs_too_much_memory_has_the_reason() -> None:
    reader = FileReader(TrustStore())
    zeros = io.BytesIO(bytes(25 * 2**20))
    assert reader.read(zeros, 25 * 2**20).problems == [
        "file: neither a PE, an ELF nor a Mach-O file"
    ]
    reader.close()


def test_threads_share_one_process() -> None:
    reader, found = FileReader(TrustStore()), list[list[str]]()
    threads = [threading.Thread(target=lambda: found.append(read(reader))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[]] * 4
    reader.close()


def test_the_process_knows_no_secrets_of_the_server() -> None:
    os.environ["VEDETTE_TEST_SECRET"] = "x"
    reader = FileReader(TrustStore())
    assert read(reader) == []
    with open(f"/proc/{reader.pid}/environ", "rb") as environment:
        assert b"VEDETTE_TEST_SECRET" not in environment.read()
    del os.environ["VEDETTE_TEST_SECRET"]
    reader.close()
