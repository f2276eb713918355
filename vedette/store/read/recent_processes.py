"""Streams the processes active since a time, with the fields that filters test."""

from collections.abc import Iterator
from typing import NamedTuple

from vedette.limits import SEGMENT_WINDOW_MS
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import COUNTS


class DayProcess(NamedTuple):
    """A process with its metadata; `events` counts those since the given time."""

    process_id: str
    sensor_id: int
    path: str
    cmdline: str
    md5: str
    parent_id: str
    parent_path: str
    parent_cmdline: str
    parent_md5: str
    events: int


def processes_since(engine: Engine, since_us: int, limit: int) -> Iterator[DayProcess]:
    """Processes with events since a time (epoch microseconds), newest first, at most `limit`."""
    since_ms = max(0, since_us // 1_000 - SEGMENT_WINDOW_MS)
    with engine.stream(
        "SELECT process_id, any(sensor_id), max(path), max(cmdline), max(process_md5), "
        "max(parent_id), max(parent_path), max(parent_cmdline), max(parent_md5), "
        f"sum({' + '.join(COUNTS)}) FROM segment WHERE window_ms >= {{since_ms:UInt64}} "
        f"GROUP BY process_id ORDER BY max(window_ms) DESC, process_id LIMIT {limit:d}",
        {"since_ms": since_ms},
        settings=engine.capabilities.process_group_settings,
    ) as blocks:
        for block in blocks:
            yield from map(DayProcess._make, block)
