"""Matches of telemetry with the indicators of feeds, by keys (`model/threat/report_columns.py`).

One query returns the distinct keys of some rows; the caller decides which of them are those of
indicators, and asks where they were found. A name stands for itself and every name above it of two
labels or more, an address for every network of a length that an indicator has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from vedette.limits import INDICATOR_HITS_PAGE
from vedette.model.columns import KEY
from vedette.model.threat.report_columns import ADDRESS_KEY, VALUE_KEY
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import TouchedSegment, touched_segment
from vedette.store.read.threat.record_matches import NAMES, RecordHit, record_keys, records_with
from vedette.store.sql.scope_filter import SEGMENT_KEY

Keys = npt.NDArray[np.uint64]

BITS: Final = "bits"
"""Parameter: the lengths of networks that indicators have."""

COLUMNS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "md5": (("process_md5",), ("filemod_md5", "modload_md5", "processblock_md5")),
    "sha256": (("process_sha256",), ("filemod_sha256", "modload_sha256", "processblock_sha256")),
    "ja3": ((), ("netconn_ja3",)),
    "ja3s": ((), ("netconn_ja3s",)),
}
"""Columns and array columns of a segment that indicators of a type are looked for in."""

_LABELS: Final = "splitByChar('.', trim(TRAILING '.' FROM lower(n)))"


def _name_keys(names: str) -> str:
    """Of names and every name above them of two labels or more."""
    above = (
        "arrayFlatten(arrayMap(n -> "
        f"arrayMap(i -> arrayStringConcat(arraySlice({_LABELS}, i), '.'), "
        f"range(1, toUInt64(greatest(length({_LABELS}), 1)))), "
        f"arrayDistinct(arrayFilter(n -> n != '', {names}))))"
    )
    key = VALUE_KEY.format(kind=repr("dns"), value="x")
    return f"arrayMap(x -> {key}, arrayDistinct({above}))"


_ADDRESSES: Final = (
    "arrayFlatten(arrayMap(b -> arrayMap(a -> "
    + ADDRESS_KEY.format(network="tupleElement(IPv6CIDRToRange(a, b), 1)", bits="b")
    + f", arrayDistinct(netconn_remote_ip)), {{{BITS}:Array(UInt8)}}))"
)


def _values(kind: str) -> str:
    single, lists = COLUMNS[kind]
    parts = [*(f"[toString({one})]" for one in single), *lists]
    joined = f"arrayConcat({', '.join(parts)})"
    key = VALUE_KEY.format(kind=f"'{kind}'", value="x")
    return f"arrayMap(x -> {key}, arrayDistinct(arrayFilter(x -> x != '', {joined})))"


SEGMENT_KEYS: Final = (
    f"arrayConcat({', '.join(map(_values, COLUMNS))}, "
    f"{_name_keys('arrayConcat(netconn_domain, dnsquery_name)')}, {_ADDRESSES})"
)
"""SQL: the keys of a segment."""

BINARY_KEYS: Final = (
    f"[{VALUE_KEY.format(kind=repr('md5'), value='md5')}, "
    f"{VALUE_KEY.format(kind=repr('sha256'), value='sha256')}]"
)
"""SQL: the keys of a row of a binary."""

RECORD_KEYS: Final = f"arrayConcat({record_keys(BITS)}, {_name_keys(NAMES)})"
"""SQL: the keys of a kept record."""

_KEY_SCHEMA: Final = pa.schema([("key", pa.uint64())])
_KEYS: Final = ", ".join(f"`{column.name}`" for column in KEY)
SHOWN: Final = (
    *("hostname", "group", "os_type", "path", "process_name", "cmdline", "username"),
    *("process_md5", "process_sha256", "parent_name", "parent_cmdline"),
)
"""Columns of a segment that its hit carries."""

_LATEST: Final = ", ".join(f"max(`{name}`) AS shown_{name}" for name in SHOWN)


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Some rows: a condition on columns that both tables have, or on those of `segment`."""

    condition: str
    params: Mapping[str, Any]
    binaries: str = ""
    """The rows of `binary` that belong to them, as a condition; "": none."""
    records: str = ""
    """The same of `record`."""

    @property
    def halves(self) -> "tuple[MatchedRows, MatchedRows] | None":
        """The rows in two parts, by the `after` and `until` of their parameters; None where there
        is nothing between."""
        after, until = int(self.params["after"]), int(self.params["until"])
        middle = (after + until) // 2
        if middle in (after, until):
            return None
        first = {**self.params, "until": middle}
        second = {**self.params, "after": middle}
        return replace(self, params=first), replace(self, params=second)


@dataclass(frozen=True, slots=True)
class SegmentHit:
    """A segment with the keys of indicators that it has."""

    segment: TouchedSegment
    keys: tuple[int, ...]
    last_update_us: int
    shown: Mapping[str, str]


def indicator_keys(engine: Engine, feed_ids: Sequence[int], now_us: int, after: int = 0) -> Keys:
    """The sorted distinct keys of the indicators of some feeds that count now; those that were
    added after a version."""
    found = engine.query_table(
        "SELECT DISTINCT key FROM indicator FINAL WHERE feed_id IN {feeds:Array(UInt32)} "
        "AND NOT is_deleted AND ioc_type != 'query' AND added > {after:UInt64} "
        f"AND {_IN_FORCE}",
        _KEY_SCHEMA,
        {"feeds": list(feed_ids), "after": after, "now": now_us},
    )
    keys: Keys = found.column("key").to_numpy()
    return np.sort(keys)


_IN_FORCE: Final = (
    "(toUnixTimestamp64Micro(expires) = 0 OR toUnixTimestamp64Micro(expires) > {now:Int64})"
)


def network_lengths(engine: Engine) -> list[int]:
    """The prefix lengths, of 128 bits, that indicators have."""
    found = engine.query(
        "SELECT DISTINCT bits FROM indicator WHERE ioc_type IN ('ipv4', 'ipv6') ORDER BY bits"
    )
    return [row[0] for row in found.rows]


def newest_added(engine: Engine, until: int) -> int:
    """The greatest version, up to one, with which indicators were added; 0 without any.

    Those whose reports are still to be written, which follow them, do not count.
    """
    found: int = engine.query(
        "SELECT max(added) FROM indicator WHERE added <= least({until:UInt64}, "
        "(SELECT max(version) FROM threat_report))",
        {"until": until},
    ).rows[0][0]
    return found


def keys_of_rows(engine: Engine, rows: MatchedRows, bits: Sequence[int]) -> Keys:
    """The distinct keys of some rows."""
    selects = [f"SELECT arrayJoin({SEGMENT_KEYS}) AS key FROM segment WHERE {rows.condition}"]
    if rows.binaries:
        selects.append(f"SELECT arrayJoin({BINARY_KEYS}) AS key FROM binary WHERE {rows.binaries}")
    if rows.records:
        selects.append(f"SELECT arrayJoin({RECORD_KEYS}) AS key FROM record WHERE {rows.records}")
    found = engine.query_table(
        f"SELECT DISTINCT key FROM ({' UNION ALL '.join(selects)})",
        _KEY_SCHEMA,
        {**rows.params, BITS: list(bits)},
    )
    keys: Keys = found.column("key").to_numpy()
    return keys


def common_keys(found: Keys, sorted_keys: Keys) -> list[int]:
    """Those of the keys that are among sorted ones."""
    if not len(sorted_keys):
        return []
    places = np.minimum(np.searchsorted(sorted_keys, found), len(sorted_keys) - 1)
    return [int(key) for key in found[sorted_keys[places] == found]]


def indicators_with(
    engine: Engine, feed_ids: Sequence[int], keys: Sequence[int], now_us: int
) -> list[dict[str, Any]]:
    """The indicators with these keys that count now."""
    return engine.query(
        "SELECT feed_id, report_id, ioc_type, value, confidence, key FROM indicator FINAL "
        "WHERE key IN {keys:Array(UInt64)} AND feed_id IN {feeds:Array(UInt32)} "
        f"AND NOT is_deleted AND {_IN_FORCE} ORDER BY feed_id, report_id, value",
        {"keys": list(keys), "feeds": list(feed_ids), "now": now_us},
    ).dicts()


def segments_with(
    engine: Engine, rows: MatchedRows, keys: Sequence[int], bits: Sequence[int]
) -> Iterator[list[SegmentHit]]:
    """The segments among the rows that have one of the keys, in the order of their keys, in
    pages."""
    after: tuple[Any, ...] = ()
    while True:
        page = _segments_after(engine, rows, keys, bits, after)
        if page:
            yield page
        if len(page) < INDICATOR_HITS_PAGE:
            return
        key = page[-1].segment.key
        after = (key.window_ms, key.sensor_id, key.process_id, key.segment_id)


def _segments_after(
    engine: Engine,
    rows: MatchedRows,
    keys: Sequence[int],
    bits: Sequence[int],
    after: tuple[Any, ...],
) -> list[SegmentHit]:
    further = f" AND ({SEGMENT_KEY}) > {AFTER}" if after else ""
    found = engine.query(
        f"SELECT {_KEYS}, any(key_hash), max(seq) AS latest, "
        "toUnixTimestamp64Micro(max(last_update)), groupUniqArrayArray(hit), "
        f"{_LATEST} FROM (SELECT *, key_hash, arrayIntersect({SEGMENT_KEYS}, "
        f"{{keys:Array(UInt64)}}) AS hit FROM segment WHERE {rows.condition}{further}) "
        f"WHERE notEmpty(hit) GROUP BY {_KEYS} ORDER BY {SEGMENT_KEY} "
        f"LIMIT {INDICATOR_HITS_PAGE:d}",
        {**rows.params, "keys": list(keys), BITS: list(bits), **after_params(after)},
    ).rows
    at = len(KEY) + 2
    return [
        SegmentHit(
            touched_segment(row[:at]),
            tuple(row[at + 1]),
            row[at],
            dict(zip(SHOWN, row[at + 2 :], strict=True)),
        )
        for row in found
    ]


AFTER: Final = "({at_window:UInt64}, {at_sensor:UInt32}, {at_process:String}, {at_segment:UInt64})"
"""SQL: the segment that a page begins after."""


def after_params(after: tuple[Any, ...]) -> dict[str, Any]:
    """The parameters of `AFTER`; {} for the first page."""
    return dict(zip(("at_window", "at_sensor", "at_process", "at_segment"), after, strict=False))


@dataclass(frozen=True, slots=True)
class BinaryHit:
    """A binary on one host, with the keys of indicators that it has."""

    digest: str
    """`hash` of the binary."""
    sensor_id: int
    keys: tuple[int, ...]
    seq: int
    last_seen_us: int
    shown: Mapping[str, str]


_SHOWN_OF_BINARY: Final = ("md5", "sha256", "hostname", "group", "os_type", "product_name")


def binaries_with(
    engine: Engine, rows: MatchedRows, keys: Sequence[int]
) -> Iterator[list[BinaryHit]]:
    """The binaries among the rows that have one of the keys, with each host of these rows, in
    pages."""
    hit = f"arrayIntersect({BINARY_KEYS}, {{keys:Array(UInt64)}})"
    which = f"({rows.binaries}) AND hasAny({BINARY_KEYS}, {{keys:Array(UInt64)}})"
    return binary_pages(engine, hit, which, {**rows.params, "keys": list(keys)})


def kept_records_with(
    engine: Engine, rows: MatchedRows, keys: Sequence[int], bits: Sequence[int]
) -> Iterator[list[RecordHit]]:
    """The kept records among the rows that have one of the keys, in pages."""
    params = {**rows.params, "keys": list(keys), BITS: list(bits)}
    return records_with(engine, RECORD_KEYS, rows.records, params)


def binary_pages(
    engine: Engine, hit: str, which: str, params: Mapping[str, Any]
) -> Iterator[list[BinaryHit]]:
    """The rows of `binary` that a condition selects, merged by binary and host, in pages. `hit` is
    the SQL of the keys of a row."""
    shown = ", ".join(f"max(`{name}`) AS shown_{name}" for name in _SHOWN_OF_BINARY)
    after: tuple[str, int] = ("", 0)
    while True:
        found = engine.query(
            f"SELECT hash, sensor_id, groupUniqArrayArray({hit}), max(seq), "
            f"toUnixTimestamp64Micro(max(last_seen)), {shown} FROM binary WHERE {which} "
            "AND (hash, sensor_id) > ({at_hash:String}, {at_sensor:UInt32}) "
            f"GROUP BY hash, sensor_id ORDER BY hash, sensor_id LIMIT {INDICATOR_HITS_PAGE:d}",
            {**params, "at_hash": after[0], "at_sensor": after[1]},
        ).rows
        if found:
            yield [
                BinaryHit(
                    row[0],
                    row[1],
                    tuple(row[2]),
                    row[3],
                    row[4],
                    dict(zip(_SHOWN_OF_BINARY, row[5:], strict=True)),
                )
                for row in found
            ]
        if len(found) < INDICATOR_HITS_PAGE:
            return
        after = found[-1][0], found[-1][1]


def written_tags(
    engine: Engine, segments: Sequence[TouchedSegment], saved_us: int
) -> set[tuple[str, int, str, str, str]]:
    """Tags of feeds that a round which was saved has written: process id, segment id, feed name,
    report and indicator."""
    if not segments:
        return set()
    found = engine.query(
        "SELECT DISTINCT process_id, segment_id, name, report, ioc FROM tag "
        "WHERE family = 'alliance' AND process_id IN {processes:Array(String)} "
        "AND written <= fromUnixTimestamp64Micro({saved:Int64}, 'UTC')",
        {
            "processes": list({one.key.process_id for one in segments}),
            "saved": saved_us,
        },
    ).rows
    return {(row[0], row[1], row[2], row[3], row[4]) for row in found}


def written_binary_tags(engine: Engine, hashes: Sequence[str]) -> set[tuple[str, str, str, str]]:
    """Tags of feeds that binaries have: hash, feed name, report and indicator."""
    if not hashes:
        return set()
    found = engine.query(
        "SELECT DISTINCT hash, name, report, ioc FROM binary_tag "
        "WHERE family = 'alliance' AND hash IN {hashes:Array(String)}",
        {"hashes": list(hashes)},
    ).rows
    return {(row[0], row[1], row[2], row[3]) for row in found}


def reports_of(
    engine: Engine, reports: Sequence[tuple[int, str]]
) -> dict[tuple[int, str], dict[str, Any]]:
    """What hits of reports carry, by feed and report id."""
    if not reports:
        return {}
    found = engine.query(
        "SELECT feed_id, report_id, title, description, link, tags, score, "
        "toUnixTimestamp64Micro(update_time) AS updated_us FROM threat_report FINAL "
        "WHERE (feed_id, report_id) IN {reports:Array(Tuple(UInt32, String))} AND NOT is_deleted",
        {"reports": list(dict.fromkeys(reports))},
    ).dicts()
    return {(row["feed_id"], row["report_id"]): row for row in found}


def next_windows(engine: Engine, after_ms: int, rows_max: int) -> int:
    """The last of the next windows that have about so many rows; 0 where there are none."""
    found = engine.query(
        "SELECT window_ms, count() FROM segment WHERE window_ms > {after:UInt64} "
        "GROUP BY window_ms ORDER BY window_ms LIMIT 10000",
        {"after": after_ms},
    ).rows
    total, last = 0, 0
    for window_ms, count in found:
        total, last = total + count, int(window_ms)
        if total >= rows_max:
            break
    return last
