"""Generated processes of several segments, and what a comprehensive search must say of them, by
the words of docs/query-evaluation.md#one-segment-at-a-time and nothing else."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.property.lives import NOW_US, life, metadata, tags
from tests.support.claims import shared_out
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import ProcessEvent
from vedette.model.fields import EVENT_COLUMNS, is_event_source
from vedette.model.findings.tag import TAGS, SegmentKey, Tag, newest
from vedette.model.segment import PartialSegment
from vedette.query.match import Prepared, compile_match
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import Checked, Match, NumberTest, TagTest, Test, source_of

WINDOW_MS = 1_700_000_400_000
LENGTH_MS = 300_000
WINDOWS = 6
COUNTS = frozenset(f"{kind.name}_count" for kind in EVENT_KINDS)

Key = tuple[str, int]
"""Process id and segment id."""


@dataclass(frozen=True)
class Segment:
    """A merged segment: what the store answers with, and the partial rows it came in."""

    key: Key
    values: dict[str, Any]
    prepared: Prepared
    parts: tuple[PartialSegment, ...]
    tags: list[Tag]


def process_id(number: int) -> str:
    return f"{1 + number % 3:08x}-0000-0000-0000-{number:012x}"


def generate(draw: random.Random, processes: int) -> list[Segment]:
    """Segments of processes that keep their metadata and meet events of many kinds."""
    found = []
    for number in range(processes):
        known = metadata(draw)
        for window in draw.sample(range(WINDOWS), draw.choice((1, 1, 2, 3, 5))):
            _, events = life(draw, process_id(number))
            times = {"last_update": NOW_US + draw.randrange(50) * 1_000_000}
            found.append(_segment(draw, number, window, {**known, **times}, events))
    return found


def _segment(
    draw: random.Random,
    number: int,
    window: int,
    values: dict[str, Any],
    events: list[ProcessEvent],
) -> Segment:
    window_ms = WINDOW_MS + window * LENGTH_MS
    cut = draw.randrange(len(events) + 1)
    parts = tuple(
        _partial(number, window_ms, known, some)
        for known, some in zip(
            shared_out(draw, values, 2), (events[:cut], events[cut:]), strict=True
        )
    )
    whole: dict[str, Any] = {**values, "process_id": process_id(number), "segment_id": window_ms}
    whole |= {"window_ms": window_ms, "sensor_id": 1 + number % 3}
    key = SegmentKey(WINDOW_MS, window_ms, 1 + number % 3, process_id(number), window_ms)
    said = tags(draw, key) if draw.random() < 0.2 else []
    whole[TAGS] = newest(said)
    for kind in EVENT_KINDS:
        mine = [event for event in events if isinstance(event, kind.struct)]
        whole[f"{kind.name}_count"] = len(mine)
        for column, (attribute, _) in zip(kind.columns, kind.fields, strict=True):
            name = "time_us" if attribute == "time" else attribute
            whole[column.name] = [getattr(event, name) for event in mine]
    return Segment((process_id(number), window_ms), whole, Prepared(whole), parts, said)


def _partial(
    number: int, window_ms: int, values: dict[str, Any], events: list[ProcessEvent]
) -> PartialSegment:
    by_kind: dict[str, list[ProcessEvent]] = {}
    for event in events:
        by_kind.setdefault(type(event).__name__.lower(), []).append(event)
    known = {"first_server_update": 1, **values}
    return PartialSegment(
        WINDOW_MS, window_ms, window_ms, 1 + number % 3, process_id(number), known, by_kind, [], []
    )


def comprehensive(tree: Checked, segments: list[Segment]) -> set[Key]:
    """The segments that a comprehensive search finds."""
    by_process: dict[str, list[Segment]] = {}
    for segment in segments:
        by_process.setdefault(segment.key[0], []).append(segment)
    positive = list(_positive(tree, True))
    return {
        segment.key
        for segment in segments
        if _holds(tree, segment, by_process[segment.key[0]])
        and (
            not positive
            or any(_answers(leaf, segment, by_process[segment.key[0]]) for leaf in positive)
        )
    }


def _holds(node: Checked, segment: Segment, process: list[Segment]) -> bool:
    match node:
        case Everything():
            return True
        case Not(child):
            return not _holds(child, segment, process)
        case And(children):
            return all(_holds(child, segment, process) for child in children)
        case Or(children):
            return any(_holds(child, segment, process) for child in children)
        case Match(tests):
            return any(_met(test, segment, process) for test in tests)


def _met(test: Test, segment: Segment, process: list[Segment]) -> bool:
    if isinstance(test, NumberTest) and test.source in COUNTS:
        return test.low <= sum(one.values[test.source] for one in process) <= test.high
    is_of_process = isinstance(test, TagTest) or is_event_source(source_of(test))
    among = process if is_of_process else [segment]
    return any(_ask(test, one) for one in among)


def _answers(leaf: Match, segment: Segment, process: list[Segment]) -> bool:
    """Whether the segment itself matches a leaf."""
    return any(
        _met(test, segment, process)
        if source_of(test) in COUNTS or isinstance(test, TagTest)
        else _ask(test, segment)
        for test in leaf.tests
    )


def _ask(test: Test, segment: Segment) -> bool:
    return compile_match(Match((test,), leaf=None))(segment.prepared)  # type: ignore[arg-type]


def _positive(node: Checked, is_positive: bool) -> Iterator[Match]:
    match node:
        case Match():
            yield from [node] if is_positive else []
        case Not(child):
            yield from _positive(child, not is_positive)
        case And(children) | Or(children):
            for child in children:
                yield from _positive(child, is_positive)


def first_of_groups(
    segments: list[Segment], column: str, order: list[tuple[str, bool]], ranks: dict[Key, int]
) -> list[Key]:
    """The first segment of each group, in the order of the segments; `ranks` is how equal ones
    of one window are distinguished."""
    ordered = sorted(segments, key=lambda one: (-one.values["window_ms"], ranks[one.key]))
    for name, descends in reversed(order):
        ordered.sort(key=lambda one, name=name: _known(one, name), reverse=descends)  # type: ignore[misc]
    firsts: dict[Any, Key] = {}
    for segment in ordered:
        firsts.setdefault(_known(segment, column), segment.key)
    return list(firsts.values())


def _known(segment: Segment, column: str) -> Any:
    assert column not in EVENT_COLUMNS
    text = column in {"hostname", "path", "process_name", "username", "process_id", "cmdline"}
    found = segment.values.get(column, "" if text else 0)
    return found.encode() if isinstance(found, str) else found
