"""Lookups in the indexes before a search: how many partial rows each narrowing of a condition has,
and in which places.

What the counts mean for the search is decided in `choose.py`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette import limits
from vedette.limits import PREFILTER_CONDITIONS_MAX, PREFILTER_PLACES_ENOUGH
from vedette.query.compile.condition import Condition, Narrowing
from vedette.store.engine.client import Engine, Params
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.scope_filter import PLACE

_BOUND: Final = "narrow_places"
_PLACES: Final = f"({PLACE}) IN {{{_BOUND}:Array(Tuple(UInt64, UInt32, UInt64))}}"
_PROCESS_WINDOWS: Final = (
    f"(window_ms, sensor_id, process_id) IN {{{_BOUND}:Array(Tuple(UInt64, UInt32, String))}}"
)


@dataclass(frozen=True, slots=True)
class FoundPlaces:
    """Keys of segments, or of processes' windows where other segments of a process count."""

    keys: str
    places: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.places)

    def condition(self, where: Condition) -> Condition:
        """The condition, reading these places only."""
        return where.within(self.keys, {_BOUND: self.places})


def find_places(
    engine: Engine,
    where: Condition,
    ranked: Sequence[Narrowing],
    params: Params,
    reach: Reach,
) -> FoundPlaces | None:
    """The places that have rows of the first narrowing, and of the others as long as looking them
    up promises less work than the search itself; None when they are more than
    `PREFILTER_PLACES_MAX`.

    Raises UnavailableError.
    """
    keys = _PROCESS_WINDOWS if where.of_processes else _PLACES
    first = ranked[0]
    found = reach.ask(engine, _places_sql(where, first), params, indexes=first.indexes).rows
    if len(found) > limits.PREFILTER_PLACES_MAX:
        return None
    for narrowing in ranked[1:]:
        if (
            len(found) <= PREFILTER_PLACES_ENOUGH
            or len(narrowing.lookups) > PREFILTER_CONDITIONS_MAX
        ):
            break
        name = "process_id" if where.of_processes else PLACE
        also = reach.ask(
            engine,
            f"SELECT DISTINCT * FROM ({rows_sql(name, narrowing, keys)})",
            {**params, _BOUND: list(found)},
            indexes=narrowing.indexes,
        ).rows
        known = set(also)
        found = [one for one in found if (one[2:] if where.of_processes else one) in known]
    return FoundPlaces(keys, list(found))


def count_rows(
    engine: Engine, narrowings: Sequence[Narrowing], params: Params, reach: Reach
) -> list[int]:
    """Partial rows of the narrowings in order, until one has so few that no other matters.

    Raises UnavailableError.
    """
    counts: list[int] = []
    for narrowing in narrowings:
        counted = reach.ask(engine, _count_sql(narrowing), params, indexes=narrowing.indexes)
        counts.append(counted.rows[0][0])
        if counts[-1] <= PREFILTER_PLACES_ENOUGH:
            break
    return counts


def _count_sql(narrowing: Narrowing) -> str:
    counts = [f"SELECT count() AS found FROM segment WHERE {one}" for one in narrowing.rows]
    return counts[0] if len(counts) == 1 else f"SELECT sum(found) FROM ({_union(counts)})"


def _places_sql(where: Condition, narrowing: Narrowing) -> str:
    """Keys of the segments that have such rows, or of all windows of their processes."""
    rows = limits.PREFILTER_PLACES_MAX + 1
    if where.of_processes:
        # Both tables are sharded alike, so each shard looks up its own processes.
        return (
            "SELECT DISTINCT arrayJoin(windows), sensor_id, process_id FROM process "
            f"WHERE process_id IN ({rows_sql('process_id', narrowing)}) LIMIT {rows:d}"
        )
    return f"SELECT DISTINCT * FROM ({rows_sql(PLACE, narrowing)}) LIMIT {rows:d}"


def rows_sql(selected: str, narrowing: Narrowing, among: str = "1") -> str:
    return _union(
        f"SELECT {selected} FROM segment WHERE {among} AND {one}" for one in narrowing.rows
    )


def _union(selects: Iterable[str]) -> str:
    return " UNION ALL ".join(selects)
