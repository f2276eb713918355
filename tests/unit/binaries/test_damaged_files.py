"""Files that somebody damaged cost themselves and nothing else. `make fuzz` reads 20,000."""

import io
import os
import random
from pathlib import Path
from typing import Final

import pytest

from tests.support.program_files import damaged, samples
from vedette.binaries import file_reader
from vedette.binaries.file_reader import LOST, FileReader
from vedette.binaries.trust_store import TrustStore

FILES: Final = int(os.environ.get("VEDETTE_FUZZ_FILES", "250"))
SEED: Final = int(os.environ.get("VEDETTE_SEED", "20240601"))
WARM_FILES: Final = 100
"""Files after which a process has loaded what it needs."""
GROWTH_BYTES_MAX: Final = 96 * 2**20
"""Maximum memory growth of a reader after the first files: freed memory that the allocator keeps,
less than 1% of all files in the long form."""


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_damaged_files_end_no_process_and_leave_no_memory_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is not replaced in between, so that what it keeps of each file adds up."""
    monkeypatch.setattr(file_reader, "FILE_READER_FILES_MAX", FILES + 1)
    chance, originals = random.Random(SEED), samples(tmp_path)
    reader = FileReader(TrustStore())
    lost, warm, pid = [], 0, 0
    try:
        for number in range(FILES):
            content = damaged(chance.choice(originals), chance)
            facts = reader.read(io.BytesIO(content), len(content))
            if LOST in facts.problems:
                lost.append(number)
                (tmp_path / f"lost-{number}").write_bytes(content)
            pid = pid or reader.pid
            if number == min(WARM_FILES, FILES // 2):
                warm = resident_bytes(pid)
        assert lost == [], f"seed {SEED}; kept in {tmp_path}"
        assert reader.pid == pid
        assert resident_bytes(pid) - warm < GROWTH_BYTES_MAX
    finally:
        reader.close()
