"""The answers to process and binary searches (docs/api-objects.md#search-answer; every member of
docs/clients.md#search-and-facets)."""

from collections.abc import Iterable

from vedette.api.schemas.search.binary import Copied, binary_body
from vedette.api.schemas.search.facets import facet_list, process_facets
from vedette.api.schemas.search.process import Body, process_body
from vedette.search.binaries.binary_search import BinaryResults
from vedette.search.processes.highlights import Highlight
from vedette.search.processes.process_search import SearchResults


def process_results_body(found: SearchResults) -> Body:
    """The answer to a process search. Nothing is tagged to an investigation yet."""
    return {
        "terms": list(found.terms),
        "results": [process_body(row) for row in found.rows],
        "elapsed": found.elapsed_s,
        "comprehensive_search": found.is_comprehensive,
        "all_segments": found.is_everywhere,
        "total_results": found.total,
        "highlights": _highlights(found.highlights),
        "facets": process_facets(found.facets),
        "tagged_pids": {},
        "start": found.start,
        "incomplete_results": found.is_incomplete,
        "filtered": found.filtered,
    }


def binary_results_body(found: BinaryResults, copied: Copied) -> Body:
    """The answer to a binary search."""
    return {
        "terms": list(found.terms),
        "results": [binary_body(row, copied) for row in found.rows],
        "total_results": found.total,
        "highlights": _highlights(found.highlights),
        "facets": {name: facet_list(counts) for name, counts in found.facets.items()},
        "start": found.start,
        "comprehensive_search": True,
        "incomplete_results": found.is_incomplete,
        "filtered": found.filtered,
        "elapsed": found.elapsed_s,
    }


def _highlights(found: Iterable[Highlight]) -> list[Body]:
    return [{"name": one.text, "ids": list(one.ids)} for one in found]
