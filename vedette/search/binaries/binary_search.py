"""Searching and reading binaries (api.md 4.3)."""

import re
import time
from dataclasses import dataclass, field
from typing import Final

from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.model.binary_fields import BINARY
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import BinaryCondition, compile_binaries, terms
from vedette.query.parse.query_params import carried_query
from vedette.search.bodies.binary import binary_body, binary_highlights, summary_body
from vedette.search.bodies.facets import facet_list
from vedette.search.bodies.process import Body
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import damaged_parts
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.binaries import (
    SORTABLE,
    binaries_of,
    count_binaries,
    frequency_of,
    search_binaries,
)
from vedette.store.read.binary_facets import Counts, count_binary_facets
from vedette.store.read.segment_search import Found, Order

BINARY_SORT_DEFAULT: Final = "server_added_timestamp desc"

_HASH_CHARS: Final = {32: "md5", 64: "sha256"}
_HEX: Final = re.compile(r"[0-9a-f]+", re.I | re.A)


@dataclass(frozen=True, slots=True)
class _Findings:
    """What the store answered."""

    found: Found = field(default_factory=lambda: Found(0, []))
    facets: Counts = field(default_factory=dict)
    hidden: int = 0
    """Results that the scope removed."""


def search(
    engine: Engine, scope: Scope, request: SearchRequest, settings: SearchSettings, now_us: int
) -> Body:
    """The answer to a binary search.

    A search that takes longer than its deadline is answered without results and with
    `incomplete_results`. Raises QueryError for a query that cannot be understood, with the
    place in it, and BadRequestError for a field that cannot be sorted by, or is no facet.
    """
    began = time.monotonic()
    tree = carried_query(request.parts, BINARY)
    where = compile_binaries(guarded_check(engine, tree, BINARY, settings, now_us))
    try:
        reach = Reach.within(settings.search_deadline_s)
        findings = _find(engine, scope, request, where, now_us, reach)
        is_incomplete = any(part.table == "binary" for part in damaged_parts(engine))
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        findings = _Findings(facets={name: [] for name in request.facets})
        is_incomplete = True
    rows = findings.found.rows
    return {
        "terms": terms(tree),
        "results": [binary_body(row) for row in rows],
        "total_results": findings.found.total,
        "highlights": binary_highlights(tree, rows),
        "facets": {name: facet_list(counts) for name, counts in findings.facets.items()},
        "start": request.start,
        "comprehensive_search": True,
        "incomplete_results": is_incomplete,
        "filtered": findings.hidden,
        "elapsed": time.monotonic() - began,
    }


def summary(engine: Engine, scope: Scope, digest: str) -> Body:
    """One binary by its MD5, or by its SHA-256, in either case of letters."""
    found = binaries_of(engine, [digest.lower()], scope) if len(digest) in _HASH_CHARS else []
    if not found:
        raise NotFoundError(f"there is no binary {digest[:64]!r}")
    return summary_body(found[0])


def frequency(engine: Engine, scope: Scope, name: str, digest: str) -> Body:
    """How common a program is, by its MD5 or SHA-256 (clients.md 2.1), given as the parameter
    `name`. A program that nobody has is counted too: 0."""
    column = _HASH_CHARS.get(len(digest)) if _HEX.fullmatch(digest) else None
    if column is None:
        raise BadRequestError(f"{name}: {digest[:80]!r} is neither an MD5 nor a SHA-256")
    found = frequency_of(engine, column, digest.lower(), scope)
    return {
        "hostCount": found.hosts,
        "globalCount": found.executions,
        "numDocs": found.processes,
    }


def sort_columns(sorts: tuple[Sort, ...]) -> Order:
    """The columns to sort by. Raises BadRequestError for a name that is none."""
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
) -> _Findings:
    """Everything that is asked of the store, within one reach."""
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
    if scope.sees_all:
        return _Findings(found, facets)
    everybodys = count_binaries(engine, where, EVERYTHING, deadline_s=reach.left_s())
    return _Findings(found, facets, everybodys - found.total)
