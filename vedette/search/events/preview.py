"""The preview of a process: its metadata, totals, and some events of each list
(docs/api-objects.md#process-preview).

With a query, matching events come first and their matches are enclosed in markers, as in the
highlights of a search (`query/highlight.py`).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from vedette.limits import Limit
from vedette.model.columns import EventKind
from vedette.model.event import ProcessEvent
from vedette.model.fields import PROCESS
from vedette.model.ids import MERGED_SEGMENT
from vedette.model.scope import Scope
from vedette.query import Tree
from vedette.query.highlight import markers
from vedette.query.parse.query_params import carried_query
from vedette.search.processes.highlights import marked_text, patterns_by_column
from vedette.search.processes.process import LISTED_KINDS
from vedette.search.processes.process_columns import Row
from vedette.search.processes.process_lookup import process_row, with_parent
from vedette.search.query_guards import GuardSettings, guarded_check
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.event_preview import some_events

PREVIEW_EVENTS_MAX: Limit[int] = 30
"""Events of each list of a preview (docs/api-objects.md#process-preview: tens of entries, not
all)."""


Patterns = Mapping[str, Sequence[str]]
"""RE2 patterns by column."""

_MARKED: Final = (
    "process_name",
    "path",
    "cmdline",
    "parent_name",
    "username",
    "hostname",
    "group",
    "process_md5",
    "parent_md5",
)
"""Columns whose matches are marked."""


class PreviewSettings(GuardSettings, Protocol):
    """The settings that a preview reads."""

    @property
    def search_deadline_s(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Preview:
    """A process with some of its events; matches are enclosed in markers."""

    row: Row
    by_kind: Mapping[str, Sequence[ProcessEvent]]
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """Parameters of a preview."""

    process_id: str
    segment: int
    parts: tuple[tuple[str, str], ...]
    """Parts of the query for `query.parse.query_params.carried_query`."""


def preview(
    engine: Engine,
    scope: Scope,
    request: PreviewRequest,
    settings: PreviewSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> Preview:
    """Returns the preview. Raises NotFoundError, and QueryError for a query that does not parse or
    check."""
    began = time.perf_counter()
    tree = carried_query(request.parts, PROCESS)
    guarded_check(engine, tree, PROCESS, settings, now_us)
    row = process_row(engine, scope, request.process_id, request.segment)
    patterns = _patterns(tree)
    reach = Reach.within(settings.search_deadline_s, cancel=cancel)
    by_kind = {
        kind.name: [
            _marked_event(kind, event, patterns, reach)
            for event in _events(engine, scope, request, row, kind, patterns, reach)
        ]
        for kind in LISTED_KINDS
    }
    shown = dict(with_parent(engine, scope, row))
    for name in _MARKED:
        shown[name] = marked_text(shown[name], patterns.get(name, ()), reach)
    return Preview(shown, by_kind, time.perf_counter() - began)


def _patterns(tree: Tree) -> Patterns:
    return patterns_by_column(markers(tree))


def _events(
    engine: Engine,
    scope: Scope,
    request: PreviewRequest,
    row: Row,
    kind: EventKind,
    patterns: Patterns,
    reach: Reach,
) -> Iterable[ProcessEvent]:
    if not row[f"{kind.name}_count"]:
        return ()
    return some_events(
        engine,
        request.process_id,
        scope,
        kind,
        patterns,
        segment_id=None if request.segment == MERGED_SEGMENT else row["segment_id"],
        count=PREVIEW_EVENTS_MAX,
        reach=reach,
    )


def _marked_event(
    kind: EventKind, event: ProcessEvent, patterns: Patterns, reach: Reach
) -> ProcessEvent:
    """Returns the event with the matches in its texts enclosed in markers."""
    changed: dict[str, Any] = {}
    for name, column in zip((field for field, _ in kind.fields), kind.columns, strict=True):
        found = patterns.get(column.name)
        if found:
            text = getattr(event, name)
            changed[name] = marked_text(text, found, reach)
    return msgspec.structs.replace(event, **changed) if changed else event
