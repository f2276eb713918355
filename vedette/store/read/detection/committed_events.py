"""The events of commits, in the order of the commits.

A partial row merged by the engine has the number of the newest of its commits. So an event may be
read again with a later commit of its segment, but none is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.columns import EVENT_KINDS, KEY, METADATA, EventKind
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import Commits, touched_segment, whole_segments
from vedette.store.sql.column_lists import quoted, readable_array
from vedette.store.sql.scope_filter import AT_PLACES, PLACES, Place

FORWARD_READ_COMMITS: Limit[int] = 20_000
"""Commits that one read examines, so that a follower that begins in the past does not count all
commits for each file; there are at most some ten per second."""


_KEYS: Final = ", ".join(quoted(column.name) for column in KEY)
_ARRAYS: Final = ", ".join(
    readable_array(column.name, column.type) for kind in EVENT_KINDS for column in kind.columns
)
_HAS_EVENTS: Final = " OR ".join(f"notEmpty(`{kind.columns[0].name}`)" for kind in EVENT_KINDS)
_EVENTS: Final = " + ".join(f"length(`{kind.columns[0].name}`)" for kind in EVENT_KINDS)
_SHOWN: Final = (
    "hostname",
    "group",
    "os_type",
    "interface_ip",
    "comms_ip",
    "path",
    "process_pid",
    "process_md5",
    "process_sha256",
    "process_sha1",
    "cmdline",
    "username",
    "start",
    "parent_id",
    "parent_path",
    "parent_pid",
    "parent_cmdline",
)
_FIRST: Final = len(KEY) + 3
_NAMES: Final = frozenset(column.name for column in METADATA)
assert _NAMES.issuperset(_SHOWN)


@dataclass(frozen=True, slots=True)
class CommittedEvent:
    """One event. `values` are the fields of its kind, `process` some metadata of its process."""

    seq: int
    committed_us: int
    sensor_id: int
    process_id: str
    segment_id: int
    kind: EventKind
    values: Mapping[str, Any]
    process: Mapping[str, Any]


def event_commits(engine: Engine, after: int, settled: int, events_max: int) -> Commits | None:
    """Returns the next commits with together at most `events_max` rows and events, at least one
    commit; None if there are none."""
    if settled <= after:
        return None
    last = min(settled, after + FORWARD_READ_COMMITS)
    found = engine.query(
        f"SELECT seq, sum(1 + {_EVENTS}) FROM segment "
        "WHERE seq > {after:UInt64} AND seq <= {until:UInt64} GROUP BY seq ORDER BY seq",
        Commits(after, last).params,
    ).rows
    total, until = 0, after
    for seq, events in found:
        if total and total + events > events_max:
            return Commits(after, until)
        total, until = total + events, int(seq)
    # Commits without rows here are complete.
    return Commits(after, last)


def committed_events(
    engine: Engine, commits: Commits, where: Condition | None
) -> Iterator[CommittedEvent]:
    """Yields the events of some commits, optionally only of segments that a condition selects."""
    rows = engine.query(
        f"SELECT {_KEYS}, key_hash, seq, last_server_update, {_ARRAYS} FROM segment "
        f"WHERE seq > {{after:UInt64}} AND seq <= {{until:UInt64}} AND ({_HAS_EVENTS}) "
        "ORDER BY seq, window_ms, process_id, segment_id",
        commits.params,
    ).rows
    touched = {one.place: one for one in (touched_segment(row[: _FIRST - 1]) for row in rows)}
    if where is not None:
        kept = _selected(engine, where, list(touched))
        touched = {place: one for place, one in touched.items() if place in kept}
    found, columns = whole_segments(engine, list(touched.values()), _SHOWN)
    shown = {
        one.place: {name: columns[name][number] for name in _SHOWN}
        for number, one in enumerate(found)
    }
    for row in rows:
        window_ms, sensor_id, key_hash = row[1], row[2], row[5]
        process = shown.get((window_ms, sensor_id, key_hash))
        if process is not None:
            yield from _events(row, process)


def _events(row: Sequence[Any], process: Mapping[str, Any]) -> Iterator[CommittedEvent]:
    _, _, sensor_id, process_id, segment_id, _, seq, committed_us = row[:_FIRST]
    at = _FIRST
    for kind in EVENT_KINDS:
        names = [name for name, _ in kind.fields]
        arrays = row[at : at + len(names)]
        at += len(names)
        for values in zip(*arrays, strict=True):
            yield CommittedEvent(
                seq,
                committed_us,
                sensor_id,
                process_id,
                segment_id,
                kind,
                dict(zip(names, values, strict=True)),
                process,
            )


def _selected(engine: Engine, where: Condition, places: Sequence[Place]) -> frozenset[Place]:
    within = where.within(AT_PLACES, {PLACES: list(places)})
    rows = engine.query(
        f"SELECT window_ms, sensor_id, key_hash FROM segment FINAL {within.clause}",
        within.params,
        settings=SETTINGS,
    ).rows
    return frozenset(map(tuple, rows))


def commit_before(engine: Engine, time_us: int, settled: int) -> int:
    """Returns the number of the commit before the first commit at or after a time; `settled` if
    there is none."""
    found, count = engine.query(
        "SELECT min(seq), count() FROM segment "
        "WHERE last_server_update >= fromUnixTimestamp64Micro({time:Int64}, 'UTC')",
        {"time": time_us},
    ).rows[0]
    return min(int(found) - 1, settled) if count else settled
