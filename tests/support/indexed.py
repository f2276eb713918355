"""Engines whose small inserts make skip indexes too, as large ones do."""

import os
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.forms import One, in_form, one_of
from tests.support.two_shards import TWO_SHARDS
from vedette.store.engine.capabilities import EMBEDDED, Capabilities, distributed
from vedette.store.engine.client import Engine

ALL_STORES = bool(os.environ.get("VEDETTE_TEST_STORES"))
"""Whether every contract runs on every kind of store (`make contracts`)."""


def indexed(capabilities: Capabilities) -> Capabilities:
    """The same engine; what tests insert is far below `INDEXED_ROWS_MIN`."""
    settings = {**capabilities.insert_settings, "materialize_skip_indexes_on_insert": 1}
    return replace(capabilities, insert_settings=settings)


_TWO = indexed(distributed(TWO_SHARDS))

KINDS: dict[str, Capabilities] = {
    "plain": indexed(EMBEDDED),
    "distributed": indexed(distributed("one")),
    "unindexed": EMBEDDED,
    **({"two_shards": _TWO} if ALL_STORES else {}),
}
"""Kinds of stores that must not change answers, by name in test ids: a cluster of one local shard
next to plain tables, rows without indexes before a merge, and in `make contracts` a cluster of two
shards."""

STORES: dict[str, Capabilities] = {
    "plain": KINDS["plain"],
    "distributed": KINDS["distributed"],
    "two_shards": _TWO,
}
"""Kinds of stores that contracts hold on; two shards in `make contracts`, and where they have
broken something."""


computing = pytest.mark.parametrize(
    "store", [KINDS["plain"], KINDS["distributed"]], ids=["plain", "distributed"], indirect=True
)
"""For tests that have conditions computed for every row, not rows selected by them: no index is
looked into, and rows that none knows would be asked the very same."""

CHOSEN_STORES = tuple(STORES) if ALL_STORES else ("plain", "distributed")
"""Stores on which contract tests run by default."""

_EACH = tuple(STORES) if ALL_STORES else ("plain",)

on_plain_tables = pytest.mark.parametrize(
    "contract_engine", [STORES[name] for name in _EACH], ids=_EACH, indirect=True
)
"""For tests of a contract beside which others read and write the same rows on each kind of tables;
`make contracts` runs them on each, too."""

on_two_shards = pytest.mark.parametrize(
    "contract_engine", STORES.values(), ids=STORES, indirect=True
)
"""For tests of a contract that two shards have broken."""

DRAWS = float(os.environ.get("VEDETTE_DRAWS", "") or in_form(0.25, 1.0))
"""Factor of the number of random queries. CI has a time limit and always draws the same queries;
set another seed and a larger factor to find further errors."""


DRAWN_MIN = 5
"""Minimum number of random queries: fewer might all have no results."""


def drawn(engine: Engine, count: int) -> int:
    """Returns the number of random queries for a store. Each query costs twice as much on
    Distributed tables, whose risk lies in routing rather than in the query, so a cluster gets a
    third of `count`."""
    wanted = round(DRAWS * (count / 3 if engine.capabilities.cluster else count))
    return max(wanted, DRAWN_MIN)


def chosen(engine: Engine, texts: Sequence[One]) -> Sequence[One]:
    """The written queries that a store is asked: in the short form all on plain tables, and of the
    other kinds each a third of its own."""
    if engine.capabilities == KINDS["plain"]:
        return texts
    return one_of(3, texts, first=1 if engine.capabilities.cluster else 2)
