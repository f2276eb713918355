"""Counts facets over the events of some segments.

One pass over the event arrays: each event yields a pair (facet, value) per facet of its kind.
Without FINAL, since an event is in exactly one partial row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vedette.model.event_facets import EVENT_FACETS, EVENT_TYPE, EventFilter
from vedette.model.scope import Scope
from vedette.query.compile.events_sql import compile_events, facet_sql
from vedette.store.engine.client import Engine
from vedette.store.read.segment_counts import of_process

_FACETS: Final = tuple(facet for facet in EVENT_FACETS.values() if facet.name != EVENT_TYPE)


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """Event counts by kind, and value counts by facet."""

    kinds: dict[str, int]
    values: list[tuple[str, str, int]]
    """(facet, id of the value, count)."""


def count_event_facets(
    engine: Engine,
    process_id: str,
    scope: Scope,
    windows: Sequence[int],
    segments: tuple[int, int],
    until_us: int | None,
    deadline_s: float,
) -> FacetCounts:
    """Counts the events up to `until_us` (epoch microseconds) of the segments of `windows` whose
    ids are in the range `segments`, both ends included.

    Raises UnavailableError (`reason` "deadline") when it takes longer than `deadline_s`.
    """
    tests, params = compile_events(EventFilter(until_us=until_us))
    own = of_process(process_id, scope, windows)
    where = f"{own.sql} AND segment_id BETWEEN {{first:UInt64}} AND {{last:UInt64}}"
    params = {**params, **own.params, "first": segments[0], "last": segments[1]}
    sums = ", ".join(f"sum({test.count_sql})" for test in tests)
    counted = engine.query(
        f"SELECT {sums} FROM segment WHERE {where}", params, deadline_s=deadline_s
    ).rows[0]
    kinds = {test.kind.name: count for test, count in zip(tests, counted, strict=True) if count}
    pairs = _pairs(kinds, until_us is not None)
    if not pairs:
        return FacetCounts(kinds, [])
    found = engine.query(
        f"SELECT pair.1 AS facet, pair.2 AS value, count() FROM (SELECT arrayJoin(arrayConcat("
        f"{', '.join(pairs)})) AS pair FROM segment WHERE {where}) "
        "WHERE value != '' GROUP BY facet, value",
        params,
        deadline_s=deadline_s,
    )
    return FacetCounts(kinds, [(_FACETS[n].name, value, count) for n, value, count in found.rows])


def _pairs(kinds: dict[str, int], is_bounded: bool) -> list[str]:
    """Returns SQL arrays of pairs: one per facet and kind that has the facet."""
    in_time = "t <= fromUnixTimestamp64Micro({until_us:Int64}, 'UTC')"
    pairs = []
    for number, facet in enumerate(_FACETS):
        for kind, column in facet.columns.items():
            value = facet_sql(facet, "c")
            if kind in kinds and is_bounded:
                pairs.append(
                    f"arrayMap((c, t) -> (toUInt8({number}), if({in_time}, {value}, '')), "
                    f"`{column}`, `{kind}_time`)"
                )
            elif kind in kinds:
                pairs.append(f"arrayMap(c -> (toUInt8({number}), {value}), `{column}`)")
    return pairs
