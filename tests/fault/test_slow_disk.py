"""A disk that hangs for seconds: a file system of its own that is frozen. Whatever reads or writes
it waits, in threads; the event loop does not."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fault.callers import CALLERS, Caller
from tests.fault.crash import forked
from tests.fault.hostile.prober import probing
from tests.fault.rounds import is_long
from tests.support.served import listening, wait_for
from tests.support.sysmon import story

DISK_MB = 1_500
"""A sparse file: it takes what is written."""

HANGS_S = 6.0
ANSWER_MS = 100.0
"""Health checks, as promised (docs/operations-monitoring.md): 99 of 100 in `make fault`,
half of them beside other tests."""

SLOWEST_MS = HANGS_S * 1_000 / 4
"""No health check waits for the disk, not even one on a machine that is busy with other tests."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    image, mounted = tmp_path / "image", tmp_path / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_MB << 20)
    made = [
        subprocess.run(words, capture_output=True, check=False).returncode
        for words in (
            ["mkfs.ext4", "-q", "-E", "lazy_itable_init=1", str(image)],
            ["mount", "-o", "loop", str(image), str(mounted)],
        )
        if os.geteuid() == 0
    ]
    if made != [0, 0]:
        pytest.skip("mounting a file system needs root and a loop device")
    try:
        yield mounted
    finally:
        subprocess.run(["fsfreeze", "-u", str(mounted)], capture_output=True, check=False)
        subprocess.run(["umount", "-l", str(mounted)], check=True)


@contextmanager
def frozen(disk: Path) -> Iterator[None]:
    subprocess.run(["fsfreeze", "-f", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "-u", str(disk)], check=True)


def test_health_is_answered_at_once_while_the_disk_hangs(disk: Path) -> None:
    data = disk / "data"
    data.mkdir()
    with forked(data) as process:
        server = listening(data, process)
        tale = story("slow-disk.example")
        with server.sender() as sender:
            assert sender.post("/api/v1/ingest", json=tale.records).status_code == 200
        callers = [Caller(server, number) for number in range(CALLERS)]
        with probing(server.url, server.certificate, process.pid) as probes:
            time.sleep(0.5)
            with frozen(disk):
                for caller in callers:
                    caller.start()
                time.sleep(HANGS_S)
                waiting = [caller for caller in callers if caller.is_alive()]
            for caller in callers:
                caller.join(120)
        assert len(waiting) > CALLERS / 2, "the disk did not hang"
        print(probes.text())
        assert probes.failures == []
        assert probes.share_ms(0.99 if is_long() else 0.5) < ANSWER_MS
        assert probes.times_ms[-1] < SLOWEST_MS
        assert [caller.failed for caller in callers if caller.failed] == []
        with server.analyst() as client:
            assert wait_for(lambda: client.get("/readyz").status_code, 200) == 200
