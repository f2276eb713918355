"""Streams: stateful cursors over the events of a process, forward and backward
(docs/process-analysis.md#streams).

A stream is a row of the state database: a process, a position in the sequence of its events, and
criteria. Each request loads it, applies the caller's present scope, and saves it with optimistic
locking (`STREAM_RETRIES` attempts). For the rules, see docs/process-analysis.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vedette import limits
from vedette.errors import ConflictError
from vedette.limits import Limit
from vedette.model.event_facets import EventFilter, criteria_of
from vedette.model.scope import Scope
from vedette.search.processes.process_lookup import unknown_process
from vedette.search.streams.filtered_counts import FilteredCounts, FilteredProcess
from vedette.search.streams.stream_cursor import Move, Position, SegmentOffset, Status
from vedette.state.db.database import Database
from vedette.state.jobs import streams as stored
from vedette.state.jobs.streams import Stream
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import signatures_of
from vedette.store.read.process_events import SequencedEvent, offset_under, read_wanted

STREAM_RETRIES: Limit[int] = 5
"""Attempts to change a stream; an attempt fails if another request changed the stream meanwhile."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Dependencies and caller of a stream request."""

    engine: Engine
    database: Database
    counts: FilteredCounts
    scope: Scope
    username: str
    ttl_s: int
    now_us: int


@dataclass(frozen=True, slots=True)
class Page:
    """A read of a stream: an optional move, then `rows` events from the position on."""

    rows: int = limits.STREAM_ROWS_DEFAULT
    move: Move | None = None
    until_us: int | None = None
    """Events after this time (epoch microseconds) are excluded from this answer and its move."""


Signatures = Mapping[str, tuple[str, str]]
"""Maps hash to (result, publisher) of the file's signature."""


@dataclass(frozen=True, slots=True)
class StreamPage:
    """A stream and the events from its position on."""

    stream_id: str
    status_forward: Status
    status_backward: Status
    ref_segment_id: int
    segment_id: int
    """Segment of the position."""
    offset_in_ref: int
    """Number of events from the start of the reference segment to the position; negative before it.
    """
    offset: int
    """Number of events from the start of the position's segment to the position."""
    events: Sequence[SequencedEvent]
    signatures: Signatures
    """Signatures of the files that the events name."""


def create(reader: Reader, process_id: str, segment: int, is_persistent: bool) -> StreamPage:
    """Creates a stream at the first event of a segment. The returned page has no events."""
    view = _view(reader, process_id, EventFilter())
    segment_id = view.sequence.segment_id(segment)
    new = Stream("", process_id, is_persistent, (), segment_id, segment_id, 0)
    made = stored.create(reader.database, reader.username, new, reader.ttl_s, reader.now_us)
    return _page(reader, made, EventFilter(), view, _position(made, view), 0)


def read(reader: Reader, stream_id: str, page: Page) -> StreamPage:
    """Moves the stream and reads its events."""
    for _ in range(STREAM_RETRIES):
        stream = _load(reader, stream_id)
        wanted = EventFilter(stream.criteria, page.until_us)
        view = _view(reader, stream.process_id, wanted)
        position = _position(stream, view)
        if page.move is None:
            stored.touch(reader.database, stream, reader.ttl_s, reader.now_us)
            return _page(reader, stream, wanted, view, position, page.rows)
        position = view.sequence.moved(position, page.move)
        if _save(reader, _moved(stream, view, position)):
            return _page(reader, stream, wanted, view, position, page.rows)
    raise _contended(stream_id)


def filter_events(
    reader: Reader, stream_id: str, criteria: Mapping[str, Sequence[str]], page: Page
) -> StreamPage:
    """Replaces the criteria. The stream stays in its segment: at its start, or at the first
    matching event that is not before the current event. That segment becomes the reference segment.
    """
    asked = criteria_of(criteria)
    for _ in range(STREAM_RETRIES):
        stream = _load(reader, stream_id)
        changed = _refiltered(reader, stream, EventFilter(asked))
        if _save(reader, changed):
            wanted = EventFilter(asked, page.until_us)
            view = _view(reader, stream.process_id, wanted)
            return _page(reader, changed, wanted, view, _position(changed, view), page.rows)
    raise _contended(stream_id)


def remove(reader: Reader, stream_id: str) -> None:
    """Deletes a stream of the reader."""
    stored.remove(reader.database, _load(reader, stream_id))


def _load(reader: Reader, stream_id: str) -> Stream:
    return stored.load(reader.database, reader.username, stream_id, reader.ttl_s, reader.now_us)


def _save(reader: Reader, stream: Stream) -> bool:
    return stored.save(reader.database, stream, reader.ttl_s, reader.now_us)


def _view(reader: Reader, process_id: str, wanted: EventFilter) -> FilteredProcess:
    view = reader.counts.view(reader.engine, process_id, reader.scope, wanted)
    if view is None:
        raise unknown_process(reader.engine, reader.scope, process_id)
    return view


def _position(stream: Stream, view: FilteredProcess) -> Position:
    index = view.sequence.index_of(SegmentOffset(stream.segment_id, stream.segment_offset))
    return Position(index, stream.ref_segment_id)


def _moved(stream: Stream, view: FilteredProcess, position: Position) -> Stream:
    offset = view.sequence.offset_of(position.index)
    return replace(
        stream,
        ref_segment_id=position.ref_segment_id,
        segment_id=offset.segment_id,
        segment_offset=offset.offset,
    )


def _refiltered(reader: Reader, stream: Stream, after: EventFilter) -> Stream:
    """Returns the stream with the criteria of another filter, at the same position in time."""
    before = EventFilter(stream.criteria)
    found = _view(reader, stream.process_id, before).segments
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


def _page(
    reader: Reader,
    stream: Stream,
    wanted: EventFilter,
    view: FilteredProcess,
    position: Position,
    rows: int,
) -> StreamPage:
    sequence = view.sequence
    offset = sequence.offset_of(position.index)
    events = _events(reader, stream.process_id, wanted, view, position.index, rows)
    ref_index = sequence.index_of(SegmentOffset(position.ref_segment_id))
    return StreamPage(
        stream_id=stream.id,
        status_forward=sequence.status_forward(position, rows),
        status_backward=sequence.status_backward(position),
        ref_segment_id=position.ref_segment_id,
        segment_id=offset.segment_id,
        offset_in_ref=position.index - ref_index,
        offset=offset.offset,
        events=events,
        signatures=signatures_of(reader.engine, *hashes_of(events), reader.scope),
    )


def _events(
    reader: Reader,
    process_id: str,
    wanted: EventFilter,
    view: FilteredProcess,
    index: int,
    rows: int,
) -> list[SequencedEvent]:
    numbers, start = view.sequence.span(index, rows)
    with_events = [number for number in numbers if view.sequence.has_events(number)]
    return read_wanted(
        reader.engine, process_id, reader.scope, wanted, view.segments, with_events, start, rows
    )


def hashes_of(events: Iterable[SequencedEvent]) -> tuple[list[str], list[str]]:
    """Returns sorted lists: the MD5s of the files that events name, and the SHA-256s of files
    without an MD5."""
    pairs = {file_hashes(item.event) for item in events}
    return (
        sorted({md5 for md5, _ in pairs if md5}),
        sorted({sha256 for md5, sha256 in pairs if sha256 and not md5}),
    )


def file_hashes(event: object) -> tuple[str, str]:
    """Returns MD5 and SHA-256 of the file that an event names, "" for a missing hash."""
    return getattr(event, "md5", ""), getattr(event, "sha256", "")


def _contended(stream_id: str) -> ConflictError:
    return ConflictError(f"stream {stream_id!r} is being changed by other requests")
