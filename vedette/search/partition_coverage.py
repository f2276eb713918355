"""Whether a search could see all segments: partitions may be unmounted (api.md 3.3).

A cold partition counts as left out unless the query itself asks for later events than it can
hold: what arrived before it was closed had happened by then, give or take a wrong clock.
"""

from typing import Final

from vedette import limits
from vedette.query.nodes import And
from vedette.query.typed import Checked, Match, TimeTest
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import cold_partitions

_EVENT_TIMES: Final = frozenset({"start", "last_update"})


def sees_all_segments(engine: Engine, tree: Checked) -> bool:
    """False when an unmounted partition may hold segments that answer the query."""
    asked_since_us = _since_us(tree)
    return all(
        closed_ms * 1_000 + limits.TIME_AHEAD_US < asked_since_us
        for closed_ms in cold_partitions(engine)
    )


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
