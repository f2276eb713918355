"""Binary search and joins: SQL and matcher answer alike, for every scope."""

import random

import pytest

from tests.property.images import (
    IMAGES,
    NOW_US,
    binary_query,
    join_query,
    ran,
    sighting,
    summed,
)
from tests.property.lives import tags
from tests.property.test_query_sql import SEED, Whole, parts_of, process_id, whole
from tests.support.indexed import drawn
from vedette.model.binary_fields import BINARY
from vedette.model.findings.tag import TAGS, Tag, newest
from vedette.model.scope import EVERYTHING, Scope
from vedette.model.segment import PartialSegment
from vedette.query import (
    SETTINGS,
    Condition,
    check,
    compile_binaries,
    compile_match,
    compile_segments,
    parse,
)
from vedette.query.compile.document import BINARY as BINARY_DOCUMENT
from vedette.query.match import Prepared, binaries_by_hash
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.plan.choose import choose_scan
from vedette.store.plan.search_bounds import EVERYWHERE
from vedette.store.sql.scope_filter import scope_params, scoped
from vedette.store.write.commit import BinaryRow, binary_table, segment_table
from vedette.store.write.tags import write_tags

PROCESSES = 120
SIGHTINGS = 60
QUERIES = 24
SCOPES = (EVERYTHING, Scope(frozenset({2, 3})), Scope(frozenset({1})))
"""Segments are all of sensor 1; what is known of their files comes from every sensor."""


@pytest.fixture(scope="module")
def sightings(store: ClickHouseEngine) -> list[BinaryRow]:
    draw = random.Random(SEED)
    rows = [sighting(draw) for _ in range(SIGHTINGS)]
    for place in range(3):
        store.insert_arrow("binary", binary_table(rows[place::3]))
    assert len(summed(rows, EVERYTHING)) == len(IMAGES)
    return rows


Said = dict[str, list[Tag]]
"""Tags by the hash of their binary."""


@pytest.fixture(scope="module")
def said(store: ClickHouseEngine) -> Said:
    draw = random.Random(SEED + 3)
    found = {md5 or sha256: tags(draw, md5 or sha256) for md5, sha256 in IMAGES}
    write_tags(store, [tag for of_hash in found.values() for tag in of_hash])
    return found


@pytest.fixture(scope="module")
def segments(store: ClickHouseEngine) -> list[Whole]:
    draw = random.Random(SEED)
    commits: list[list[PartialSegment]] = [[] for _ in range(4)]
    found = []
    for number in range(PROCESSES):
        values, events = ran(draw, process_id(number))
        rows = parts_of(draw, number, values, events)
        for commit, row in zip(draw.sample(commits, len(rows)), rows, strict=True):
            commit.append(row)
        found.append(whole(number, values, events))
    for commit in commits:
        store.insert_arrow("segment", segment_table(commit))
    return found


@pytest.mark.parametrize("scope", SCOPES, ids=["all", "others", "own"])
def test_sql_and_matcher_agree_on_binaries(
    store: ClickHouseEngine, sightings: list[BinaryRow], said: Said, scope: Scope
) -> None:
    draw = random.Random(SEED + 1)
    prepared = [
        Prepared({**one, TAGS: newest(said[one["hash"]])}, document=BINARY_DOCUMENT)
        for one in summed(sightings, scope)
    ]
    met, count = 0, drawn(store, QUERIES)
    for _ in range(count):
        text = binary_query(draw)
        checked = check(parse(text, BINARY), BINARY, now_us=NOW_US)
        where = compile_binaries(checked)
        found = store.query(
            f"SELECT hash FROM ({where.binaries})",
            {**where.params, **scope_params(scope)},
            settings=SETTINGS,
        ).rows
        ask = compile_match(checked)
        expected = {one.segment["hash"] for one in prepared if ask(one)}
        assert {row[0] for row in found} == expected, (SEED, text)
        met += 0 < len(expected) < len(prepared)
    assert met > count / 4


@pytest.mark.parametrize("scope", SCOPES, ids=["all", "others", "own"])
def test_sql_and_matcher_agree_on_joins(
    store: ClickHouseEngine, segments: list[Whole], sightings: list[BinaryRow], scope: Scope
) -> None:
    draw = random.Random(SEED + 2)
    lookup = binaries_by_hash(summed(sightings, scope))
    prepared = [Prepared(segment, lookup) for segment in segments]
    met, count = 0, drawn(store, QUERIES)
    for _ in range(count):
        text = join_query(draw)
        checked = check(parse(text), now_us=NOW_US)
        # Whose segments are searched is another matter: here all, with the binaries of the scope.
        where = compile_segments(checked)
        ask = compile_match(checked)
        expected = {one.segment["process_id"] for one in prepared if ask(one)}
        assert chosen(store, where, scope) == expected, (SEED, text)
        where = compile_segments(checked, indexes=suffix_indexes(store))
        narrow = choose_scan(store, where, scope, EVERYWHERE).condition
        assert narrow is not None or not expected, (SEED, text)
        if narrow is not None and narrow is not where:
            assert chosen(store, narrow, scope) == expected, (SEED, text)
        met += 0 < len(expected) < PROCESSES
    assert met > count / 3


def chosen(store: ClickHouseEngine, where: Condition, scope: Scope) -> set[str]:
    rows = store.query(
        f"SELECT process_id FROM segment FINAL {where.clause}",
        {**where.params, **scope_params(scope)},
        settings=SETTINGS,
    ).rows
    return {row[0] for row in rows}


def test_a_condition_with_a_join_runs_within_a_scope_only(
    store: ClickHouseEngine, segments: list[Whole]
) -> None:
    where = compile_segments(check(parse("digsig_result:Signed"), now_us=0))
    with pytest.raises(Exception, match="scope_all"):
        store.query(f"SELECT count() FROM segment FINAL WHERE {where.sql}", where.params)
    nobody = scoped(where, Scope(frozenset()))
    sql = f"SELECT count() FROM segment FINAL WHERE {nobody.sql}"
    assert store.query(sql, nobody.params, settings=SETTINGS).rows == [(0,)]
