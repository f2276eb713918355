"""Shared part of the searches of alerts, binaries and threat reports, whose documents are single
rows. (Processes have segments, fallbacks and event values: `processes/process_search.py`.)"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.errors import BadRequestError, UnavailableError
from vedette.model.field import Catalogue
from vedette.query import Tree, terms
from vedette.query.compile.document import Document
from vedette.query.highlight import markers
from vedette.search.processes.highlights import Highlight, Highlights, patterns_by_column
from vedette.search.processes.process_search import SearchSettings
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.cancel import CancelToken
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_search import Found

Row = dict[str, Any]
"""Maps column name to value."""

Counts = dict[str, list[tuple[str, int]]]
"""Facets: maps field to (value, number of documents)."""

_COMPLETE_ROWS: Final = Document(frozenset())
"""Each row already has all its lists, so highlights need no further reads."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document."""

    catalogue: Catalogue
    lists: Collection[str]
    """Columns with several values."""
    identity: Callable[[Row], str]
    """Returns the API's name of a document."""
    sortable: Collection[str]


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of the store reads of one search."""

    found: Found = field(default_factory=lambda: Found(0, []))
    facets: Counts = field(default_factory=dict)
    hidden: int = 0
    """Number of results outside the caller's scope."""
    is_incomplete: bool = False
    """Whether a part of the store cannot be read."""


@dataclass(frozen=True, slots=True)
class Results:
    """The result of a search."""

    rows: Sequence[Row]
    """One page of documents."""
    total: int
    start: int
    """Index of the page's first row in all results."""
    terms: Sequence[str]
    highlights: Sequence[Highlight]
    facets: Counts
    filtered: int
    """Number of results outside the caller's scope; 0 unless `count_filtered_results` is set."""
    is_incomplete: bool
    """Whether the deadline passed (then there are no results) or a part of the store cannot be
    read."""
    elapsed_s: float


def search_documents(
    kind: Kind,
    tree: Tree,
    request: SearchRequest,
    settings: SearchSettings,
    find: Callable[[Reach], Findings],
    cancel: CancelToken | None = None,
) -> Results:
    """Runs a search; `find` does its store reads within a reach. A search that exceeds its deadline
    returns no results and sets `is_incomplete`."""
    began = time.monotonic()
    try:
        findings = find(Reach.within(settings.search_deadline_s))
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        findings = Findings(facets={name: [] for name in request.facets}, is_incomplete=True)
    rows = findings.found.rows
    left_s = began + settings.search_deadline_s - time.monotonic()
    return Results(
        rows=rows,
        total=findings.found.total,
        start=request.start,
        terms=terms(tree),
        highlights=_highlights(kind, tree, rows, Reach.within(left_s, cancel=cancel)),
        facets=findings.facets,
        filtered=findings.hidden,
        is_incomplete=findings.is_incomplete,
        elapsed_s=time.monotonic() - began,
    )


def sort_columns(kind: Kind, sorts: Sequence[Sort]) -> Order:
    """Returns the columns to sort by. Raises BadRequestError for a field that cannot be sorted
    by."""
    return [(_sort_column(kind, sort.field), sort.is_descending) for sort in sorts]


def _sort_column(kind: Kind, name: str) -> str:
    known = kind.catalogue.find(name)
    column = known.sources[0] if known is not None and known.sources else ""
    if column not in kind.sortable:
        raise BadRequestError(f"sort: cannot sort results by {name[:60]!r}")
    return column


def _highlights(kind: Kind, tree: Tree, rows: Sequence[Row], reach: Reach) -> list[Highlight]:
    """Returns the highlights of a page (docs/query-evaluation.md#one-segment-at-a-time)."""
    if not rows:
        return []
    by_column = patterns_by_column(markers(tree, kind.catalogue, document=_COMPLETE_ROWS))
    if not by_column:
        return []
    found = Highlights(by_column, reach)
    for row in rows:
        for column in by_column:
            value = row.get(column, "")
            for text in value if column in kind.lists else (value,):
                found.add(column, text, kind.identity(row))
    return found.entries()
