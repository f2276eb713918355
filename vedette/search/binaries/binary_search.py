"""Searches and reads binaries (docs/api-binaries.md)."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.binary_fields import BINARY, BINARY_LISTS
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import BinaryCondition, compile_binaries
from vedette.query.parse.query_params import carried_query
from vedette.search.document_search import (
    Findings,
    Kind,
    Results,
    Row,
    search_documents,
    sort_columns,
)
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest
from vedette.search.tagged import with_binary_tags
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import damaged_parts
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.binaries import (
    COPIED,
    SORTABLE,
    Frequency,
    binaries_of,
    count_binaries,
    frequency_of,
    search_binaries,
)
from vedette.store.read.binary_facets import count_binary_facets
from vedette.store.read.segment_search import Found

BINARY_SORT_DEFAULT: Final = "server_added_timestamp desc"


NO_MD5: Final = "0" * 32
"""Identity of a binary without an MD5. The public client requires 32 digits."""

_HASH_CHARS: Final = {32: "md5", 64: "sha256"}
_HEX: Final = re.compile(r"[0-9a-f]+", re.I | re.A)


def search(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
    *,
    copies: Callable[[], Mapping[str, int]] = dict,
) -> Results:
    """Runs a binary search. `copies` maps copy name (`copy_name`) to size in bytes, for the copies
    that the caller may download; it is called only to sort by copies.

    A search that exceeds its deadline returns no results and sets `is_incomplete`. Raises
    QueryError with the position for a query that does not parse or check, and BadRequestError for a
    field that cannot be sorted by or is not a facet.
    """
    tree = carried_query(request.parts, BINARY)
    where = compile_binaries(guarded_check(engine, tree, BINARY, settings, now_us))

    def find(reach: Reach) -> Findings:
        hides = settings.count_filtered_results
        return _find(engine, scope, request, where, now_us, reach, hides, copies)

    return search_documents(KIND, tree, request, settings, find, cancel)


def identity(row: Row) -> str:
    """Returns the MD5 in upper case, the API's name of a binary."""
    return row["md5"].upper() or NO_MD5


def copy_name(row: Row) -> str:
    """Returns the hash that names copies of a binary: its MD5, else its SHA-256."""
    return str(row["md5"] or row["sha256"])


def summary(engine: Engine, scope: Scope, digest: str) -> Row:
    """Returns one binary by its MD5 or SHA-256, in upper or lower case. Raises NotFoundError, and
    BadRequestError for a value that is not a hash."""
    hash_column("md5", digest)
    found = binaries_of(engine, [digest.lower()], scope)
    if not found:
        raise NotFoundError(f"binary {digest[:64]!r} not found")
    return with_binary_tags(engine, found)[0]


def hash_column(name: str, digest: str) -> str:
    """Returns the column for a hash, `md5` or `sha256`. Raises BadRequestError, naming the
    parameter `name`, for any other value."""
    column = _HASH_CHARS.get(len(digest)) if _HEX.fullmatch(digest) else None
    if column is None:
        raise BadRequestError(f"{name}: {digest[:80]!r} is not an MD5 or SHA-256")
    return column


def frequency(engine: Engine, scope: Scope, name: str, digest: str) -> Frequency:
    """Returns how common a program is, by its MD5 or SHA-256 (docs/clients.md#requests).
    BadRequestError names the parameter `name`. An unknown program has counts of 0."""
    return frequency_of(engine, hash_column(name, digest), digest.lower(), scope)


def _find(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    where: BinaryCondition,
    now_us: int,
    reach: Reach,
    counts_filtered: bool,
    copies: Callable[[], Mapping[str, int]],
) -> Findings:
    """Runs all store reads of a search within one reach."""
    order = _order(request)
    found = search_binaries(
        engine,
        where,
        scope,
        order,
        copied=copies() if COPIED in dict(order) else {},
        start=request.start,
        rows=request.rows,
        deadline_s=reach.left_s(),
    )
    facets = count_binary_facets(
        engine,
        where,
        scope,
        request.facets,
        now_us,
        is_rarest=request.is_rarest,
        deadline_s=reach.left_s(),
    )
    hidden = 0
    if not scope.sees_all and counts_filtered:
        everywhere = count_binaries(engine, where, EVERYTHING, deadline_s=reach.left_s())
        hidden = everywhere - found.total
    is_incomplete = any(part.table == "binary" for part in damaged_parts(engine))
    tagged = Found(found.total, with_binary_tags(engine, found.rows))
    return Findings(tagged, facets, hidden, is_incomplete)


def _order(request: SearchRequest) -> Order:
    """Returns the columns to sort by, and `COPIED`, which is not a column."""
    return [
        (COPIED, one.is_descending)
        if one.field.lower() == COPIED
        else sort_columns(KIND, (one,))[0]
        for one in request.sorts
    ]


KIND: Final = Kind(BINARY, BINARY_LISTS, identity, SORTABLE)
