"""Watchlists that would have missed hits if an ingress filter had been in force.

Hits are documents with a watchlist's tag. Each is judged again with the events that the filters
leave.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vedette.errors import VedetteError
from vedette.limits import BLINDED_SAMPLES_MAX, DRY_RUN_EVENTS_MAX
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import ProcessEvent
from vedette.model.scope import EVERYTHING
from vedette.query.match import compile_match
from vedette.record.objects.watchlist import Watchlist
from vedette.respond.filter_trial import Blinded, FilterEffect, OnProgress, no_progress
from vedette.state.db.database import Database
from vedette.state.policy import watchlists
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import TouchedSegment, watched_segments
from vedette.store.read.process import events
from vedette.watchlists.documents import changed_batch, segment_batches
from vedette.watchlists.judge import Judge
from vedette.watchlists.watch_query import EVENTS, WatchQuery, stored_query


def blinded_watchlists(
    database: Database,
    engine: Engine,
    effects: Sequence[FilterEffect],
    since_us: int,
    on_progress: OnProgress = no_progress,
) -> list[Blinded]:
    """Returns the watchlists with hits since `since_us` that the filters would have suppressed.
    Examines the newest `BLINDED_SAMPLES_MAX` hits."""
    with database.reading() as connection:
        stored = [
            one
            for one in watchlists.all_watchlists(connection)
            if one.is_active and one.index_type == EVENTS
        ]
    found = []
    for at, one in enumerate(stored):
        on_progress("watchlists", at, len(stored))
        if missed := _missed(engine, one, effects, since_us):
            found.append(Blinded("watchlist", str(one.id), one.name, missed))
    return found


def _missed(engine: Engine, one: Watchlist, effects: Sequence[FilterEffect], since_us: int) -> int:
    meant = [
        hit
        for hit in watched_segments(engine, str(one.id), since_us, BLINDED_SAMPLES_MAX)
        if any(hit.key.process_id in effect.processes for effect in effects)
    ]
    gone = [hit for hit in meant if _is_dropped(hit, effects)]
    thinned = [hit for hit in meant if not _is_dropped(hit, effects)]
    if not thinned:
        return len(gone)
    try:
        query = stored_query(one.search_query, one.index_type, since_us)
    except VedetteError:
        return len(gone)
    return len(gone) + sum(_thinned(engine, query, thinned, effects))


def _is_dropped(hit: TouchedSegment, effects: Iterable[FilterEffect]) -> bool:
    return any(effect.drops_all and hit.key.process_id in effect.processes for effect in effects)


def _thinned(
    engine: Engine,
    query: WatchQuery,
    hits: Sequence[TouchedSegment],
    effects: Sequence[FilterEffect],
) -> Iterable[bool]:
    """Yields for each document whether it no longer matches without the dropped events."""
    judge, ask = Judge({0: query}), compile_match(query.checked)
    for found, batch in segment_batches(engine, hits, judge.columns, EVERYTHING, judge.joins):
        left = [_columns(_left(engine, one, effects)) for one in found]
        changed = changed_batch(batch, left)
        changed.add_tags()
        for at in range(len(found)):
            yield not ask(changed.prepared(at))


def _left(
    engine: Engine, hit: TouchedSegment, effects: Iterable[FilterEffect]
) -> list[ProcessEvent]:
    key = hit.key
    stored = events(
        engine,
        key.process_id,
        EVERYTHING,
        segment_id=key.segment_id,
        count=DRY_RUN_EVENTS_MAX,
    ).by_kind
    left: list[ProcessEvent] = [event for kind in stored.values() for event in kind]
    for effect in effects:
        left = effect.kept(key.process_id, left)
    return left


def _columns(left: Sequence[ProcessEvent]) -> Mapping[str, Any]:
    """Converts events to the columns of a document."""
    found: dict[str, Any] = {}
    for kind in EVENT_KINDS:
        mine = [event for event in left if isinstance(event, kind.struct)]
        found[f"{kind.name}_count"] = len(mine)
        for column, (attribute, _) in zip(kind.columns, kind.fields, strict=True):
            name = "time_us" if attribute == "time" else attribute
            found[column.name] = [getattr(event, name) for event in mine]
    return found
