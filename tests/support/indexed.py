"""Engines whose small inserts make skip indexes too, as large ones do."""

import os
from dataclasses import replace

import pytest

from vedette.store.engine.capabilities import EMBEDDED, Capabilities, distributed
from vedette.store.engine.client import Engine


def indexed(capabilities: Capabilities) -> Capabilities:
    """The same engine; what tests insert is far below `INDEXED_ROWS_MIN`."""
    settings = {**capabilities.insert_settings, "materialize_skip_indexes_on_insert": 1}
    return replace(capabilities, insert_settings=settings)


KINDS: dict[str, Capabilities] = {
    "plain": indexed(EMBEDDED),
    "distributed": indexed(distributed("one")),
    "unindexed": EMBEDDED,
}
"""What answers must not depend on, by the name that a test shows: a cluster of one local shard
next to plain tables, and rows that no index knows before they are merged."""


computing = pytest.mark.parametrize(
    "store", [KINDS["plain"], KINDS["distributed"]], ids=["plain", "distributed"], indirect=True
)
"""For tests that have conditions computed for every row, not rows selected by them: no index is
looked into, and rows that none knows would be asked the very same."""

DRAWS = float(os.environ.get("VEDETTE_DRAWS", "0.6"))
"""How many times as many random queries a run asks. CI has to end in time, and asks the same ones
each time; who looks for what they do not find sets another seed and a larger number."""


def drawn(engine: Engine, count: int) -> int:
    """How many random queries a store is asked, where others are asked `count`. Each costs twice as
    much on Distributed tables, and what can go wrong there is how rows are reached, not what is
    asked of them."""
    return round(DRAWS * (count / 3 if engine.capabilities.cluster else count))
