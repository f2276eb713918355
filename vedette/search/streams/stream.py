"""Streams: reading the events of a process step by step, forward and backward (api.md 3.2).

A stream is a row of the state database: a process, a place in the sequence of its events, and
criteria. Each request reads it, looks at the process as the caller may see it now, and writes
back what changed. Rules: docs/process-analysis.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vedette import limits
from vedette.errors import ConflictError
from vedette.model.event_facets import EventFilter, criteria_of
from vedette.model.scope import Scope
from vedette.search.bodies.process import Body
from vedette.search.bodies.stream_events import event_records, hashes_of
from vedette.search.processes.not_found import unknown_process
from vedette.search.streams.filtered_counts import View, Views
from vedette.search.streams.stream_cursor import Move, Place, Stand
from vedette.state.db.database import Database
from vedette.state.jobs import streams as kept
from vedette.state.jobs.streams import Stream
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import signatures_of
from vedette.store.read.process_events import offset_under, read_wanted


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads, with what, and when."""

    engine: Engine
    database: Database
    views: Views
    scope: Scope
    username: str
    ttl_s: int
    now_us: int


@dataclass(frozen=True, slots=True)
class Page:
    """What is asked of a stream: a move, then events from there on."""

    rows: int = limits.STREAM_ROWS_DEFAULT
    move: Move | None = None
    until_us: int | None = None
    """Later events are left out, of this answer and of the counting of its move."""


def create(reader: Reader, process_id: str, segment: int, is_persistent: bool) -> Body:
    """A new stream at the first event of a segment; its answer holds no events."""
    view = _view(reader, process_id, EventFilter())
    segment_id = view.track.segment_id(segment)
    new = Stream("", process_id, is_persistent, (), segment_id, segment_id, 0)
    made = kept.create(reader.database, reader.username, new, reader.ttl_s, reader.now_us)
    return _body(reader, made, EventFilter(), view, _stand(made, view), 0)


def read(reader: Reader, stream_id: str, page: Page) -> Body:
    """The answer to a read, with its move done."""
    for _ in range(limits.STREAM_RETRIES):
        stream = _load(reader, stream_id)
        wanted = EventFilter(stream.criteria, page.until_us)
        view = _view(reader, stream.process_id, wanted)
        stand = _stand(stream, view)
        if page.move is None:
            kept.touch(reader.database, stream, reader.ttl_s, reader.now_us)
            return _body(reader, stream, wanted, view, stand, page.rows)
        stand = view.track.moved(stand, page.move)
        if _save(reader, _moved(stream, view, stand)):
            return _body(reader, stream, wanted, view, stand, page.rows)
    raise _contended(stream_id)


def filter_events(
    reader: Reader, stream_id: str, criteria: Mapping[str, Sequence[str]], page: Page
) -> Body:
    """Replaces the criteria. The stream stays in its segment: at its beginning, or before the
    first event of the new view that does not come before the event it stood at. That segment is
    the new reference."""
    asked = criteria_of(criteria)
    for _ in range(limits.STREAM_RETRIES):
        stream = _load(reader, stream_id)
        changed = _refiltered(reader, stream, EventFilter(asked))
        if _save(reader, changed):
            wanted = EventFilter(asked, page.until_us)
            view = _view(reader, stream.process_id, wanted)
            return _body(reader, changed, wanted, view, _stand(changed, view), page.rows)
    raise _contended(stream_id)


def remove(reader: Reader, stream_id: str) -> Body:
    """Deletes a stream."""
    kept.remove(reader.database, _load(reader, stream_id))
    return {"result": "success"}


def _load(reader: Reader, stream_id: str) -> Stream:
    return kept.load(reader.database, reader.username, stream_id, reader.ttl_s, reader.now_us)


def _save(reader: Reader, stream: Stream) -> bool:
    return kept.save(reader.database, stream, reader.ttl_s, reader.now_us)


def _view(reader: Reader, process_id: str, wanted: EventFilter) -> View:
    view = reader.views.view(reader.engine, process_id, reader.scope, wanted)
    if view is None:
        raise unknown_process(process_id)
    return view


def _stand(stream: Stream, view: View) -> Stand:
    index = view.track.index_of(Place(stream.segment_id, stream.segment_offset))
    return Stand(index, stream.ref_segment_id)


def _moved(stream: Stream, view: View, stand: Stand) -> Stream:
    place = view.track.place_of(stand.index)
    return replace(
        stream,
        ref_segment_id=stand.ref_segment_id,
        segment_id=place.segment_id,
        segment_offset=place.offset,
    )


def _refiltered(reader: Reader, stream: Stream, after: EventFilter) -> Stream:
    """The stream with the criteria of another filter, at the same place in time."""
    before = EventFilter(stream.criteria)
    found = _view(reader, stream.process_id, before).outline
    offset = 0
    if stream.segment_offset and stream.segment_id in found.segment_ids:
        window_ms = found.window_ms[found.segment_ids.index(stream.segment_id)]
        offset = offset_under(
            reader.engine,
            stream.process_id,
            reader.scope,
            (window_ms, stream.segment_id),
            (before, stream.segment_offset),
            after,
        )
    return replace(
        stream,
        criteria=after.criteria,
        ref_segment_id=stream.segment_id,
        segment_offset=offset,
    )


def _body(
    reader: Reader, stream: Stream, wanted: EventFilter, view: View, stand: Stand, rows: int
) -> Body:
    track = view.track
    place = track.place_of(stand.index)
    return {
        "stream_id": stream.id,
        "status_fw": track.status_forward(stand, rows),
        "status_bw": track.status_backward(stand),
        "ref_segment_id": stand.ref_segment_id,
        "cur_segment_id": place.segment_id,
        "head_as_ref_segment_offset": stand.index - track.index_of(Place(stand.ref_segment_id)),
        "head_as_cur_segment_offset": place.offset,
        "events": _events(reader, stream.process_id, wanted, view, stand.index, rows),
    }


def _events(
    reader: Reader, process_id: str, wanted: EventFilter, view: View, index: int, rows: int
) -> list[dict[str, Any]]:
    numbers, start = view.track.span(index, rows)
    filled = [number for number in numbers if view.track.holds(number)]
    found = read_wanted(
        reader.engine, process_id, reader.scope, wanted, view.outline, filled, start, rows
    )
    return event_records(found, signatures_of(reader.engine, *hashes_of(found), reader.scope))


def _contended(stream_id: str) -> ConflictError:
    return ConflictError(f"stream {stream_id!r} is being changed by other requests")
