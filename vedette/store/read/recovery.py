"""Queries of the write path: recovery after a restart, and lookups of evicted processes. They run
for the server itself, without a scope."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyroaring import BitMap

from vedette.limits import HOST_SLOTS, RECOVERY_PROCESSES_PER_QUERY, SEGMENT_WINDOW_MS
from vedette.model.columns import DERIVED, PROCESS
from vedette.model.host import HostProcess
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import COUNTS, aggregated
from vedette.store.sql.scope_filter import AT_PROCESSES, windows_of, with_sensors


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """Location of a stored segment, and its number of events."""

    partition_ms: int
    window_ms: int
    segment_id: int
    event_count: int


@dataclass(frozen=True, slots=True)
class KnownProcess:
    """A stored process. `facts` has the available columns of `columns.PROCESS` and
    `columns.DERIVED`; `places` has every segment in a mounted partition, the earliest first."""

    facts: dict[str, Any]
    places: list[SegmentPlace]


@dataclass(frozen=True, slots=True)
class Newest:
    """Newest window (ms) and highest commit number; both 0 in an empty store."""

    window_ms: int
    seq: int


def known_processes(engine: Engine, process_ids: Sequence[str]) -> dict[str, KnownProcess]:
    """Maps process id to stored metadata and segments; omits unknown ids."""
    known: dict[str, KnownProcess] = {}
    for at in range(0, len(process_ids), RECOVERY_PROCESSES_PER_QUERY):
        known |= _known_processes(engine, list(process_ids[at : at + RECOVERY_PROCESSES_PER_QUERY]))
    return known


def _known_processes(engine: Engine, process_ids: list[str]) -> dict[str, KnownProcess]:
    # Most ids are new. `process` has four columns, while a query of `segment` takes milliseconds
    # before its first row.
    at_shards = f"{AT_PROCESSES} AND " if engine.capabilities.cluster else ""
    stored = engine.query(
        "SELECT DISTINCT process_id FROM process WHERE "
        f"{at_shards}process_id IN {{ids:Array(String)}}",
        with_sensors(process_ids),
    )
    process_ids = [row[0] for row in stored.rows]
    if not process_ids:
        return {}
    by_process = windows_of(engine.capabilities, "process_id IN {ids:Array(String)}", AT_PROCESSES)
    places: dict[str, list[SegmentPlace]] = {}
    latest: dict[str, tuple[int, int, str]] = {}
    found = engine.query(
        "SELECT process_id, sensor_id, partition_ms, window_ms, segment_id, "
        f"sum({' + '.join(COUNTS)}) FROM segment WHERE {by_process} "
        "GROUP BY process_id, sensor_id, partition_ms, window_ms, segment_id ORDER BY segment_id",
        with_sensors(process_ids),
    )
    for process_id, sensor_id, *place in found.rows:
        stays = SegmentPlace(*place)
        places.setdefault(process_id, []).append(stays)
        latest[process_id] = (stays.window_ms, sensor_id, process_id)
    facts = _facts(engine, list(latest.values()))
    return {name: KnownProcess(facts.get(name, {}), stays) for name, stays in places.items()}


def process_hashes(engine: Engine, most: int) -> BitMap | None:
    """Returns the hashes (`model.ids.process_hash`) of all processes; None if there are more than
    `most` rows."""
    if engine.query("SELECT count() FROM process").rows[0][0] > most:
        return None
    # Adding sorted numbers to a bitmap takes a fifth of the time.
    found = engine.query("SELECT arraySort(groupArray(CRC32(process_id))) FROM process")
    return BitMap(found.rows[0][0])


_FACTS = (*PROCESS, *DERIVED)


def _facts(engine: Engine, latest: list[tuple[int, int, str]]) -> dict[str, dict[str, Any]]:
    """Returns the best metadata of processes. Each tuple of `latest` is (window, sensor id, process
    id); one window suffices, because every window has all metadata."""
    best = ", ".join(aggregated(column.name) for column in _FACTS)
    found = engine.query(
        f"SELECT process_id, {best} FROM segment WHERE (window_ms, sensor_id, process_id) IN "
        "{latest:Array(Tuple(UInt64, UInt32, String))} GROUP BY process_id",
        {"latest": latest},
    )
    names = [column.name for column in _FACTS]
    return {
        row[0]: {name: value for name, value in zip(names, row[1:], strict=True) if value}
        for row in found.rows
    }


_NUMBERED = ("record", "binary", "hit", "unstored")
"""Tables other than `segment` in which a commit may have rows."""


def newest(engine: Engine) -> Newest:
    """Returns the newest window, and the highest commit number of all tables."""
    window_ms, seq = engine.query("SELECT max(window_ms), max(seq) FROM segment").rows[0]
    others = [engine.query(f"SELECT max(seq) FROM {table}").rows[0][0] for table in _NUMBERED]
    return Newest(window_ms, max(seq, *others))


Keys = Iterator[tuple[Any, ...]]
"""Tuples (sensor id, record keys, keys of requests that had records without a key)."""


def seen_keys(
    engine: Engine,
    table: Literal["segment", "record"],
    *,
    since_us: int = 0,
    since_seq: int = 0,
    slots: Collection[int] | None = None,
) -> Keys:
    """Yields the keys of rows stored since a time and a commit, by sensor, streamed in blocks.
    `slots` restricts the sensors to some of the `HOST_SLOTS`.

    May yield a key twice, and keys that are slightly older.
    """
    params: dict[str, Any] = {"since_ms": _window_before(since_us), "since_seq": since_seq}
    query = _SEEN[table].replace("$SLOTS", "1" if slots is None else _IN_SLOTS)
    if slots is not None:
        params["slots"] = sorted(slots)
    with engine.stream(query, params) as blocks:
        for block in blocks:
            yield from block


def _window_before(time_us: int) -> int:
    return max(0, time_us // 1_000 - SEGMENT_WINDOW_MS)


_IN_SLOTS = f"sensor_id % {HOST_SLOTS} IN {{slots:Array(UInt32)}}"

_SEEN: dict[str, str] = {
    "segment": (
        "SELECT sensor_id, record_keys, request_keys FROM segment "
        "WHERE window_ms >= {since_ms:UInt64} AND seq >= {since_seq:UInt64} AND $SLOTS "
        "AND (notEmpty(record_keys) OR notEmpty(request_keys))"
    ),
    "record": (
        "SELECT sensor_id, groupArrayIf(record_key, record_key > 0), "
        "groupUniqArrayIf(request_key, request_key > 0) FROM record "
        "WHERE committed >= fromUnixTimestamp64Milli(toInt64({since_ms:UInt64}), 'UTC') "
        "AND seq >= {since_seq:UInt64} AND $SLOTS GROUP BY sensor_id"
    ),
}


_CONTEXT = ", ".join(
    map(
        aggregated,
        (
            "process_pid",
            "start",
            "end_time",
            "path",
            "process_md5",
            "process_sha256",
            "username",
            "parent_id",
        ),
    )
)


def host_context(
    engine: Engine, sensor_ids: Sequence[int], *, since_ms: int = 0
) -> list[HostProcess]:
    """Returns the processes of hosts with a segment in a window since `since_ms`."""
    found = engine.query(
        f"SELECT sensor_id, process_id, {_CONTEXT} FROM segment "
        "WHERE window_ms >= {since_ms:UInt64} "
        "AND sensor_id IN {sensors:Array(UInt32)} GROUP BY sensor_id, process_id",
        {"since_ms": since_ms, "sensors": list(sensor_ids)},
    )
    return [HostProcess(*row) for row in found.rows]
