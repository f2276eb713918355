"""Formats search responses (docs/api-objects.md#search-answer; members in
docs/clients.md#search-and-facets)."""

from collections.abc import Iterable, Sequence

from vedette.search.document_search import Results
from vedette.search.processes.highlights import Highlight
from vedette.search.processes.histogram import Histogram
from vedette.search.processes.process_search import SearchResults
from vedette.web.json.wire_values import elapsed, instant, known_instant
from vedette.web.processes.facets_json import facet_list, process_facets, value_name
from vedette.web.processes.models import Body, process_body


def process_results_body(found: SearchResults) -> Body:
    """Returns the response of a process search. `tagged_pids` is always empty."""
    return {
        "terms": list(found.terms),
        "results": [process_body(row) for row in found.rows],
        "elapsed": elapsed(found.elapsed_s),
        "comprehensive_search": found.is_comprehensive,
        "all_segments": found.is_everywhere,
        "total_results": found.total,
        "highlights": _highlights(found.highlights),
        "facets": process_facets(found.facets),
        "tagged_pids": {},
        "start": found.start,
        "incomplete_results": found.is_incomplete,
        "read": {
            "partitions": found.read.whole,
            "of_partitions": found.read.of,
            "since": known_instant(found.read.since_ms * 1_000),
            "unmounted_partitions": found.read.unmounted,
            "damaged_parts": found.read.damaged_parts,
        },
        "filtered": found.filtered,
    }


def histogram_body(found: Histogram) -> Body:
    """Returns results over time, without empty intervals. With a facet, each interval has counts in
    the order of `values`."""
    body: Body = {
        "field": found.field,
        "interval": found.width_us // 1_000_000,
        "since": known_instant(found.since_us),
        "until": known_instant(found.until_us),
        "buckets": [
            {"time": instant(step * found.width_us), "count": count} for step, count in found.counts
        ],
    }
    if not found.by:
        return body
    stacked, nothing = dict(found.stacked), [0] * len(found.values)
    for bucket, (step, _) in zip(body["buckets"], found.counts, strict=True):
        bucket["values"] = list(stacked.get(step, nothing))
    return body | {
        "by": found.by,
        "values": [value_name(found.by, value) for value in found.values],
    }


def document_results_body(found: Results, results: Sequence[Body]) -> Body:
    """Returns the response of a search for documents that are stored in a single row each."""
    return {
        "terms": list(found.terms),
        "results": list(results),
        "elapsed": elapsed(found.elapsed_s),
        "comprehensive_search": True,
        "total_results": found.total,
        "highlights": _highlights(found.highlights),
        "facets": {name: facet_list(counts) for name, counts in found.facets.items()},
        "start": found.start,
        "incomplete_results": found.is_incomplete,
        "filtered": found.filtered,
    }


def _highlights(found: Iterable[Highlight]) -> list[Body]:
    return [{"name": one.text, "ids": list(one.ids)} for one in found]
