"""A store with one wide tree and one very busy process: `python -m bench.tree_store DIR SEGMENTS`

Both lie among generated segments of other hosts, so that finding them is part of reading them.
Runs in a process of its own, because one process can have one store open.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.segments import BEGIN_MS, HOSTS, WINDOW_MS, fill
from vedette.model.address import pack_address
from vedette.model.event import Childproc, Filemod, Modload, Netconn, ProcessEvent
from vedette.model.segment import PartialSegment
from vedette.model.tokens import cmdline_tokens
from vedette.store.engine.client import Engine
from vedette.store.engine.open import open_engine
from vedette.store.write.commit import Commit, ProcessWindow
from vedette.store.write.insert import write_commit

DESCENDANTS: Final = 1_000
FAN_OUT: Final = 10
"""Children of a process of the tree: 10, 100 and 890 in three generations."""
BUSY_SEGMENTS: Final = 5_000
BUSY_SEGMENT_EVENTS: Final = 200
SENSOR: Final = HOSTS + 1
ROOT_ID: Final = f"{SENSOR:08x}-0000-0001-0000-000000000000"
BUSY_ID: Final = f"{SENSOR:08x}-0000-0002-0000-000000000000"
BUSY_BEGIN_US: Final = BEGIN_MS * 1_000

_SEGMENTS_A_COMMIT: Final = 500


def generate(telemetry: Path, segments: int) -> None:
    """Fills a new store in a child process."""
    command = [sys.executable, "-m", "bench.tree_store", str(telemetry), str(segments)]
    subprocess.run(command, check=True)


def member_id(number: int) -> str:
    """A process of the tree; 0 is its root."""
    return ROOT_ID if number == 0 else f"{ROOT_ID[:24]}{number:012x}"


def _store(engine: Engine, rows: list[PartialSegment]) -> None:
    processes = [
        ProcessWindow(row.partition_ms, row.process_id, row.sensor_id, row.window_ms)
        for row in rows
    ]
    write_commit(engine, Commit(segments=rows, processes=processes))


def _tree(telemetry_us: int) -> Iterator[PartialSegment]:
    for number in range(DESCENDANTS + 1):
        children = range(number * FAN_OUT + 1, min((number + 1) * FAN_OUT, DESCENDANTS) + 1)
        at_us = telemetry_us + number * 1_000
        reports = [
            Childproc(
                member_id(number),
                telemetry_us + child * 1_000,
                1,
                0,
                member_id(child),
                _path(child),
                1_000 + child,
            )
            for child in children
        ]
        parent = (number - 1) // FAN_OUT
        known = (
            {} if number == 0 else {"parent_id": member_id(parent), "parent_path": _path(parent)}
        )
        yield _row(member_id(number), 0, number, at_us, reports, known)


def _path(number: int) -> str:
    return rf"C:\Tree\member-{number:04d}.exe"


def _busy(window: int) -> PartialSegment:
    at_us = BUSY_BEGIN_US + window * WINDOW_MS * 1_000
    local, remote = pack_address("10.10.0.1"), pack_address("203.0.113.9")
    events: list[ProcessEvent] = []
    for number in range(BUSY_SEGMENT_EVENTS):
        when = at_us + number * 1_000_000
        match number % 4:
            case 0:
                event: ProcessEvent = Modload(BUSY_ID, when, rf"C:\lib\{number:03d}.dll", "ab" * 16)
            case 1:
                event = Netconn(BUSY_ID, when, 1, 6, local, 50_000, remote, 443, "web.example")
            case _:
                event = Filemod(BUSY_ID, when, 2, rf"C:\data\{window:05d}\{number:03d}.dat")
        events.append(event)
    return _row(BUSY_ID, window, 2, BUSY_BEGIN_US, events, {"last_update": at_us})


def _row(
    process_id: str,
    window: int,
    number: int,
    start_us: int,
    events: list[Any],
    known: dict[str, Any],
) -> PartialSegment:
    by_kind: dict[str, list[ProcessEvent]] = {}
    for event in events:
        by_kind.setdefault(type(event).__name__.lower(), []).append(event)
    cmdline = f"{_path(number)} --number {number}"
    metadata = {
        **{"hostname": "tree-001.corp.example", "group": "Default Group", "os_type": "windows"},
        **{"path": _path(number), "process_name": _path(number).rsplit("\\", 1)[-1]},
        **{"cmdline": cmdline, "cmdline_tokens": cmdline_tokens(cmdline), "username": "CORP\\ann"},
        **{"process_pid": 1_000 + number, "process_md5": f"{number:032x}", "start": start_us},
        **{
            "last_update": start_us,
            "last_server_update": start_us,
            "first_server_update": start_us,
        },
        **{"creation_observed": 1, "seq": 1},
        **known,
    }
    window_ms = BEGIN_MS + window * WINDOW_MS
    return PartialSegment(
        BEGIN_MS, window_ms, window_ms, SENSOR, process_id, metadata, by_kind, [], []
    )


def main(telemetry: Path, segments: int) -> None:
    engine = open_engine(telemetry)
    fill(engine, segments)
    _store(engine, list(_tree(BUSY_BEGIN_US)))
    for first in range(0, BUSY_SEGMENTS, _SEGMENTS_A_COMMIT):
        _store(engine, [_busy(window) for window in range(first, first + _SEGMENTS_A_COMMIT)])
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
