"""Numbers of records that arrived, by sensor and channel code (`pipeline/batch/deduplicate.py`
defines the record key).

Numbers are in the rows of the records, and in `unstored` for records without rows. The engine
computes the answers, and returns gaps instead of numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vedette.limits import Limit
from vedette.store.engine.client import Engine

COMPLETENESS_GAPS_MAX: Limit[int] = 10_000
"""Gaps of a channel that are compared with numbers from other times; further gaps are only
counted."""


Range = tuple[int, int]
"""First and last number, both included."""
Channel = tuple[int, int]
"""(sensor id, channel code)."""

_NUMBER = "bitAnd(k, 281474976710655)"  # the low 48 bits
_CODE = "bitShiftRight(bitAnd(k, 9223372036854775807), 48)"  # without the flag HALF


@dataclass(frozen=True, slots=True)
class ReceivedNumbers:
    """Numbers of a channel that arrived between two times: count of distinct numbers, lowest and
    highest number, and the gaps between, at most `COMPLETENESS_GAPS_MAX` of `gap_count`."""

    received: int
    first: int
    last: int
    gap_count: int
    missing: int
    gaps: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Around:
    """Numbers of a channel that arrived at other times: the next number below and above (0: none),
    and the numbers between, ascending. For a channel without numbers in the period, `below` is the
    greatest number that arrived before, and `above` the next one above it."""

    below: int
    above: int
    between: tuple[int, ...] = ()


def spans(
    engine: Engine, sensor_ids: Sequence[int], from_ms: int, until_ms: int
) -> dict[Channel, ReceivedNumbers]:
    """Maps channel to the numbers that arrived in [from, until), epoch milliseconds."""
    found = engine.query(
        "SELECT sensor_id, code, length(n), n[1], n[-1], length(gaps), "
        "arraySum(one -> one.2 - one.1 + 1, gaps), "
        f"arraySlice(gaps, 1, {COMPLETENESS_GAPS_MAX:d}) FROM ("
        "SELECT sensor_id, code, n, arrayMap(at -> (n[at - 1] + 1, n[at] - 1), arrayFilter("
        "at -> at > 1 AND n[at] > n[at - 1] + 1, arrayEnumerate(n))) AS gaps FROM ("
        f"SELECT sensor_id, {_CODE} AS code, arraySort(groupUniqArray({_NUMBER})) AS n "
        f"FROM ({_ARRIVED}) GROUP BY sensor_id, code)) ORDER BY sensor_id, code",
        {"sensors": list(sensor_ids), "from": from_ms, "until": until_ms},
    )
    return {
        (row[0], row[1]): ReceivedNumbers(
            row[2], row[3], row[4], row[5], row[6], tuple((first, last) for first, last in row[7])
        )
        for row in found.rows
    }


def around(
    engine: Engine,
    sensor_ids: Sequence[int],
    known: Mapping[Channel, ReceivedNumbers],
    times_ms: tuple[int, int, int, int],
) -> dict[Channel, Around]:
    """Maps channel to the numbers that arrived outside of a period. `times_ms` is (start of the
    search, start of the period, end of the period, end of the search)."""
    found = _around(engine, sensor_ids, _bounds(known), times_ms)
    silent = {
        channel: (one.below, one.below)
        for channel, one in found.items()
        if channel not in known and one.below
    }
    if silent:
        above = _around(engine, sensor_ids, silent, times_ms)
        found |= {channel: Around(silent[channel][0], above[channel].above) for channel in silent}
    return found


def _bounds(known: Mapping[Channel, ReceivedNumbers]) -> dict[Channel, Range]:
    return {channel: (one.first, one.last) for channel, one in known.items()}


def _around(
    engine: Engine,
    sensor_ids: Sequence[int],
    bounds: Mapping[Channel, Range],
    times_ms: tuple[int, int, int, int],
) -> dict[Channel, Around]:
    """Returns the neighbors of the bounds. For a channel without bounds, `below` is the greatest
    number that arrived before the period."""
    begin_ms, from_ms, until_ms, end_ms = times_ms
    found = engine.query(
        "SELECT sensor_id, code, maxIf(n, if(least = 0, at < {inner:UInt64}, n < least)), "
        "minIf(n, n > most), groupUniqArrayIf(n, n > least AND n < most) FROM ("
        f"SELECT sensor_id, {_CODE} AS code, {_NUMBER} AS n, at FROM ({_ARRIVED}) "
        "WHERE at < {inner:UInt64} OR at >= {outer:UInt64}) AS arrived LEFT JOIN ("
        "SELECT one.1 AS sensor_id, one.2 AS code, one.3 AS least, one.4 AS most "
        "FROM (SELECT arrayJoin({bounds:Array(Tuple(UInt32, UInt64, UInt64, UInt64))}) AS one)"
        ") AS bounds USING (sensor_id, code) GROUP BY sensor_id, code",
        {
            "sensors": list(sensor_ids),
            "from": begin_ms,
            "until": end_ms,
            "inner": from_ms,
            "outer": until_ms,
            "bounds": [(*channel, *one) for channel, one in bounds.items()],
        },
    )
    return {(row[0], row[1]): Around(row[2], row[3], tuple(sorted(row[4]))) for row in found.rows}


def unstored(
    engine: Engine, sensor_ids: Sequence[int], from_ms: int, until_ms: int
) -> dict[Channel, dict[str, int]]:
    """Maps channel to the count of distinct unstored numbers by outcome."""
    found = engine.query(
        f"SELECT sensor_id, {_CODE} AS code, outcome, uniqExact({_NUMBER}) FROM ("
        "SELECT sensor_id, outcome, arrayJoin(record_keys) AS k FROM unstored WHERE "
        f"{_UNSTORED}) GROUP BY sensor_id, code, outcome",
        {"sensors": list(sensor_ids), "from": from_ms, "until": until_ms},
    )
    counts: dict[Channel, dict[str, int]] = {}
    for sensor_id, code, outcome, count in found.rows:
        counts.setdefault((sensor_id, code), {})[outcome] = count
    return counts


def unnumbered(
    engine: Engine, sensor_ids: Sequence[int], from_ms: int, until_ms: int
) -> dict[int, int]:
    """Maps sensor id to the number of requests with records that have no number."""
    found = engine.query(
        "SELECT sensor_id, uniqExact(k) FROM ("
        f"SELECT sensor_id, arrayJoin(request_keys) AS k FROM segment WHERE {_WINDOWS} "
        f"UNION ALL SELECT sensor_id, request_key AS k FROM record WHERE {_COMMITTED} "
        "AND request_key > 0) GROUP BY sensor_id",
        {"sensors": list(sensor_ids), "from": from_ms, "until": until_ms},
    )
    return dict(found.rows)


_SENSORS = "sensor_id IN {sensors:Array(UInt32)} AND "
_WINDOWS = _SENSORS + "window_ms >= {from:UInt64} AND window_ms < {until:UInt64}"
_UNSTORED = _WINDOWS
_COMMITTED = (
    f"{_SENSORS}committed >= fromUnixTimestamp64Milli(toInt64({{from:UInt64}}), 'UTC') "
    "AND committed < fromUnixTimestamp64Milli(toInt64({until:UInt64}), 'UTC')"
)
_ARRIVED = (
    "SELECT sensor_id, arrayJoin(record_keys) AS k, window_ms AS at "
    f"FROM segment WHERE {_WINDOWS} AND notEmpty(record_keys) "
    "UNION ALL SELECT sensor_id, arrayJoin(record_keys) AS k, window_ms AS at "
    f"FROM unstored WHERE {_WINDOWS} "
    "UNION ALL SELECT sensor_id, record_key AS k, "
    "toUInt64(toUnixTimestamp64Milli(committed)) AS at "
    f"FROM record WHERE {_COMMITTED} AND record_key > 0"
)
"""Keys and their arrival times in a period; a key may occur twice."""
