"""Finds the hits of watchlists among touched documents, and tallies them.

A watchlist of a sensor group only sees the group's sensors, and binaries that they reported.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from vedette import limits
from vedette.limits import Limit
from vedette.model.scope import EVERYTHING, Scope
from vedette.record.objects.watchlist import ALL_GROUPS, Watchlist
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import TouchedSegment
from vedette.watchlists.documents import binary_batch, segment_batches
from vedette.watchlists.hits import (
    SHOWN_COLUMNS,
    RoundTime,
    Tally,
    binary_detection,
    is_tagged,
    process_detection,
)
from vedette.watchlists.judge import Judge
from vedette.watchlists.past import PastHits
from vedette.watchlists.watch_query import EVENTS, MODULES, WatchQuery

WATCHLIST_SIGHTINGS_KNOWN: Limit[int] = 100_000
"""Pairs of a binary and a sensor that a watchlist reported; stored so that each is reported
once."""

WATCHLIST_JUDGES_KEPT: Limit[int] = 32
"""Cached compiled sets of watchlists: one per kind of document and group."""


@dataclass(frozen=True, slots=True)
class Active:
    """A watchlist that is executed, with its query."""

    watchlist: Watchlist
    query: WatchQuery


@dataclass(frozen=True, slots=True)
class Touched:
    """Documents that commits touched: segments in order, binaries by hash with the sensors that
    reported them."""

    segments: Sequence[TouchedSegment]
    binaries: Mapping[str, Sequence[int]]
    seq: int = 0
    """The latest of the commits; 0 for none."""


class HitFinder:
    """Finds hits (see the module). Not thread-safe."""

    def __init__(self, engine: Engine, database: Database) -> None:
        self._engine = engine
        self._database = database
        self._judges: OrderedDict[tuple[tuple[int, int], ...], tuple[list[WatchQuery], Judge]]
        self._judges = OrderedDict()
        self._reported: OrderedDict[tuple[int, str, int], None] = OrderedDict()

    def find(self, active: Sequence[Active], touched: Touched, at: RoundTime) -> list[Tally]:
        """Returns a tally for each watchlist."""
        tallies = {one.watchlist.key: Tally(one.watchlist) for one in active}
        for group_id in sorted({one.watchlist.group_id for one in active}):
            scope = self.scope(group_id)
            mine = [one for one in active if one.watchlist.group_id == group_id]
            events = [one for one in mine if one.watchlist.index_type == EVENTS]
            modules = [one for one in mine if one.watchlist.index_type == MODULES]
            if events:
                self._segments(events, touched, scope, tallies, at)
            if modules:
                self._binaries(modules, touched, scope, tallies, at)
        return list(tallies.values())

    def of_past(self, one: Active, past: PastHits, at: RoundTime) -> Tally:
        """Returns the tally for the results of a search of stored telemetry."""
        tally = Tally(one.watchlist, error=past.error)
        scope = self.scope(one.watchlist.group_id)
        checked = one.query.checked
        columns = self._judge([one]).columns | set(SHOWN_COLUMNS)
        for found, batch in segment_batches(self._engine, past.segments, columns, scope):
            tally.hits += len(found)
            for place, segment in enumerate(found):
                if not is_tagged(batch.tags_of(place), one.watchlist, at):
                    tally.tag(segment.key, at)
                    values = batch.prepared(place).segment
                    tally.report(
                        partial(process_detection, one.watchlist, checked, segment.key, values, 0)
                    )
        rows, binaries = binary_batch(self._engine, past.hashes, scope)
        tally.hits += len(rows)
        for place, row in enumerate(rows):
            if not is_tagged(binaries.tags_of(place), one.watchlist, at):
                tally.tag(row["hash"], at)
                tally.report(partial(binary_detection, one.watchlist, checked, row, 0, 0))
        return tally

    def scope(self, group_id: int) -> Scope:
        """Returns the scope of a watchlist's group."""
        if group_id == ALL_GROUPS:
            return EVERYTHING
        with self._database.reading() as connection:
            return Scope(groups.sensors_of(connection, group_id))

    def _segments(
        self,
        active: Sequence[Active],
        touched: Touched,
        scope: Scope,
        tallies: Mapping[int, Tally],
        at: RoundTime,
    ) -> None:
        judge = self._judge(active)
        queries = {one.watchlist.key: one.query.checked for one in active}
        columns = judge.columns | set(SHOWN_COLUMNS)
        visible = [one for one in touched.segments if scope.allows(one.key.sensor_id)]
        for found, batch in segment_batches(self._engine, visible, columns, scope, judge.joins):
            for key, outcome in judge.judge(batch).items():
                tally = tallies[key]
                tally.add(outcome)
                for place in outcome.hits:
                    if is_tagged(batch.tags_of(place), tally.watchlist, at):
                        continue
                    segment = found[place]
                    tally.tag(segment.key, at)
                    values = batch.prepared(place).segment
                    tally.report(
                        partial(
                            process_detection,
                            tally.watchlist,
                            queries[key],
                            segment.key,
                            values,
                            segment.seq,
                        )
                    )

    def _binaries(
        self,
        active: Sequence[Active],
        touched: Touched,
        scope: Scope,
        tallies: Mapping[int, Tally],
        at: RoundTime,
    ) -> None:
        judge = self._judge(active)
        queries = {one.watchlist.key: one.query.checked for one in active}
        hashes = list(touched.binaries)
        for start in range(0, len(hashes), limits.WATCHLIST_DOCUMENTS_A_BATCH):
            some = hashes[start : start + limits.WATCHLIST_DOCUMENTS_A_BATCH]
            rows, batch = binary_batch(self._engine, some, scope)
            for key, outcome in judge.judge(batch).items():
                tally = tallies[key]
                tally.add(outcome)
                for place in outcome.hits:
                    row = rows[place]
                    if not is_tagged(batch.tags_of(place), tally.watchlist, at):
                        tally.tag(row["hash"], at)
                    sensors = [one for one in touched.binaries[row["hash"]] if scope.allows(one)]
                    for sensor_id in self._unreported(tally.watchlist.id, row["hash"], sensors):
                        tally.report(
                            partial(
                                binary_detection,
                                tally.watchlist,
                                queries[key],
                                row,
                                sensor_id,
                                touched.seq,
                            )
                        )

    def _unreported(self, watchlist_id: int, digest: str, sensors: Iterable[int]) -> list[int]:
        """Returns the sensors for which a binary was not reported yet. After a restart, a binary is
        reported again, to its existing alert."""
        found = []
        for sensor_id in sensors:
            known = (watchlist_id, digest, sensor_id)
            if known not in self._reported:
                found.append(sensor_id)
                self._reported[known] = None
        while len(self._reported) > WATCHLIST_SIGHTINGS_KNOWN:
            self._reported.popitem(last=False)
        return found

    def _judge(self, active: Sequence[Active]) -> Judge:
        """Returns the compiled queries, cached from the previous use."""
        queries = [one.query for one in active]
        key = tuple((one.watchlist.key, id(one.query)) for one in active)
        known = self._judges.get(key)
        if known is None:
            # Keep the queries alive, so that their ids are not reused.
            judge = Judge({one.watchlist.key: one.query for one in active})
            known = self._judges[key] = (queries, judge)
            if len(self._judges) > WATCHLIST_JUDGES_KEPT:
                self._judges.popitem(last=False)
        self._judges.move_to_end(key)
        return known[1]
