"""Index lookups before a search: the number of partial rows of each narrowing of a condition, and
their places.

`choose.py` decides what the counts mean for the search.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette import limits
from vedette.limits import Limit
from vedette.query.compile.condition import Condition, Narrowing
from vedette.store.engine.client import Engine, Params
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.scope_filter import PLACE

PREFILTER_PLACES_ENOUGH: Limit[int] = 50
"""Number of places at which a prefilter is selective enough; no further index is looked up."""

PREFILTER_CONDITIONS_MAX: Limit[int] = 2
"""Maximum lookups of a narrowing that is used to reduce the places further."""


_BOUND: Final = "narrow_places"
_PLACES: Final = f"({PLACE}) IN {{{_BOUND}:Array(Tuple(UInt64, UInt32, UInt64))}}"
_PROCESS_WINDOWS: Final = (
    f"(window_ms, sensor_id, process_id) IN {{{_BOUND}:Array(Tuple(UInt64, UInt32, String))}}"
)


@dataclass(frozen=True, slots=True)
class FoundPlaces:
    """Keys of segments, or of processes' windows if other segments of a process count."""

    keys: str
    places: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.places)

    def condition(self, where: Condition) -> Condition:
        """Returns the condition, restricted to these places."""
        return where.within(self.keys, {_BOUND: self.places})


def find_places(
    engine: Engine,
    where: Condition,
    ranked: Sequence[Narrowing],
    params: Params,
    reach: Reach,
) -> FoundPlaces | None:
    """Returns the places that have rows of the first narrowing, and of the others as long as a
    lookup promises less work than the search itself; None if there are more than
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
    """Returns the numbers of partial rows of the narrowings in order, up to the first with so few
    that the others do not matter.

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
    """Returns SQL for the keys of the segments with such rows, or of all windows of their
    processes."""
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
