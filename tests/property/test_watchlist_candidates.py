"""Watchlists find what the matcher finds, whatever they are looked up by, and as many at once."""

import random

import pytest

from tests.property.images import join_query, ran, sighting, summed
from tests.property.lives import NOW_US, life, query, tags
from tests.property.test_query_sql import SEED, process_id, whole
from tests.support.forms import in_form
from vedette.model.columns import EVENT_KINDS, KEY, METADATA
from vedette.model.findings.tag import TAGS, SegmentKey, newest
from vedette.model.scope import EVERYTHING
from vedette.query import check, compile_match, parse
from vedette.query.compile.document import SEGMENT
from vedette.query.match import Prepared, binaries_by_hash
from vedette.query.nodes import Everything
from vedette.store.engine.arrow_arrays import UNKNOWN
from vedette.store.read.detection.touched import SEGMENT_COLUMNS
from vedette.watchlists.anchors import anchors_of
from vedette.watchlists.batch import Batch
from vedette.watchlists.judge import Judge
from vedette.watchlists.watch_query import WatchQuery

DOCUMENTS = 120
QUERIES = 400
EVENTS = {column.name for kind in EVENT_KINDS for column in kind.columns}
TYPES = {column.name: column.type for column in (*KEY, *METADATA)}


@pytest.mark.parametrize("seed", range(in_form(1, 3)))
def test_a_judge_of_many_agrees_with_each_by_itself(seed: int) -> None:
    draw = random.Random(SEED + seed)
    binaries = binaries_by_hash(summed([sighting(draw) for _ in range(40)], EVERYTHING))
    documents = []
    for number in range(DOCUMENTS):
        values, events = life(draw, process_id(number))
        if number % 2:
            more, images = ran(draw, process_id(number))
            values, events = {**values, **more}, [*events, *images]
        key = SegmentKey(0, 0, 1, process_id(number), 0)
        found = whole(number, values, events)
        documents.append({**found, TAGS: newest(tags(draw, key))})
    queries = _queries(draw)
    empty = {name: _nothing(name) for name in SEGMENT_COLUMNS}
    batch = Batch(
        {name: [one.get(name, empty[name]) for one in documents] for name in empty},
        DOCUMENTS,
        SEGMENT,
        binaries,
        lambda: [one[TAGS] for one in documents],
    )
    outcomes = Judge(queries).judge(batch)
    met = 0
    for number, one in queries.items():
        ask = compile_match(one.checked)
        expected = [at for at, found in enumerate(documents) if ask(Prepared(found, binaries))]
        assert outcomes[number].error == ""
        assert outcomes[number].hits == expected, (SEED + seed, one.tree)
        met += 0 < len(expected) < DOCUMENTS
    assert met > len(queries) / 4
    assert sum(anchors_of(one.checked) is not None for one in queries.values()) > QUERIES / 4


def _queries(draw: random.Random) -> dict[int, WatchQuery]:
    found: dict[int, WatchQuery] = {}
    while len(found) < QUERIES:
        tree = parse(draw.choice((query, query, join_query))(draw))
        checked = check(tree, now_us=NOW_US)
        if not isinstance(checked, Everything):
            found[len(found)] = WatchQuery(tree, checked, is_relative=False)
    return found


def _nothing(name: str) -> object:
    """Returns the value that the store has for an unknown column."""
    return [] if name in EVENTS else UNKNOWN[TYPES.get(name, "u64")]
