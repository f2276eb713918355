"""Searching and reading binaries (docs/http-api.md#binaries)."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.model.binary_fields import BINARY, BINARY_LISTS
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import BinaryCondition, Tree, compile_binaries, terms
from vedette.query.compile.document import Document
from vedette.query.highlight import markers
from vedette.query.parse.query_params import carried_query
from vedette.search.processes.highlights import Highlight, Highlights, patterns_by_column
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest, Sort
from vedette.search.tagged import with_binary_tags
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import damaged_parts
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.binaries import (
    SORTABLE,
    Frequency,
    binaries_of,
    count_binaries,
    frequency_of,
    search_binaries,
)
from vedette.store.read.binary_facets import Counts, count_binary_facets
from vedette.store.read.segment_search import Found

BINARY_SORT_DEFAULT: Final = "server_added_timestamp desc"

Row = Mapping[str, Any]
"""A binary by column name (`query/compile/binary_sql.py`)."""

NO_MD5: Final = "0" * 32
"""Identity of a binary without an MD5: the public client takes 32 digits or fails."""

_HASH_CHARS: Final = {32: "md5", 64: "sha256"}
_HEX: Final = re.compile(r"[0-9a-f]+", re.I | re.A)

_COMPLETE_ROWS: Final = Document(frozenset())
"""Rows of binaries have all their lists, so no values have to be read for highlights."""


@dataclass(frozen=True, slots=True)
class BinaryResults:
    """The answer to a binary search."""

    rows: Sequence[Row]
    """One page."""
    total: int
    start: int
    """Number of the first row of the page."""
    terms: Sequence[str]
    highlights: Sequence[Highlight]
    facets: Counts
    filtered: int
    """Results outside the caller's scope; 0 unless `count_filtered_results` is set."""
    is_incomplete: bool
    """Whether the deadline passed; then there are no results."""
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class _Findings:
    """What the store answered."""

    found: Found = field(default_factory=lambda: Found(0, []))
    facets: Counts = field(default_factory=dict)
    hidden: int = 0
    """Results outside the caller's scope."""


def search(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> BinaryResults:
    """The answer to a binary search.

    A search that takes longer than its deadline has no results and `is_incomplete`. Raises
    QueryError for a query that cannot be understood, with the position, and BadRequestError for
    a field that cannot be sorted by, or is not a facet.
    """
    began = time.monotonic()
    tree = carried_query(request.parts, BINARY)
    where = compile_binaries(guarded_check(engine, tree, BINARY, settings, now_us))
    try:
        reach = Reach.within(settings.search_deadline_s)
        findings = _find(
            engine, scope, request, where, now_us, reach, settings.count_filtered_results
        )
        is_incomplete = any(part.table == "binary" for part in damaged_parts(engine))
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        findings = _Findings(facets={name: [] for name in request.facets})
        is_incomplete = True
    rows = with_binary_tags(engine, findings.found.rows)
    left_s = began + settings.search_deadline_s - time.monotonic()
    return BinaryResults(
        rows=rows,
        total=findings.found.total,
        start=request.start,
        terms=terms(tree),
        highlights=_highlights(tree, rows, Reach.within(left_s, cancel=cancel)),
        facets=findings.facets,
        filtered=findings.hidden,
        is_incomplete=is_incomplete,
        elapsed_s=time.monotonic() - began,
    )


def identity(row: Row) -> str:
    """MD5 in upper case, by which the API names a binary."""
    return row["md5"].upper() or NO_MD5


def copy_name(row: Row) -> str:
    """The hash by which copies of a binary are asked for: its MD5, else its SHA-256."""
    return str(row["md5"] or row["sha256"])


def _highlights(tree: Tree, rows: Sequence[Row], reach: Reach) -> list[Highlight]:
    """The highlights of a page of binaries (docs/query-language.md#one-segment-at-a-time)."""
    by_column = patterns_by_column(markers(tree, BINARY, document=_COMPLETE_ROWS)) if rows else {}
    if not by_column:
        return []
    found = Highlights(by_column, reach)
    for row in rows:
        for column in by_column:
            for value in row[column] if column in BINARY_LISTS else [row[column]]:
                found.add(column, value, identity(row))
    return found.entries()


def summary(engine: Engine, scope: Scope, digest: str) -> Row:
    """One binary by its MD5 or SHA-256, in upper or lower case. Raises NotFoundError, and
    BadRequestError for what is no hash."""
    hash_column("md5", digest)
    found = binaries_of(engine, [digest.lower()], scope)
    if not found:
        raise NotFoundError(f"there is no binary {digest[:64]!r}")
    return with_binary_tags(engine, found)[0]


def hash_column(name: str, digest: str) -> str:
    """Which column holds such a hash: `md5` or `sha256`. Raises BadRequestError, which names the
    parameter, for what is neither."""
    column = _HASH_CHARS.get(len(digest)) if _HEX.fullmatch(digest) else None
    if column is None:
        raise BadRequestError(f"{name}: {digest[:80]!r} is neither an MD5 nor a SHA-256")
    return column


def frequency(engine: Engine, scope: Scope, name: str, digest: str) -> Frequency:
    """How common a program is, by its MD5 or SHA-256 (docs/clients.md#requests). `name` is the
    parameter that BadRequestError names. An unknown program has counts of 0."""
    return frequency_of(engine, hash_column(name, digest), digest.lower(), scope)


def sort_columns(sorts: tuple[Sort, ...]) -> Order:
    """The columns to sort by. Raises BadRequestError for a field that cannot be sorted by."""
    return [(_sort_column(sort.field), sort.is_descending) for sort in sorts]


def _sort_column(name: str) -> str:
    known = BINARY.find(name)
    column = known.sources[0] if known is not None and known.sources else ""
    if column not in SORTABLE:
        raise BadRequestError(f"sort: results cannot be sorted by {name[:60]!r}")
    return column


def _find(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    where: BinaryCondition,
    now_us: int,
    reach: Reach,
    counts_filtered: bool,
) -> _Findings:
    """All store reads of a search, within one reach."""
    found = search_binaries(
        engine,
        where,
        scope,
        sort_columns(request.sorts),
        start=request.start,
        rows=request.rows,
        deadline_s=reach.left_s(),
    )
    facets = count_binary_facets(
        engine, where, scope, request.facets, now_us, deadline_s=reach.left_s()
    )
    if scope.sees_all or not counts_filtered:
        return _Findings(found, facets)
    all_hosts = count_binaries(engine, where, EVERYTHING, deadline_s=reach.left_s())
    return _Findings(found, facets, all_hosts - found.total)
