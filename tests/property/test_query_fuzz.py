"""Whatever is typed is a query or a QueryError, and what is a query runs."""

import itertools
import os
import random

import pytest

from bench.fuzz_queries import queries
from tests.property.empties import empty_queries
from tests.property.lives import NOW_US, life
from tests.property.test_query_sql import partial, process_id
from tests.support.forms import in_form
from vedette.errors import QueryError
from vedette.model.scope import EVERYTHING
from vedette.query import check, compile_match, compile_segments, parse, print_query
from vedette.query.match import Prepared
from vedette.search.processes.process_search import search_processes
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.write.commit import segment_table
from vedette.web.processes.search_parameters_json import search_request

SEED = int(os.environ.get("VEDETTE_SEED", "1303"))
"""Printed with a failure; set the variable to see it again or to look elsewhere."""

COMPILED, RUN = in_form((1_000, 40), (4_000, 200))

FACETS = [("facet.field", name) for name in ("process_name", "username_full", "hostname", "start")]

SETTINGS = Settings(search_deadline_s=20)


def test_any_text_is_a_query_or_a_query_error() -> None:
    understood = 0
    for text in itertools.islice(queries(SEED), COMPILED):
        try:
            tree = parse(text)
            checked = check(tree, now_us=NOW_US)
        except QueryError as error:
            refusal = error
        else:
            compile_segments(checked)
            compile_match(checked)(Prepared({}))
            assert parse(print_query(tree)) == tree, (SEED, text)
            understood += 1
            continue
        assert refusal.message, (SEED, text)
        assert 0 <= refusal.start <= refusal.end <= len(text), (SEED, text)
    assert understood > COMPILED / 4


@pytest.fixture
def store(engine: ClickHouseEngine) -> ClickHouseEngine:
    draw = random.Random(SEED)
    rows = [partial(number, *life(draw, process_id(number))) for number in range(50)]
    engine.insert_arrow("segment", segment_table(rows))
    return engine


def test_every_query_runs_within_the_deadline(store: ClickHouseEngine) -> None:
    ran = 0
    for text in queries(SEED + 1):
        request = search_request([("q", text), ("rows", "10")])
        try:
            found = search_processes(store, EVERYTHING, request, SETTINGS, NOW_US)
        except QueryError:
            continue
        assert not found.is_incomplete, (SEED, text)
        ran += 1
        if ran == RUN:
            return


def test_a_query_of_empty_phrases_ends_with_its_highlights_and_facets(
    store: ClickHouseEngine,
) -> None:
    store.insert_arrow("segment", segment_table([partial(60, {}, [])]))
    ran = 0
    for text in empty_queries(SEED + 2):
        request = search_request([("q", text), ("rows", "100"), ("facet", "true"), *FACETS])
        try:
            found = search_processes(store, EVERYTHING, request, SETTINGS, NOW_US)
        except QueryError:
            continue
        assert not found.is_incomplete, (SEED, text)
        marks = (highlight.text for highlight in found.highlights)
        assert not any("PREPREPREPOSTPOSTPOST" in mark for mark in marks), (SEED, text)
        ran += 1
        if ran == RUN:
            return
