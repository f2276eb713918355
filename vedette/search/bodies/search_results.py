"""The bodies around results: what a search answers, and the list of a process's segments."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vedette.model.ids import unique_id
from vedette.search.bodies.process import COUNTED, Body
from vedette.search.bodies.wire_values import instant
from vedette.store.read.process import SegmentSummary


def search_body(
    results: Sequence[Body],
    *,
    total: int,
    start: int,
    elapsed_s: float,
    terms: Sequence[str],
    filtered: int,
    is_comprehensive: bool,
    is_incomplete: bool,
    is_everywhere: bool = True,
    highlights: Sequence[Body] = (),
    facets: Mapping[str, Sequence[Body]] | None = None,
) -> Body:
    """The answer to a process search (api.md 2.2; every member of clients.md 4.5).

    `is_everywhere` says that no time partition was left out. Nothing is tagged to an
    investigation yet.
    """
    return {
        "terms": list(terms),
        "results": list(results),
        "elapsed": elapsed_s,
        "comprehensive_search": is_comprehensive,
        "all_segments": is_everywhere,
        "total_results": total,
        "highlights": list(highlights),
        "facets": {name: list(values) for name, values in (facets or {}).items()},
        "tagged_pids": {},
        "start": start,
        "incomplete_results": is_incomplete,
        "filtered": filtered,
    }


def segments_body(process_id: str, segments: Iterable[SegmentSummary], elapsed_s: float) -> Body:
    """The segments of one process (api.md 2.5), in the order given."""
    items = [_segment_item(process_id, segment) for segment in segments]
    return {"process": {"segments": items}, "elapsed": elapsed_s}


def _segment_item(process_id: str, segment: SegmentSummary) -> dict[str, Any]:
    return {
        "unique_id": unique_id(process_id, segment.segment_id),
        "segment_id": segment.segment_id,
        "last_update": instant(segment.last_update),
        "last_server_update": instant(segment.last_server_update),
        "event_counts": {kind: segment.counts[kind] for kind in COUNTED},
    }
