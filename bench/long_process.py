"""A store with one process of a million events: `python -m bench.long_process DIR`

The process is 5,000 segments of 200 events, a busy service over 17 days; in each of its windows
other processes of the same host and of others have segments too, so that its rows do not lie
together on disk. Runs in a process of its own, because one process can have one store open.
"""

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.segments import BEGIN_MS, WINDOW_MS, template
from vedette.model.columns import RANK_LENGTH
from vedette.model.event import Filemod, Modload, Netconn, ProcessEvent, Regmod
from vedette.model.segment import PartialSegment
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.open import open_engine
from vedette.store.partitions.lifecycle import open_partition
from vedette.store.schema.create import create_tables
from vedette.store.write.commit import segment_table

SEGMENTS: Final = 5_000
EVENTS_A_SEGMENT: Final = 200
NEIGHBOURS: Final = 40
"""Segments of other processes in each window."""
PROCESS_ID: Final = "00000001-0000-0bb8-01dd-c2a397f4cfe0"
FOLDERS: Final = 400
MODULES: Final = 300
BINARIES: Final = 50_000
"""Files that the store knows; the modules are the first of them."""
NEIGHBOUR_IDS: Final = tuple(f"{1 + n % 8:08x}-0000-0000-0000-{n:012x}" for n in range(NEIGHBOURS))
"""Whose segments those are."""
_SEGMENTS_AN_INSERT: Final = 250


def generate(telemetry: Path) -> None:
    """Fills a new store in a child process."""
    subprocess.run([sys.executable, "-m", "bench.long_process", str(telemetry)], check=True)


def fill(engine: ClickHouseEngine) -> None:
    """Makes the tables, the process and its neighbours."""
    create_tables(engine)
    open_partition(engine, BEGIN_MS)
    draw = Random(8)
    seed = template(draw, 3_000)
    for first in range(0, SEGMENTS, _SEGMENTS_AN_INSERT):
        numbers = range(first, min(first + _SEGMENTS_AN_INSERT, SEGMENTS))
        engine.insert_arrow("segment", segment_table([_segment(draw, seed, n) for n in numbers]))
    engine.command(_NEIGHBOURS)
    engine.command(_BINARIES)
    # Commits mix processes, and so do the parts of a real store: as merges leave them.
    engine.command("OPTIMIZE TABLE segment FINAL")
    engine.command(
        "INSERT INTO process SELECT partition_ms, process_id, sensor_id, "
        "groupUniqArray(window_ms) FROM segment GROUP BY partition_ms, process_id, sensor_id"
    )


_NEIGHBOURS: Final = f"""
INSERT INTO segment (partition_ms, window_ms, segment_id, sensor_id, process_id, hostname,
    path_claim, last_update, first_server_update, filemod_count, filemod_time, filemod_path)
WITH toUInt64({BEGIN_MS} + intDiv(number, {NEIGHBOURS}) * {WINDOW_MS}) AS at_ms,
    number % {NEIGHBOURS} AS neighbour, toUInt32(1 + neighbour % 8) AS host,
    fromUnixTimestamp64Milli(toInt64(at_ms), 'UTC') AS at
SELECT {BEGIN_MS}, at_ms, at_ms, host,
    concat(leftPad(lower(hex(host)), 8, '0'), '-0000-0000-0000-',
        leftPad(lower(hex(neighbour)), 12, '0')),
    'other.corp.example',
    concat(repeat(char(0), {RANK_LENGTH:d}), 'c:\\\\windows\\\\system32\\\\svchost.exe'), at, at,
    4, arrayMap(n -> at + toIntervalSecond(n), range(4)),
    arrayMap(n -> concat('c:\\\\temp\\\\', toString(number * n), '.tmp'), range(4))
FROM numbers({SEGMENTS * NEIGHBOURS})
"""

_BINARIES: Final = f"""
INSERT INTO binary
    (hash, sensor_id, md5, sha256, added, first_seen, digsig_result, digsig_publisher)
SELECT leftPad(lower(hex(number)), 32, '0') AS digest, 1, digest,
    leftPad(lower(hex(number)), 64, '0'), now64(6, 'UTC'), now64(6, 'UTC'), 'Signed', 'Vendor'
FROM numbers({BINARIES})
"""


def _segment(draw: Random, seed: PartialSegment, number: int) -> PartialSegment:
    window_ms = BEGIN_MS + number * WINDOW_MS
    events: dict[str, list[ProcessEvent]] = {}
    for step in range(EVENTS_A_SEGMENT):
        name, event = _event(draw, window_ms * 1_000 + step * 1_400_000)
        events.setdefault(name, []).append(event)
    metadata: dict[str, Any] = seed.metadata | {
        "start": BEGIN_MS * 1_000,
        "last_update": (window_ms + WINDOW_MS) * 1_000,
        "last_server_update": (window_ms + WINDOW_MS) * 1_000,
        "first_server_update": window_ms * 1_000,
        "terminated": 0,
        "hostname": "busy.corp.example",
    }
    return PartialSegment(
        BEGIN_MS,
        window_ms,
        window_ms,
        1,
        PROCESS_ID,
        metadata,
        events,
        [draw.getrandbits(48) for _ in range(EVENTS_A_SEGMENT)],
        [],
    )


def _event(draw: Random, at_us: int) -> tuple[str, ProcessEvent]:
    chosen = draw.random()
    if chosen < 0.5:
        folder, file = draw.randrange(FOLDERS), draw.randrange(100_000)
        path = rf"C:\ProgramData\Vendor\Agent\cache\{folder:03d}\item-{file}.dat"
        return "filemod", Filemod(PROCESS_ID, at_us, draw.choice((1, 2, 4, 8)), path)
    if chosen < 0.7:
        key = rf"\registry\machine\software\vendor\agent\job{draw.randrange(5_000)}"
        return "regmod", Regmod(PROCESS_ID, at_us, 2, key)
    if chosen < 0.9:
        remote = (
            bytes(10) + b"\xff\xff" + bytes((198, 51, draw.randrange(100), draw.randrange(256)))
        )
        name = f"host{draw.randrange(3_000)}.example.net"
        local = bytes(10) + b"\xff\xff" + bytes((10, 0, 0, 1))
        return "netconn", Netconn(PROCESS_ID, at_us, 1, 6, local, 50_000, remote, 443, name)
    module = draw.randrange(MODULES)
    path = rf"C:\Windows\System32\m{module}.dll"
    return "modload", Modload(PROCESS_ID, at_us, path, f"{module:032x}", f"{module:064x}")


def main(telemetry: Path) -> None:
    engine = open_engine(telemetry)
    fill(engine)
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
