"""Determines which time partitions a search reads, and whether unmounted ones may hold results
(docs/api-objects.md#time-partition).

A closed partition cannot hold results if the query requires events later than its closing time,
plus a tolerance of `TIME_AHEAD_US` for wrong clocks.
"""

import math
from dataclasses import dataclass
from typing import Final

from vedette import limits
from vedette.query.nodes import And
from vedette.query.typed import Checked, Match, TimeTest
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import DamagedPart, damaged_parts
from vedette.store.partitions.lifecycle import cold_partitions, list_partitions, periods
from vedette.store.partitions.partition import Partition

_SEARCHED: Final = frozenset({"segment", "binary"})
"""Tables whose rows determine the results of a search."""

_EVENT_TIMES: Final = frozenset({"start", "last_update"})
_MOUNTED: Final = frozenset({"hot", "warm"})


def sees_all_segments(engine: Engine, tree: Checked) -> bool:
    """False if an unmounted partition or a damaged part may hold segments that match the query.
    Raises UnavailableError."""
    since_us = _since_us(tree)
    missing = any(_may_hold(closed_ms, since_us) for closed_ms in cold_partitions(engine))
    return not missing and not lacks_damaged_parts(engine, tree)


def lacks_damaged_parts(engine: Engine, tree: Checked) -> bool:
    """Whether a damaged part may hold segments that match the query, which makes the result
    incomplete. Raises UnavailableError."""
    since_us = _since_us(tree)
    return any(
        _may_hold(_last_ms(part), since_us)
        for part in damaged_parts(engine)
        if part.table in _SEARCHED
    )


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of the store that a search read, compared with the partitions that may contain its
    results. Counts time partitions regardless of whose rows they contain."""

    whole: int
    """Number of partitions that were read completely."""
    of: int
    """Number of partitions that may hold results."""
    since_ms: int
    """The earliest window that was read (epoch ms) if the deadline passed; 0 if all windows were
    read."""
    unmounted: int
    damaged_parts: int


def coverage(
    engine: Engine, tree: Checked, since_ms: int, *, is_answered: bool, before_ms: int = 0
) -> Coverage:
    """Returns the coverage of a search. `since_ms` is the earliest window that was read, 0 for no
    bound. If not `is_answered`, nothing was read. Partitions that begin at or after `before_ms`
    were not requested. Raises UnavailableError."""
    since_us = _since_us(tree)
    found = [
        one
        for one in periods(engine)
        if _may_hold(one[1] or math.inf, since_us) and one[0] < (before_ms or math.inf)
    ]
    damaged = [
        part
        for part in damaged_parts(engine)
        if part.table in _SEARCHED and _may_hold(_last_ms(part), since_us)
    ]
    lacking = {part.opened_ms for part in damaged}
    whole = [
        opened_ms
        for opened_ms, _, state in found
        if is_answered and state in _MOUNTED and opened_ms not in lacking and opened_ms >= since_ms
    ]
    cold = sum(state == "cold" for _, _, state in found)
    return Coverage(len(whole), len(found), since_ms, cold, len(damaged))


def searched_partitions(engine: Engine, tree: Checked) -> list[Partition]:
    """Returns the mounted partitions that may hold results of the query."""
    since_us = _since_us(tree)
    return [
        one
        for one in list_partitions(engine)
        if one.state in _MOUNTED and (not one.closed_ms or _may_hold(one.closed_ms, since_us))
    ]


def _may_hold(closed_ms: float, since_us: int) -> bool:
    """Whether a partition closed at `closed_ms` may hold events since `since_us`."""
    return closed_ms * 1_000 + limits.TIME_AHEAD_US >= since_us


def _last_ms(part: DamagedPart) -> float:
    """Returns the closing time of a part's partition; infinity if the partition is open or
    unknown."""
    return part.closed_ms or math.inf


def _since_us(tree: Checked) -> int:
    """Returns the earliest event time that the query requires; 0 if it requires none."""
    conjuncts = tree.children if isinstance(tree, And) else (tree,)
    found = [_low_us(one) for one in conjuncts if isinstance(one, Match) and one.tests]
    return max(found, default=0)


def _low_us(leaf: Match) -> int:
    lows = [
        test.low_us if isinstance(test, TimeTest) and test.column in _EVENT_TIMES else 0
        for test in leaf.tests
    ]
    return min(lows)
