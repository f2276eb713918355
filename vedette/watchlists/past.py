"""Searches of stored telemetry for a watchlist that is new, or has a new query, newest first.

From its first round on, a watchlist follows commits. Telemetry stored before, up to
`WATCHLIST_PAST_S` before it was saved, is searched here. Both may judge a window; each document is
reported once.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from vedette.errors import UnavailableError
from vedette.limits import SEGMENT_WINDOW_MS, Limit
from vedette.model.scope import Scope
from vedette.query import SETTINGS, compile_binaries, compile_segments
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES
from vedette.record.objects.watchlist import Watchlist
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import TouchedSegment, touched_segment
from vedette.store.read.recovery import newest
from vedette.store.sql.scope_filter import scope_params, scoped
from vedette.watchlists.watch_query import MODULES, WatchQuery

WATCHLIST_PAST_WINDOWS_S: Limit[int] = 6 * 3600
"""Length (s) of the stored telemetry that one step judges."""

WATCHLIST_PAST_STEP_S: Limit[float] = 20.0
"""Timeout (s) of one search of stored telemetry; the next search covers fewer windows."""

WATCHLIST_PAST_HITS_MAX: Limit[int] = 20_000
"""Hits of one step that are tagged; a watchlist with more matches too much to be useful."""


_WITHIN: Final = "window_ms >= {past_from:UInt64} AND window_ms < {past_until:UInt64}"
_KEYS: Final = "partition_ms, window_ms, sensor_id, process_id, segment_id, key_hash, seq"


@dataclass(slots=True)
class PastHits:
    """Result of one step."""

    until_ms: int
    """Windows from this time on have been judged."""
    segments: list[TouchedSegment] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    error: str = ""
    """Reason for omitted hits."""


class PastSearch:
    """Steps through stored telemetry. Not thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._length_ms: dict[int, int] = {}
        """Length (ms) of the next step, for watchlists whose steps took too long."""

    def step(self, watchlist: Watchlist, query: WatchQuery, scope: Scope) -> PastHits:
        """Returns hits of the newest windows not yet judged; for binaries, all hits."""
        if watchlist.index_type == MODULES:
            return self._binaries(watchlist, query, scope)
        until_ms = min(watchlist.past_ms, newest(self._engine).window_ms + SEGMENT_WINDOW_MS)
        length_ms = self._length_ms.get(watchlist.key, WATCHLIST_PAST_WINDOWS_S * 1_000)
        from_ms = max(watchlist.past_from_ms, until_ms - length_ms, 0)
        if until_ms <= max(watchlist.past_from_ms, self._oldest_ms()):
            return PastHits(watchlist.past_from_ms)
        try:
            found = PastHits(from_ms, self._segments(query, scope, from_ms, until_ms))
            if len(found.segments) >= WATCHLIST_PAST_HITS_MAX:
                found.error = f"more than {WATCHLIST_PAST_HITS_MAX:,} hits in the stored past"
            return found
        except UnavailableError as error:
            if error.reason != "deadline":
                raise
        if length_ms > SEGMENT_WINDOW_MS:
            self._length_ms[watchlist.key] = max(length_ms // 4, SEGMENT_WINDOW_MS)
            return PastHits(watchlist.past_ms)
        return PastHits(from_ms, error="some of the stored past took too long and was left out")

    def _oldest_ms(self) -> int:
        """Returns the earliest window of the store."""
        rows = self._engine.query("SELECT min(window_ms) FROM segment").rows
        return int(rows[0][0])

    def _segments(
        self, query: WatchQuery, scope: Scope, from_ms: int, until_ms: int
    ) -> list[TouchedSegment]:
        where = compile_segments(query.checked, prefix="past_", indexes=NO_SUFFIX_INDEXES)
        where = where.within(_WITHIN, {"past_from": from_ms, "past_until": until_ms})
        where = scoped(replace(where, narrowings=()), scope)
        rows = self._engine.query(
            f"SELECT {_KEYS} FROM segment FINAL {where.clause} "
            f"ORDER BY window_ms DESC, key_hash LIMIT {WATCHLIST_PAST_HITS_MAX:d}",
            where.params,
            settings=SETTINGS,
            deadline_s=WATCHLIST_PAST_STEP_S,
        ).rows
        return [touched_segment(row) for row in rows]

    def _binaries(self, watchlist: Watchlist, query: WatchQuery, scope: Scope) -> PastHits:
        where = compile_binaries(query.checked)
        try:
            rows = self._engine.query(
                f"SELECT hash FROM ({where.binaries}) ORDER BY hash "
                f"LIMIT {WATCHLIST_PAST_HITS_MAX:d}",
                {**where.params, **scope_params(scope)},
                settings=SETTINGS,
                deadline_s=WATCHLIST_PAST_STEP_S,
            ).rows
        except UnavailableError as error:
            if error.reason != "deadline":
                raise
            return PastHits(watchlist.past_from_ms, error="the stored binaries took too long")
        return PastHits(watchlist.past_from_ms, hashes=[row[0] for row in rows])
