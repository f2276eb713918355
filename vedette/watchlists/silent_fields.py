"""Fields of a watchlist's query that no stored document has, because no sensor sends them."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from vedette.errors import UnavailableError, VedetteError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.query import SETTINGS, Tree, check, compile_segments
from vedette.query.nodes import And, Leaf, Or, Text
from vedette.query.typed import NumberTest, TimeTest
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.scope_filter import ALL, scoped
from vedette.watchlists.watch_query import CATALOGUES, EVENTS, stored_query, tests_of

WATCHLIST_FIELDS_ASKED: Limit[int] = 60
"""Fields of all watchlists in a list that are checked: each check is a read, of a whole column if
no document has the field."""


def silent_fields(
    engine: Engine, scope: Scope, queries: Mapping[int, str], now_us: int, reach: Reach
) -> dict[int, tuple[str, ...]]:
    """Maps watchlist to the fields of its query over processes that no stored segment of the scope
    has. Fields that are not checked before the deadline count as seen."""
    asked = {number: _fields(query, now_us) for number, query in queries.items()}
    names = sorted({name for fields in asked.values() for name in fields})
    silent: set[str] = set()
    try:
        if names and _has_any(engine, scope, reach):
            for name in islice(names, WATCHLIST_FIELDS_ASKED):
                if not _is_seen(engine, scope, name, now_us, reach):
                    silent.add(name)
    except UnavailableError:
        pass
    found = {number: tuple(sorted(fields & silent)) for number, fields in asked.items()}
    return {number: fields for number, fields in found.items() if fields}


def _has_any(engine: Engine, scope: Scope, reach: Reach) -> bool:
    """Whether the scope has any segment; without one, every field would be missing."""
    where = scoped(ALL, scope)
    return _has_row(engine, "segment", where.clause, where.params, reach)


def _fields(search_query: str, now_us: int) -> set[str]:
    """Returns the fields that matching documents must have; ignores negated parts."""
    try:
        return set(_asked(stored_query(search_query, EVENTS, now_us).tree))
    except VedetteError:
        return set()  # the list shows the error of the query


def _asked(tree: Tree) -> Iterator[str]:
    match tree:
        case Leaf(field=str() as name):
            known = CATALOGUES[EVENTS].find(name)
            if known is not None and known.kind == "column":
                yield known.name
        case And(children) | Or(children):
            for child in children:
                yield from _asked(child)
        case _:
            return


def _is_seen(engine: Engine, scope: Scope, name: str, now_us: int, reach: Reach) -> bool:
    try:
        checked = check(Leaf(name, Text("*"), 0, 1), CATALOGUES[EVENTS], now_us=now_us)
    except VedetteError:
        return True
    where = scoped(compile_segments(checked, prefix="seen_"), scope)
    if where.apart is None and any(
        isinstance(one, NumberTest | TimeTest) for one in tests_of(checked)
    ):
        return True  # every segment has one
    # Of metadata, a partial row may have what a better claim has not: the merged rows decide.
    tables = ("segment",) if where.apart else ("segment", "segment FINAL")
    clauses = [f"WHERE {one}" for one in where.apart.rows] if where.apart else [where.clause]
    return all(
        any(_has_row(engine, table, clause, where.params, reach) for clause in clauses)
        for table in tables
    )


def _has_row(
    engine: Engine, table: str, clause: str, params: Mapping[str, Any], reach: Reach
) -> bool:
    answer = engine.query(
        f"SELECT 1 FROM {table} {clause} LIMIT 1",
        params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    )
    return bool(answer.rows)
