"""Looking into the indexes before a search: which segments need to be read at all.

A condition tells what some partial row of every answer must show (`Condition.narrowings`).
Counting those rows costs a look into an index each, a few milliseconds, and decides how the
search itself is made:

    none        nothing is found, nothing is read
    a few       their keys are read, and the search reads their granules alone, by primary key
    some        the search asks for them in a subquery, wherever it looks for events
    very many   everything is read: a set of them would cost more than it saves

What comes in between the look and the search is no part of the answer, as if the search had
begun a moment earlier.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.segments_sql import keys_of
from vedette.query.compile.suffix_index import NO_ENDS
from vedette.store.engine.client import Engine, Params
from vedette.store.partitions.lifecycle import closed_partitions
from vedette.store.plan.scope_filter import PLACE, scope_params
from vedette.store.plan.search_bounds import Reach
from vedette.store.schema.index_build import indexed_ends

PLACES_MAX: Final = 5_000
"""Segments, or windows of processes, whose keys are bound as values."""

ROWS_MAX: Final = 200_000
"""Partial rows that are worth a set."""

_PLACES_ENOUGH: Final = 50
_LOOKS_MAX: Final = 2
"""Indexes of one narrowing that are asked again for fewer places."""

_OF_TEXT_INDEXES: Final = ("Tokens(", "toString(")
"""What conditions that words or end tokens decide have in their text."""

NOWHERE: Final = Condition("0")
"""No segment."""

Narrowing = Sequence[str]
"""One of `Condition.narrowings`."""

_BOUND: Final = "narrow_places"
_PLACES: Final = f"({PLACE}) IN {{{_BOUND}:Array(Tuple(UInt64, UInt32, UInt64))}}"
_LIVES: Final = (
    f"(window_ms, sensor_id, process_id) IN {{{_BOUND}:Array(Tuple(UInt64, UInt32, String))}}"
)


def narrowed(engine: Engine, where: Condition, scope: Scope, reach: Reach) -> Condition | None:
    """A condition with the same answers in a scope that reads less, where the indexes know of a
    way; None when there are no answers. In another scope it may miss some: what binaries are
    depends on who saw them.

    Raises UnavailableError (`deadline`) when it takes longer than `reach` allows.
    """
    where = _with_ends(engine, where)
    if not where.narrowings:
        return where
    params = {**where.params, **scope_params(scope)}
    counts = _counts(engine, where.narrowings, params, reach)
    least = min(counts)
    if not least:
        return None
    ranked = [where.narrowings[n] for n in sorted(range(len(counts)), key=counts.__getitem__)]
    if least <= PLACES_MAX:
        return _at_places(engine, where, ranked, params, reach)
    if least <= ROWS_MAX and len(counts) > 1 and not where.of_processes and _is_cheap(ranked[0]):
        return where.within_rows(f"({PLACE}) IN ({_rows(PLACE, ranked[0])})")
    return where


def gathering(engine: Engine, where: Condition, scope: Scope, reach: Reach) -> Condition | None:
    """A condition with the same answers that finds the rows of its few segments itself; None when
    it cannot, or others are cheaper; `NOWHERE` when nothing answers.

    Where all is written to and lies in parts that overlap, this needs no look before. In closed
    partitions merging is cheap, so there the answers have to be few.
    """
    where = _with_ends(engine, where)
    if where.sql == NOWHERE.sql:
        return NOWHERE
    if where.merged is None or where.looks > _LOOKS_MAX:
        return None
    if not where.found and len(where.narrowings) != 1:
        return None
    if where.narrowings and closed_partitions(engine):
        params = {**where.params, **scope_params(scope)}
        (count,) = _counts(engine, where.narrowings[:1], params, reach)
        if not 0 < count <= PLACES_MAX:
            return None if count else NOWHERE
    if where.found:
        asks_rows = where.merged or where.keys
        return replace(where, sql=where.sql if asks_rows else "1", before=where.found)
    keys = keys_of(SEGMENT, where.narrowings[0])
    return replace(where.within_rows(keys), before=keys)


def _with_ends(engine: Engine, where: Condition) -> Condition:
    """The condition as the indexes of end tokens in the store let it be asked."""
    if where.with_ends is None:
        return where
    ends = indexed_ends(engine)
    return where if ends == NO_ENDS else where.with_ends(ends)


def _is_cheap(narrowing: Narrowing) -> bool:
    """Whether one look into text indexes finds its rows. Any other set is dearer than the tests of
    events that it saves."""
    return len(narrowing) == 1 and any(one in narrowing[0] for one in _OF_TEXT_INDEXES)


def _at_places(
    engine: Engine,
    where: Condition,
    ranked: Sequence[Narrowing],
    params: Params,
    reach: Reach,
) -> Condition | None:
    """The condition at the places that have rows of the first narrowing, and of the others as
    long as that promises to be less work than the search itself."""
    keys = _LIVES if where.of_processes else _PLACES
    found = reach.ask(engine, _places(where, ranked[0]), params).rows
    if len(found) > PLACES_MAX:
        return where
    for narrowing in ranked[1:]:
        if len(found) <= _PLACES_ENOUGH or len(narrowing) > _LOOKS_MAX:
            break
        name = "process_id" if where.of_processes else PLACE
        also = reach.ask(
            engine,
            f"SELECT DISTINCT * FROM ({_rows(name, narrowing, keys)})",
            {**params, _BOUND: list(found)},
        ).rows
        known = set(also)
        found = [one for one in found if (one[2:] if where.of_processes else one) in known]
    return where.within(keys, {_BOUND: list(found)}) if found else None


def _counts(
    engine: Engine, narrowings: Sequence[Narrowing], params: Params, reach: Reach
) -> list[int]:
    """Partial rows of the narrowings, until one has so few that no other matters."""
    counts: list[int] = []
    for narrowing in narrowings:
        counts.append(reach.ask(engine, _counting(narrowing), params).rows[0][0])
        if counts[-1] <= _PLACES_ENOUGH:
            break
    return counts


def _counting(narrowing: Narrowing) -> str:
    counts = [f"SELECT count() AS found FROM segment WHERE {one}" for one in narrowing]
    return counts[0] if len(counts) == 1 else f"SELECT sum(found) FROM ({_all(counts)})"


def _places(where: Condition, narrowing: Narrowing) -> str:
    """The keys of the segments that have such rows; or where their processes have segments."""
    if where.of_processes:
        # The guide lies where the segments of its processes do, on a cluster too.
        return (
            "SELECT DISTINCT arrayJoin(windows), sensor_id, process_id FROM process "
            f"WHERE process_id IN ({_rows('process_id', narrowing)}) LIMIT {PLACES_MAX + 1:d}"
        )
    return f"SELECT DISTINCT * FROM ({_rows(PLACE, narrowing)}) LIMIT {PLACES_MAX + 1:d}"


def _rows(selected: str, narrowing: Narrowing, among: str = "1") -> str:
    return _all(f"SELECT {selected} FROM segment WHERE {among} AND {one}" for one in narrowing)


def _all(selects: Iterable[str]) -> str:
    return " UNION ALL ".join(selects)
