"""Matches telemetry with the indicators of feeds, by keys (`model/threat/report_columns.py`).

One query returns the distinct keys of some rows; the caller selects those that are keys of
indicators, and queries where they occur. A name yields its own key and the keys of every parent
name of two labels or more. An address yields the key of its network for every prefix length used by
an indicator.
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
from vedette.store.read.process_events import BY_KEY
from vedette.store.read.threat.record_matches import NAMES, RecordHit, record_keys, records_with
from vedette.store.sql.scope_filter import AT_PLACES, PLACE, PLACES, SEGMENT_KEY

Keys = npt.NDArray[np.uint64]

BITS: Final = "bits"
"""Parameter: the prefix lengths of networks in indicators."""

COLUMNS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "md5": (("process_md5",), ("filemod_md5", "modload_md5", "processblock_md5")),
    "sha256": (("process_sha256",), ("filemod_sha256", "modload_sha256", "processblock_sha256")),
    "ja3": ((), ("netconn_ja3",)),
    "ja3s": ((), ("netconn_ja3s",)),
}
"""Maps indicator type to the columns and array columns of a segment that it is matched with."""

_LABELS: Final = "splitByChar('.', trim(TRAILING '.' FROM lower(n)))"


def _name_keys(names: str) -> str:
    """Returns SQL for the keys of names and of all their parent names of two labels or more."""
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


def _values(kind: str, arrays: Sequence[str]) -> str:
    key = VALUE_KEY.format(kind=f"'{kind}'", value="x")
    joined = f"arrayConcat({', '.join(arrays)})"
    return f"arrayMap(x -> {key}, arrayDistinct(arrayFilter(x -> x != '', {joined})))"


_PROCESS_VALUES: Final = ", ".join(
    _values(kind, [f"[toString({one})]" for one in single])
    for kind, (single, _) in COLUMNS.items()
    if single
)
_PROCESS_KEYS: Final = f"arrayConcat({_PROCESS_VALUES})"
"""SQL: the keys of a segment's metadata. Those of a partial row are candidates: another partial row
may have a better claim."""

_EVENT_VALUES: Final = ", ".join(_values(kind, lists) for kind, (_, lists) in COLUMNS.items())
_EVENT_KEYS: Final = (
    f"arrayConcat({_EVENT_VALUES}, "
    f"{_name_keys('arrayConcat(netconn_domain, dnsquery_name)')}, {_ADDRESSES})"
)
"""SQL: the keys of the events of a partial row."""

SEGMENT_KEYS: Final = f"arrayConcat({_PROCESS_KEYS}, {_EVENT_KEYS})"
"""SQL: the keys of a partial row, those of claims that lost included."""

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
    "hostname",
    "group",
    "os_type",
    "path",
    "process_name",
    "cmdline",
    "username",
    "process_md5",
    "process_sha256",
    "parent_name",
    "parent_cmdline",
)
"""Columns of a segment that its hit includes."""

_SHOWN_COLUMNS: Final = ", ".join(f"`{name}`" for name in SHOWN)


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Selects rows by a condition on columns that both tables have, or on columns of `segment`."""

    condition: str
    params: Mapping[str, Any]
    binaries: str = ""
    """Condition for the corresponding rows of `binary`; "": none."""
    records: str = ""
    """Condition for the corresponding rows of `record`; "": none."""

    @property
    def halves(self) -> "tuple[MatchedRows, MatchedRows] | None":
        """The rows split in two by the parameters `after` and `until`; None if the range cannot be
        split."""
        after, until = int(self.params["after"]), int(self.params["until"])
        middle = (after + until) // 2
        if middle in (after, until):
            return None
        first = {**self.params, "until": middle}
        second = {**self.params, "after": middle}
        return replace(self, params=first), replace(self, params=second)


@dataclass(frozen=True, slots=True)
class SegmentHit:
    """A segment with the indicator keys found in it."""

    segment: TouchedSegment
    keys: tuple[int, ...]
    last_update_us: int
    shown: Mapping[str, str]


def indicator_keys(engine: Engine, feed_ids: Sequence[int], now_us: int, after: int = 0) -> Keys:
    """Returns the sorted distinct keys of the active indicators of some feeds that were added after
    version `after`."""
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
    """Returns the prefix lengths, of 128 bits, that indicators have."""
    found = engine.query(
        "SELECT DISTINCT bits FROM indicator WHERE ioc_type IN ('ipv4', 'ipv6') ORDER BY bits"
    )
    return [row[0] for row in found.rows]


def newest_added(engine: Engine, until: int) -> int:
    """Returns the greatest version, up to `until`, with which indicators were added; 0 without any.

    Indicators whose reports are not written yet do not count, because reports are written after
    them.
    """
    found: int = engine.query(
        "SELECT max(added) FROM indicator WHERE added <= least({until:UInt64}, "
        "(SELECT max(version) FROM threat_report))",
        {"until": until},
    ).rows[0][0]
    return found


def keys_of_rows(engine: Engine, rows: MatchedRows, bits: Sequence[int]) -> Keys:
    """Returns the distinct keys of some rows."""
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
    """Returns the keys that are in the sorted array."""
    if not len(sorted_keys):
        return []
    places = np.minimum(np.searchsorted(sorted_keys, found), len(sorted_keys) - 1)
    return [int(key) for key in found[sorted_keys[places] == found]]


def indicators_with(
    engine: Engine, feed_ids: Sequence[int], keys: Sequence[int], now_us: int
) -> list[dict[str, Any]]:
    """Returns the active indicators with these keys."""
    return engine.query(
        "SELECT feed_id, report_id, ioc_type, value, confidence, key FROM indicator FINAL "
        "WHERE key IN {keys:Array(UInt64)} AND feed_id IN {feeds:Array(UInt32)} "
        f"AND NOT is_deleted AND {_IN_FORCE} ORDER BY feed_id, report_id, value",
        {"keys": list(keys), "feeds": list(feed_ids), "now": now_us},
    ).dicts()


def segments_with(
    engine: Engine, rows: MatchedRows, keys: Sequence[int], bits: Sequence[int]
) -> Iterator[list[SegmentHit]]:
    """Yields the segments among the rows that have one of the keys, in the order of their keys, in
    pages."""
    after: tuple[Any, ...] = ()
    while True:
        page = _candidates_after(engine, rows, keys, bits, after)
        if found := _decided(engine, page):
            yield found
        if len(page) < INDICATOR_HITS_PAGE:
            return
        key = page[-1].segment.key
        after = (key.window_ms, key.sensor_id, key.process_id, key.segment_id)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A segment with keys of some of its partial rows."""

    segment: TouchedSegment
    last_update_us: int
    of_process: Sequence[int]
    """Keys of claims, which may have lost."""
    of_events: Sequence[int]


def _candidates_after(
    engine: Engine,
    rows: MatchedRows,
    keys: Sequence[int],
    bits: Sequence[int],
    after: tuple[Any, ...],
) -> list[_Candidate]:
    further = f" AND ({SEGMENT_KEY}) > {AFTER}" if after else ""
    wanted = "{keys:Array(UInt64)}"
    found = engine.query(
        f"SELECT {_KEYS}, any(key_hash), max(seq) AS latest, "
        "toUnixTimestamp64Micro(max(last_update)), groupUniqArrayArray(of_process), "
        f"groupUniqArrayArray(of_events) FROM (SELECT {_KEYS}, key_hash, seq, last_update, "
        f"arrayIntersect({_PROCESS_KEYS}, {wanted}) AS of_process, "
        f"arrayIntersect({_EVENT_KEYS}, {wanted}) AS of_events "
        f"FROM segment WHERE {rows.condition}{further}) "
        f"WHERE notEmpty(of_process) OR notEmpty(of_events) GROUP BY {_KEYS} "
        f"ORDER BY {SEGMENT_KEY} LIMIT {INDICATOR_HITS_PAGE:d}",
        {**rows.params, "keys": list(keys), BITS: list(bits), **after_params(after)},
    ).rows
    at = len(KEY) + 2
    return [
        _Candidate(touched_segment(row[:at]), row[at], row[at + 1], row[at + 2]) for row in found
    ]


def _decided(engine: Engine, page: Sequence[_Candidate]) -> list[SegmentHit]:
    """The hits among candidates, by the merged segments."""
    if not page:
        return []
    merged = engine.query(
        f"SELECT {PLACE}, {_PROCESS_KEYS}, {_SHOWN_COLUMNS} "
        f"FROM segment FINAL PREWHERE {AT_PLACES}",
        {PLACES: [candidate.segment.place for candidate in page]},
        settings=BY_KEY,
    ).rows
    by_place = {tuple(row[:3]): row[3:] for row in merged}
    hits: list[SegmentHit] = []
    for candidate in page:
        of_process, *shown = by_place.get(candidate.segment.place, ((),))
        hit_keys = {*candidate.of_events, *set(of_process).intersection(candidate.of_process)}
        if shown and hit_keys:
            values = dict(zip(SHOWN, shown, strict=True))
            hits.append(
                SegmentHit(candidate.segment, tuple(hit_keys), candidate.last_update_us, values)
            )
    return hits


AFTER: Final = "({at_window:UInt64}, {at_sensor:UInt32}, {at_process:String}, {at_segment:UInt64})"
"""SQL: the segment after which a page begins."""


def after_params(after: tuple[Any, ...]) -> dict[str, Any]:
    """Returns the parameters of `AFTER`; {} for the first page."""
    return dict(zip(("at_window", "at_sensor", "at_process", "at_segment"), after, strict=False))


@dataclass(frozen=True, slots=True)
class BinaryHit:
    """A binary on one host, with the indicator keys found in it."""

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
    """Yields the binaries among the rows that have one of the keys, with each host of these rows,
    in pages."""
    hit = f"arrayIntersect({BINARY_KEYS}, {{keys:Array(UInt64)}})"
    which = f"({rows.binaries}) AND hasAny({BINARY_KEYS}, {{keys:Array(UInt64)}})"
    return binary_pages(engine, hit, which, {**rows.params, "keys": list(keys)})


def kept_records_with(
    engine: Engine, rows: MatchedRows, keys: Sequence[int], bits: Sequence[int]
) -> Iterator[list[RecordHit]]:
    """Yields the kept records among the rows that have one of the keys, in pages."""
    params = {**rows.params, "keys": list(keys), BITS: list(bits)}
    return records_with(engine, RECORD_KEYS, rows.records, params)


def binary_pages(
    engine: Engine, hit: str, which: str, params: Mapping[str, Any]
) -> Iterator[list[BinaryHit]]:
    """Yields the rows of `binary` that a condition selects, merged by binary and host, in pages.
    `hit` is the SQL of the keys of a row."""
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
    """Returns the feed tags written by rounds up to `saved_us`: process id, segment id, feed name,
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
    """Returns the feed tags of binaries: hash, feed name, report and indicator."""
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
    """Maps (feed id, report id) to the report's values for hits."""
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
    """Returns the last of the next windows with together about `rows_max` rows; 0 if there are
    none."""
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
