"""Streams the processes active since a time, with the fields that filters test."""

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

from vedette.limits import SEGMENT_WINDOW_MS
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import COUNTS, aggregated

_TEXTS: Final = ", ".join(
    map(
        aggregated,
        (
            "path",
            "cmdline",
            "process_md5",
            "parent_id",
            "parent_path",
            "parent_cmdline",
            "parent_md5",
        ),
    )
)


class DayProcess(NamedTuple):
    """A process with its metadata; `counts` has its events since the given time, by kind in the
    order of `EVENT_KINDS`."""

    process_id: str
    sensor_id: int
    path: str
    cmdline: str
    md5: str
    parent_id: str
    parent_path: str
    parent_cmdline: str
    parent_md5: str
    counts: Sequence[int]

    @property
    def events(self) -> int:
        return sum(self.counts)


def count_processes_since(engine: Engine, since_us: int) -> int:
    """Returns the approximate number of processes with events since a time (epoch microseconds)."""
    found: int = engine.query(
        "SELECT uniq(process_id) FROM segment WHERE window_ms >= {since_ms:UInt64}",
        {"since_ms": _window_ms(since_us)},
    ).rows[0][0]
    return found


def processes_since(engine: Engine, since_us: int, limit: int) -> Generator[DayProcess, None, None]:
    """Yields processes with events since a time (epoch microseconds), newest first, at most
    `limit`."""
    with engine.stream(
        f"SELECT process_id, any(sensor_id), {_TEXTS}, "
        f"[{', '.join(f'sum({name})' for name in COUNTS)}] "
        "FROM segment WHERE window_ms >= {since_ms:UInt64} "
        f"GROUP BY process_id ORDER BY max(window_ms) DESC, process_id LIMIT {limit:d}",
        {"since_ms": _window_ms(since_us)},
        settings=engine.capabilities.process_group_settings,
    ) as blocks:
        for block in blocks:
            yield from map(DayProcess._make, block)


def _window_ms(since_us: int) -> int:
    """Returns the first window that can have events since a time."""
    return max(0, since_us // 1_000 - SEGMENT_WINDOW_MS)
