"""Follows commits: lists the documents that they touched, in order, and reads these documents
completely.

A follower requests the commits after its watermark up to a settled one (`IngestQueue.settled_seq`),
evaluates the documents, and saves its watermark with its findings. A document that a later commit
touched as well is returned only for the later one, because merged partial rows have the greater
number. Documents of unmounted partitions are skipped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.limits import SEGMENT_WINDOW_MS
from vedette.model.columns import EVENT_KINDS, KEY, METADATA
from vedette.model.findings.tag import SegmentKey
from vedette.model.scope import EVERYTHING, Scope
from vedette.query.compile.binary_sql import BINARY_COLUMNS, binaries_sql
from vedette.query.compile.condition import SETTINGS
from vedette.store.engine.client import Engine
from vedette.store.read.process_events import BY_KEY
from vedette.store.sql.column_lists import readable, readable_array
from vedette.store.sql.scope_filter import AT_PLACES, PLACES, Place, scope_params

_WITHIN: Final = "seq > {after:UInt64} AND seq <= {until:UInt64}"
_KEYS: Final = ", ".join(f"`{column.name}`" for column in KEY)
_TYPES: Final = {column.name: column.type for column in (*KEY, *METADATA)}
_EVENTS: Final = {column.name: column.type for kind in EVENT_KINDS for column in kind.columns}
_COUNTS: Final = frozenset(f"{kind.name}_count" for kind in EVENT_KINDS)

SEGMENT_COLUMNS: Final = frozenset((*_TYPES, *_EVENTS, *_COUNTS))
"""Columns of a segment that can be read."""


@dataclass(frozen=True, slots=True)
class Commits:
    """The commits after `after`, up to and including `until`."""

    after: int
    until: int

    @property
    def params(self) -> dict[str, int]:
        return {"after": self.after, "until": self.until}


@dataclass(frozen=True, slots=True)
class TouchedSegment:
    """A segment that a commit touched."""

    key: SegmentKey
    place: Place
    seq: int


Columns = dict[str, Sequence[Any]]
"""Maps column to the values of the documents, in parallel, as input of `query/match.py`."""


def next_commits(engine: Engine, after: int, settled: int, rows_max: int) -> Commits | None:
    """Returns the next commits with together at most `rows_max` rows, at least one commit with
    rows; None if there are none."""
    if settled <= after:
        return None
    found = engine.query(
        "SELECT seq, sum(touched) FROM ("
        f"SELECT seq, count() AS touched FROM segment WHERE {_WITHIN} GROUP BY seq UNION ALL "
        f"SELECT seq, count() FROM binary WHERE {_WITHIN} GROUP BY seq"
        ") GROUP BY seq ORDER BY seq",
        Commits(after, settled).params,
    ).rows
    total = 0
    for at, (seq, rows) in enumerate(found):
        total += rows
        if total > rows_max and at:
            return Commits(after, int(found[at - 1][0]))
        if total > rows_max:
            return Commits(after, int(seq))
    # Commits without rows here are complete.
    return Commits(after, settled)


def touched_segments(engine: Engine, commits: Commits) -> list[TouchedSegment]:
    """Returns the segments that the commits touched, in the order of the latest commit of each."""
    found = engine.query(
        f"SELECT {_KEYS}, any(key_hash), max(seq) AS latest FROM segment "
        f"WHERE {_WITHIN} GROUP BY {_KEYS} ORDER BY latest, window_ms, process_id, segment_id",
        commits.params,
    ).rows
    return [touched_segment(row) for row in found]


def tagged_segments(engine: Engine, since_us: int, until_us: int) -> list[TouchedSegment]:
    """Returns the segments that a feed tagged in a period of the store's clock, oldest first."""
    found = engine.query(
        f"SELECT {_KEYS}, any(key_hash), 0 FROM tag WHERE family = 'alliance' "
        "AND written > fromUnixTimestamp64Micro({since:Int64}, 'UTC') "
        "AND written <= fromUnixTimestamp64Micro({until:Int64}, 'UTC') "
        f"GROUP BY {_KEYS} ORDER BY window_ms, process_id, segment_id",
        {"since": since_us, "until": until_us},
    ).rows
    return [touched_segment(row) for row in found]


def watched_segments(
    engine: Engine, watchlist: str, since_us: int, most: int
) -> list[TouchedSegment]:
    """Returns the segments in windows since a time that a watchlist has tagged, the newest
    first."""
    found = engine.query(
        f"SELECT {_KEYS}, any(key_hash), 0 FROM tag "
        "WHERE family = 'watchlist' AND name = {name:String} AND window_ms >= {since:UInt64} "
        f"GROUP BY {_KEYS} ORDER BY window_ms DESC, process_id, segment_id LIMIT {most:d}",
        {"name": watchlist, "since": max(0, since_us // 1_000 - SEGMENT_WINDOW_MS)},
    ).rows
    return [touched_segment(row) for row in found]


def touched_binaries(engine: Engine, commits: Commits) -> dict[str, list[int]]:
    """Maps hash to sensors for the binaries that the commits touched."""
    found = engine.query(
        f"SELECT hash, groupUniqArray(sensor_id) FROM binary WHERE {_WITHIN} GROUP BY hash "
        "ORDER BY max(seq), hash",
        commits.params,
    ).rows
    return {digest: sorted(sensors) for digest, sensors in found}


def tagged_binaries(engine: Engine, since_us: int, until_us: int) -> dict[str, list[int]]:
    """Maps hash to [] for the binaries that a feed tagged in a period of the store's clock."""
    found = engine.query(
        "SELECT DISTINCT hash FROM binary_tag WHERE family = 'alliance' "
        "AND written > fromUnixTimestamp64Micro({since:Int64}, 'UTC') "
        "AND written <= fromUnixTimestamp64Micro({until:Int64}, 'UTC') ORDER BY hash",
        {"since": since_us, "until": until_us},
    ).rows
    return {row[0]: [] for row in found}


def whole_segments(
    engine: Engine, touched: Sequence[TouchedSegment], columns: Iterable[str]
) -> tuple[list[TouchedSegment], Columns]:
    """Returns segments with all their partial rows, and their columns (including the key) in the
    order of `touched`. Segments that no longer exist are omitted."""
    names = [name for name in sorted(SEGMENT_COLUMNS.intersection(columns)) if name not in _KEY]
    selected = "".join(f", {_readable(name)}" for name in names)
    rows = engine.query(
        f"SELECT window_ms, sensor_id, key_hash{selected} FROM segment FINAL PREWHERE {AT_PLACES}",
        {PLACES: [one.place for one in touched]},
        settings=BY_KEY,
    ).rows
    by_place = {row[:3]: row[3:] for row in map(tuple, rows)}
    found = [one for one in touched if one.place in by_place]
    values = list(zip(*(by_place[one.place] for one in found), strict=True)) or [() for _ in names]
    keys: Columns = {name: [getattr(one.key, name) for one in found] for name in _KEY}
    return found, keys | dict(zip(names, values, strict=True))


def whole_binaries(
    engine: Engine, hashes: Sequence[str], scope: Scope = EVERYTHING
) -> list[dict[str, Any]]:
    """Returns binaries of a scope by the `hash` of their rows, as input of `query/match.py`.
    Binaries outside the scope are omitted."""
    return _binaries(engine, "hash IN {hashes:Array(String)}", hashes, scope)


def binaries_named(engine: Engine, digests: Sequence[str], scope: Scope) -> list[dict[str, Any]]:
    """Returns binaries of a scope by MD5 or SHA-256 in lower case, the hashes that processes
    have."""
    digest = "{hashes:Array(String)}"
    rows = f"SELECT hash FROM binary WHERE md5 IN {digest} OR sha256 IN {digest}"
    return _binaries(engine, f"hash GLOBAL IN ({rows})", digests, scope)


def _binaries(
    engine: Engine, which: str, hashes: Sequence[str], scope: Scope
) -> list[dict[str, Any]]:
    named = ", ".join(f"`{name}`" for name in BINARY_COLUMNS)
    return engine.query(
        f"SELECT {named} FROM ({binaries_sql(which)}) ORDER BY hash",
        {"hashes": list(hashes), **scope_params(scope)},
        settings=SETTINGS,
    ).dicts()


_KEY: Final = tuple(column.name for column in KEY)


def _readable(name: str) -> str:
    if name in _EVENTS:
        return readable_array(name, _EVENTS[name])
    return readable(f"`{name}`", _TYPES.get(name, "u64"))


def touched_segment(row: Sequence[Any]) -> TouchedSegment:
    """Returns the segment of a row with the key's columns, `key_hash` and `seq`."""
    partition_ms, window_ms, sensor_id, process_id, segment_id, key_hash, seq = row
    key = SegmentKey(partition_ms, window_ms, sensor_id, process_id, segment_id)
    return TouchedSegment(key, (window_ms, sensor_id, key_hash), seq)
