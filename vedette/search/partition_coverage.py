"""Whether a search could see all segments: partitions may be unmounted (api.md 3.3).

A cold partition counts as left out unless the query itself asks for later events than it can
hold: what arrived before it was closed had happened by then, give or take a wrong clock.
"""

import math
from typing import Final

from vedette import limits
from vedette.query.nodes import And
from vedette.query.typed import Checked, Match, TimeTest
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import DamagedPart, damaged_parts
from vedette.store.partitions.lifecycle import cold_partitions

_SEARCHED: Final = frozenset({"segment", "binary"})
"""Tables whose rows decide what a search finds."""

_EVENT_TIMES: Final = frozenset({"start", "last_update"})


def sees_all_segments(engine: Engine, tree: Checked) -> bool:
    """False when an unmounted partition or a damaged part may hold segments that answer the
    query. Raises UnavailableError."""
    asked_since_us = _since_us(tree)
    cold = (_is_before(closed_ms, asked_since_us) for closed_ms in cold_partitions(engine))
    return all(cold) and not lacks_damaged_parts(engine, tree)


def lacks_damaged_parts(engine: Engine, tree: Checked) -> bool:
    """Whether a damaged part may hold segments that answer the query: then the answer is
    incomplete. Raises UnavailableError."""
    asked_since_us = _since_us(tree)
    return not all(
        _is_before(_last_ms(part), asked_since_us)
        for part in damaged_parts(engine)
        if part.table in _SEARCHED
    )


def _is_before(closed_ms: float, asked_since_us: int) -> bool:
    return closed_ms * 1_000 + limits.TIME_AHEAD_US < asked_since_us


def _last_ms(part: DamagedPart) -> float:
    """The end of a part's partition; open where it is written to, or unknown."""
    return part.closed_ms or math.inf


def _since_us(tree: Checked) -> int:
    """The earliest event time that the query cannot do without; 0 when there is none."""
    conjuncts = tree.children if isinstance(tree, And) else (tree,)
    found = [_low_us(one) for one in conjuncts if isinstance(one, Match) and one.tests]
    return max(found, default=0)


def _low_us(leaf: Match) -> int:
    lows = [
        test.low_us if isinstance(test, TimeTest) and test.column in _EVENT_TIMES else 0
        for test in leaf.tests
    ]
    return min(lows)
