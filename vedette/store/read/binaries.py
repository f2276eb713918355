"""Reads binaries: observations of all sensors of a scope, aggregated by hash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vedette.errors import BadRequestError
from vedette.limits import ROWS_DEFAULT, Limit
from vedette.model.binary_fields import BINARY_LISTS
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import BINARY_COLUMNS, IN_SCOPE, seen_in_sql
from vedette.query.compile.condition import SETTINGS, BinaryCondition, Condition
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.segments_sql import keys_of
from vedette.store.engine.client import Engine
from vedette.store.plan.plan import Order
from vedette.store.read.binary_rows import binary_rows
from vedette.store.read.process_events import BY_KEY
from vedette.store.read.segment_search import Found, count_segments
from vedette.store.sql.column_lists import quoted
from vedette.store.sql.scope_filter import ALL, scope_params, scoped

BINARY_SEARCH_HASHES_MAX: Limit[int] = 20_000
"""Hashes that a binary search passes from the rows that match a test to their files: 640 kB. More
are looked up within one statement, which looks for them twice."""

BINARY_CLAIMS_MAX: Limit[int] = 10
"""Maximum number of distinct SHA-256 values shown for one MD5."""


SORTABLE = frozenset(BINARY_COLUMNS) - BINARY_LISTS
"""Columns by which binaries can be ordered."""

COPIED = "copied_mod_len"
"""Sort key for the bytes of copies, which are in the state database, not in the store."""

_COPIED_SQL = (
    "transform(if(md5 = '', sha256, md5), {copied_names:Array(String)}, "
    "{copied_sizes:Array(UInt64)}, toUInt64(0))"
)


def search_binaries(
    engine: Engine,
    where: BinaryCondition,
    scope: Scope,
    order: Order,
    *,
    start: int = 0,
    rows: int = ROWS_DEFAULT,
    deadline_s: float | None = None,
    copied: Mapping[str, int] = MappingProxyType({}),
) -> Found:
    """Returns the binaries of the scope that a condition selects: an exact total, and `rows` of
    them from `start` on, as mappings of `BINARY_COLUMNS` (times in epoch microseconds). `copied`
    maps MD5, else SHA-256, to the bytes of copies, for an order by `COPIED`.

    Raises BadRequestError for a column that cannot be ordered by, UnavailableError (`reason`
    "deadline") when it takes longer than `deadline_s`.
    """
    ordering = _ordering(order)
    if not rows:
        return Found(count_binaries(engine, where, scope, deadline_s=deadline_s), [])
    params = {**where.params, **scope_params(scope)}
    which, few = "", _few(engine, where, params, deadline_s)
    if few is not None:
        which, params["few"] = "hash IN {few:Array(String)}", few
    columns = [column for column, _ in order if column != COPIED]
    if len(columns) < len(order):
        columns += ["md5", "sha256"]
        # An array needs an element for its type.
        known = {"": 0, **copied}
        params |= {"copied_names": list(known), "copied_sizes": list(known.values())}
    page = engine.query_page(
        f"SELECT hash FROM ({where.matching(columns, which)}) "
        f"ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}",
        params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    )
    hashes = [row[0] for row in page.rows]
    found = {row["hash"]: row for row in binary_rows(engine, hashes, scope)}
    return Found(page.total, [found[digest] for digest in hashes if digest in found])


def _few(
    engine: Engine, where: BinaryCondition, params: Mapping[str, Any], deadline_s: float | None
) -> list[str] | None:
    """Returns the hashes that pass the prefilters, if they are few. As a separate query they are
    found once; within the statement, once for sightings and once for readings."""
    if not where.rows:
        return None
    first, *others = where.rows
    found = engine.query(
        f"SELECT DISTINCT hash FROM ({first}) WHERE {seen_in_sql(others)} "
        f"LIMIT {BINARY_SEARCH_HASHES_MAX + 1:d}",
        params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    ).rows
    return [row[0] for row in found] if len(found) <= BINARY_SEARCH_HASHES_MAX else None


def count_binaries(
    engine: Engine, where: BinaryCondition, scope: Scope, *, deadline_s: float | None = None
) -> int:
    """Returns the exact number of binaries of the scope that a condition selects."""
    found = engine.query(
        f"SELECT count() FROM ({where.matching(('md5',))})",
        {**where.params, **scope_params(scope)},
        settings=SETTINGS,
        deadline_s=deadline_s,
    )
    total: int = found.rows[0][0]
    return total


def estimate_binaries(engine: Engine) -> int:
    """Returns the approximate number of all binaries: the upper bound of a join."""
    found: int = engine.query("SELECT uniq(hash) FROM binary").rows[0][0]
    return found


def binaries_of(engine: Engine, hashes: Sequence[str], scope: Scope) -> list[dict[str, Any]]:
    """Returns binaries of the scope by MD5 or SHA-256 (lower case), in hash order; rows like those
    of `search_binaries`."""
    digests = "{hashes:Array(String)}"
    which = f"md5 IN {digests} OR sha256 IN {digests}"
    known = engine.query(
        f"SELECT DISTINCT hash FROM binary WHERE {which} UNION DISTINCT "
        f"SELECT hash FROM binary_reading WHERE is_added AND ({which})",
        {"hashes": list(hashes)},
    ).rows
    return binary_rows(engine, [row[0] for row in known], scope) if known else []


def claimed_sha256(engine: Engine, md5: str, scope: Scope) -> list[str]:
    """Returns the SHA-256 values that sensors of the scope report for the file with this MD5,
    sorted; more than one if they contradict each other. At most `BINARY_CLAIMS_MAX`."""
    found = engine.query(
        f"SELECT arraySort(groupUniqArray({BINARY_CLAIMS_MAX:d})(sha256)) FROM binary "
        f"WHERE md5 = {{md5:String}} AND sha256 != '' AND {IN_SCOPE}",
        {"md5": md5, **scope_params(scope)},
    )
    claims: list[str] = list(found.rows[0][0])
    return claims


def signatures_of(
    engine: Engine, md5s: Sequence[str], sha256s: Sequence[str], scope: Scope
) -> dict[str, tuple[str, str]]:
    """Maps hash (lower case) to (signature check result, publisher), as sensors of the scope
    reported them; "" for values that none reported."""
    if not (md5s or sha256s):
        return {}
    # The key of a file is its MD5 if present; only other files are looked up by SHA-256.
    which = ["hash IN {md5s:Array(String)}"] if md5s else []
    which += ["sha256 IN {sha256s:Array(String)}"] if sha256s else []
    found = engine.query(
        "SELECT max(md5), max(sha256), max(digsig_result), max(digsig_publisher) FROM binary "
        f"WHERE {IN_SCOPE} AND ({' OR '.join(which)}) GROUP BY hash",
        {"md5s": list(md5s), "sha256s": list(sha256s), **scope_params(scope)},
        settings=None if sha256s else BY_KEY,
    )
    return {
        digest: (result, publisher)
        for *digests, result, publisher in found.rows
        for digest in digests
        if digest
    }


@dataclass(frozen=True, slots=True)
class Standing:
    """Short summary of the reports about a program by hosts of a scope."""

    signature: str
    """Result of the signature check, "" if none reported it."""
    publisher: str
    hosts: int
    """Number of hosts that reported the file."""


def standings_of(engine: Engine, md5s: Sequence[str], scope: Scope) -> dict[str, Standing]:
    """Maps MD5 (lower case) to its summary, without programs that no host of the scope reported."""
    if not md5s:
        return {}
    found = engine.query(
        "SELECT hash, max(digsig_result), max(digsig_publisher), uniqExact(sensor_id) "
        f"FROM binary WHERE {IN_SCOPE} AND hash IN {{md5s:Array(String)}} GROUP BY hash",
        {"md5s": list(md5s), **scope_params(scope)},
        settings=BY_KEY,
    )
    return {digest: Standing(*rest) for digest, *rest in found.rows}


@dataclass(frozen=True, slots=True)
class Spread:
    """Location and number of hosts of a program within a scope."""

    path: str
    """The first path in sorted order, "" for none."""
    hosts: int


def spreads_of(engine: Engine, md5s: Sequence[str], scope: Scope) -> dict[str, Spread]:
    """Maps MD5 (lower case) to its spread, without programs that no host of the scope reported."""
    if not md5s:
        return {}
    found = engine.query(
        "SELECT hash, minIf(arraySort(observed_filename)[1], notEmpty(observed_filename)), "
        "uniqExact(sensor_id) "
        f"FROM binary WHERE {IN_SCOPE} AND hash IN {{md5s:Array(String)}} GROUP BY hash",
        {"md5s": list(md5s), **scope_params(scope)},
        settings=BY_KEY,
    )
    return {digest: Spread(path, hosts) for digest, path, hosts in found.rows}


@dataclass(frozen=True, slots=True)
class Frequency:
    """Prevalence of a program within a scope."""

    hosts: int
    """Number of hosts that reported the file."""
    executions: int
    """Number of processes that ran it."""
    segments: int
    """Number of all segments."""


def column_of(digest: str) -> str:
    """Returns the hash column, `md5` or `sha256`, by the length of the digest."""
    return "md5" if len(digest) == 32 else "sha256"


def frequency_of(engine: Engine, column: str, digest: str, scope: Scope) -> Frequency:
    """Returns the prevalence of the program with this `md5` or `sha256` (`column`), lower case."""
    if column not in ("md5", "sha256"):
        raise BadRequestError(f"cannot count by {column[:40]!r}")
    digests = {"digest": digest}
    same = scoped(Condition(f"`{column}` = {{digest:String}}", digests), scope)
    hosts = engine.query(
        f"SELECT uniqExact(sensor_id) FROM binary WHERE {same.sql}", same.params
    ).rows[0][0]
    same_image = f"`process_{column}` = {{digest:String}}"
    ran = scoped(Condition(same_image, digests, before=keys_of(SEGMENT, [same_image])), scope)
    executions = engine.query(
        f"SELECT uniqExact(sensor_id, process_id) FROM segment FINAL {ran.clause}",
        ran.params,
        settings=SETTINGS,
    ).rows[0][0]
    return Frequency(hosts, executions, count_segments(engine, ALL, scope))


def _ordering(order: Order) -> str:
    terms = []
    for column, descends in order:
        if column not in SORTABLE and column != COPIED:
            raise BadRequestError(f"cannot sort results by {column!r}")
        expression = _COPIED_SQL if column == COPIED else quoted(column)
        terms.append(f"{expression} {'DESC' if descends else 'ASC'}")
    # The hash keeps equal binaries in the same order on all pages.
    return ", ".join([*terms, "hash"])
