"""Which time partitions a search reads, and whether unmounted ones may hold results
(docs/api-objects.md#time-partition).

A closed partition cannot hold results when the query requires events later than its closing time
(plus a tolerance of `TIME_AHEAD_US` for wrong clocks).
"""

import math
from typing import Final

from vedette import limits
from vedette.query.nodes import And
from vedette.query.typed import Checked, Match, TimeTest
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import DamagedPart, damaged_parts
from vedette.store.partitions.lifecycle import cold_partitions, list_partitions
from vedette.store.partitions.partition import Partition

_SEARCHED: Final = frozenset({"segment", "binary"})
"""Tables whose rows decide what a search finds."""

_EVENT_TIMES: Final = frozenset({"start", "last_update"})
_MOUNTED: Final = frozenset({"hot", "warm"})


def sees_all_segments(engine: Engine, tree: Checked) -> bool:
    """False when an unmounted partition or a damaged part may hold segments that answer the
    query. Raises UnavailableError."""
    since_us = _since_us(tree)
    missing = any(_may_hold(closed_ms, since_us) for closed_ms in cold_partitions(engine))
    return not missing and not lacks_damaged_parts(engine, tree)


def lacks_damaged_parts(engine: Engine, tree: Checked) -> bool:
    """Whether a damaged part may hold segments that answer the query: then the answer is
    incomplete. Raises UnavailableError."""
    since_us = _since_us(tree)
    return any(
        _may_hold(_last_ms(part), since_us)
        for part in damaged_parts(engine)
        if part.table in _SEARCHED
    )


def searched_partitions(engine: Engine, tree: Checked) -> list[Partition]:
    """The mounted partitions that may hold results of the query."""
    since_us = _since_us(tree)
    return [
        one
        for one in list_partitions(engine)
        if one.state in _MOUNTED and (not one.closed_ms or _may_hold(one.closed_ms, since_us))
    ]


def _may_hold(closed_ms: float, since_us: int) -> bool:
    """Whether a partition that was closed then may hold events since a time."""
    return closed_ms * 1_000 + limits.TIME_AHEAD_US >= since_us


def _last_ms(part: DamagedPart) -> float:
    """The end of a part's partition; open where it is written to, or unknown."""
    return part.closed_ms or math.inf


def _since_us(tree: Checked) -> int:
    """The earliest event time that the query requires; 0 when it requires none."""
    conjuncts = tree.children if isinstance(tree, And) else (tree,)
    found = [_low_us(one) for one in conjuncts if isinstance(one, Match) and one.tests]
    return max(found, default=0)


def _low_us(leaf: Match) -> int:
    lows = [
        test.low_us if isinstance(test, TimeTest) and test.column in _EVENT_TIMES else 0
        for test in leaf.tests
    ]
    return min(lows)
