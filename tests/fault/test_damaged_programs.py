"""Damaged files cost the reader neither its life nor memory."""

import io
import os
import re
from pathlib import Path

from tests.fault.rounds import is_long, seeded
from tests.support.program_files import damaged, samples
from vedette.binaries.file_reader import LOST, FileReader
from vedette.binaries.trust_store import TrustStore

FILES = int(os.environ.get("VEDETTE_TEST_DAMAGED_FILES", "20000" if is_long() else "300"))
GROWTH_BYTES_MAX = 64 * 2**20


def resident_bytes(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 if found else 0


def test_damaged_programs_crash_nothing_and_leave_no_memory_behind(tmp_path: Path) -> None:
    chance, reader = seeded(), FileReader(TrustStore(), file_s=10)
    programs, lost, sizes, pids = samples(tmp_path), [], [], set()
    for number in range(FILES):
        content = damaged(chance.choice(programs), chance)
        facts = reader.read(io.BytesIO(content), len(content))
        if LOST in facts.problems:
            lost.append(number)
            continue
        assert reader.pid
        pids.add(reader.pid)
        sizes.append(resident_bytes(reader.pid))
    reader.close()
    assert lost == []
    assert len(pids) <= FILES // 2_000 + 1
    assert max(sizes) - min(sizes[: max(50, FILES // 100)][10:]) < GROWTH_BYTES_MAX
