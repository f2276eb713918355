"""Comprehensive search and grouping answer as a plain reading of all segments does, on plain and
on Distributed tables."""

import os
import random
from collections.abc import Iterator
from itertools import product

import pytest

from tests.property.lives import NOW_US, query
from tests.property.processes import Key, Segment, comprehensive, first_of_groups, generate
from tests.support.forms import one_of
from tests.support.indexed import KINDS, chosen, drawn
from tests.support.two_shards import database_of, routed
from vedette.model.scope import EVERYTHING
from vedette.model.segment import PartialSegment
from vedette.query import Condition, check, parse
from vedette.query.compile.processes_sql import compile_processes
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES, SuffixIndexes
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.plan.choose import choose_scan
from vedette.store.plan.search_bounds import EVERYWHERE
from vedette.store.read.segment_groups import search_groups
from vedette.store.read.segment_search import search_segments
from vedette.store.schema.create import create_tables
from vedette.store.write.commit import ProcessWindow, process_table, segment_table
from vedette.store.write.tags import write_tags

SEED = int(os.environ.get("VEDETTE_SEED", "20231115"))
"""Printed with a failure; set the variable to see it again or to look elsewhere."""

PROCESSES = 60
QUERIES = 12
PLACES_MAX = (5_000, 10)
PAGES = ((0, 10), (7, 5), (0, 0), (500, 5), (0, 1_000))
"""First group and number of groups."""
CHOSEN = (
    "",
    "filemod:a.tar.gz",
    "filemod:*.exe domain:com",
    "filemod:*.exe domain:com modload:*.exe",
    "filemod:*.exe -domain:com",
    "-filemod:*.exe -domain:com",
    "-filemod:*.exe",
    "-(filemod:*.exe domain:com)",
    "filemod:*.exe OR -domain:com",
    "hostname:host2 filemod:*.exe domain:com",
    "hostname:host2 OR filemod:*.exe",
    "hostname:host2 (filemod:*.exe OR (domain:com username:root))",
    "-hostname:host2 -filemod:*.exe modload:*",
    "cmd.exe",
    "-cmd.exe",
    "cmd.exe ls",
    "filemod_count:[3 TO *]",
    "filemod_count:0",
    "-filemod_count:0",
    "filemod_count:[2 TO 3] netconn_count:[1 TO *]",
    "filemod_count:[* TO 2] domain:com",
    "filemod_count:* OR hostname:host2",
    "watchlist_4:*",
    "-watchlist_4:* filemod:*.exe",
    "watchlist_5:* OR filemod:*.exe",
    "alliance_score_srs:[1 TO *] -domain:com",
    "has_emet_event:true",
    "-has_emet_event:true filemod:*.exe",
    "ipport:3389 crossproc_type:remotethread",
    "filemod:*.exe (domain:com OR -modload:*.exe) -regmod:*run*",
)
LONG = (
    " ".join(f"(filemod:*.exe OR ipport:{number})" for number in range(70)),
    " ".join(f"-filemod:n{number}" for number in range(70)) + " domain:com",
)


COLUMNS = ("process_id", "hostname", "process_name", "start", "username")
ORDERS: tuple[list[tuple[str, bool]], ...] = (
    [("last_update", True)],
    [("process_name", False), ("last_update", True)],
    [],
)


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def reported(
    root_engine: ClickHouseEngine, request: pytest.FixtureRequest
) -> Iterator[tuple[ClickHouseEngine, list[Segment]]]:
    """A store whose partial rows are never merged by themselves, and what is in it."""
    database = database_of("test_whole_process", request.param)
    engine = routed(root_engine.sibling(database, request.param))
    create_tables(engine)
    engine.command(f"SYSTEM STOP MERGES `{engine.capabilities.storage('segment')}`")
    segments = generate(random.Random(SEED), PROCESSES)
    for part in (0, 1):
        engine.insert_arrow("segment", segment_table([one.parts[part] for one in segments]))
    engine.insert_arrow("process", process_table([_window(one.parts[0]) for one in segments]))
    write_tags(engine, [tag for one in segments for tag in one.tags])
    yield engine, segments
    engine.close()
    root_engine.command(f"DROP DATABASE {database} SYNC")


def _window(row: PartialSegment) -> ProcessWindow:
    return ProcessWindow(row.partition_ms, row.process_id, row.sensor_id, row.window_ms)


def ranks(engine: ClickHouseEngine) -> dict[Key, int]:
    rows = engine.query("SELECT process_id, segment_id, key_hash FROM segment").rows
    return {(row[0], row[1]): row[2] for row in rows}


def found(engine: ClickHouseEngine, where: Condition | None) -> tuple[int, set[Key]]:
    if where is None:
        return 0, set()
    answer = search_segments(engine, where, EVERYTHING, rows=1_000)
    return answer.total, {(row["process_id"], row["segment_id"]) for row in answer.rows}


def ways(
    engine: ClickHouseEngine, text: str, patch: pytest.MonkeyPatch
) -> Iterator[Condition | None]:
    """The conditions that a search may come to, each once: without a look into the indexes, and
    with one that finds all places, or too many of them."""
    whole = compiled(text)
    yield whole
    reported: list[Condition | None] = [whole]
    narrowed = compiled(text, suffix_indexes(engine))
    for places_max in PLACES_MAX:
        patch.setattr("vedette.limits.PREFILTER_PLACES_MAX", places_max)
        reported.append(choose_scan(engine, narrowed, EVERYTHING, EVERYWHERE).condition)
        if reported[-1] not in reported[:-1]:
            yield reported[-1]


def compiled(text: str, indexes: SuffixIndexes = NO_SUFFIX_INDEXES) -> Condition:
    return compile_processes(check(parse(text), now_us=NOW_US), indexes=indexes)


def test_a_comprehensive_search_asks_the_process(
    reported: tuple[ClickHouseEngine, list[Segment]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, segments = reported
    draw = random.Random(SEED + 1)
    met, count = 0, drawn(engine, QUERIES)
    for text in [*chosen(engine, CHOSEN), *(query(draw) for _ in range(count))]:
        expected = comprehensive(check(parse(text), now_us=NOW_US), segments)
        for where in ways(engine, text, monkeypatch):
            assert found(engine, where) == (len(expected), expected), (SEED, text)
        met += 0 < len(expected) < len(segments)
    assert met > count / 3


@pytest.mark.parametrize("text", LONG, ids=["or", "not"])
def test_more_conditions_than_bits_of_a_number(
    reported: tuple[ClickHouseEngine, list[Segment]], text: str
) -> None:
    engine, segments = reported
    expected = comprehensive(check(parse(text), now_us=NOW_US), segments)
    assert found(engine, compiled(text)) == (len(expected), expected)


@pytest.mark.parametrize(
    "reported", [KINDS["plain"], KINDS["distributed"]], ids=["plain", "distributed"], indirect=True
)
@pytest.mark.parametrize(("column", "order"), one_of(2, list(product(COLUMNS, ORDERS))))
def test_a_group_shows_its_first_segment(
    reported: tuple[ClickHouseEngine, list[Segment]], column: str, order: list[tuple[str, bool]]
) -> None:
    engine, segments = reported
    matching = comprehensive(check(parse("filemod:*.exe OR -domain:com"), now_us=NOW_US), segments)
    where = compile_processes(check(parse("filemod:*.exe OR -domain:com"), now_us=NOW_US))
    expected = first_of_groups(
        [one for one in segments if one.key in matching], column, order, ranks(engine)
    )
    for start, rows in chosen(engine, PAGES):
        answer = search_groups(engine, where, EVERYTHING, column, order, start=start, rows=rows)
        keys = [(row["process_id"], row["segment_id"]) for row in answer.rows]
        assert (answer.total, keys) == (len(expected), expected[start : start + rows])


def test_a_page_of_groups_is_the_same_however_few_segments_are_read_ahead(
    reported: tuple[ClickHouseEngine, list[Segment]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, segments = reported
    where = compile_processes(check(parse(""), now_us=NOW_US))
    expected = first_of_groups(segments, "process_id", [("last_update", True)], ranks(engine))
    monkeypatch.setattr("vedette.store.read.segment_groups.SEGMENT_GROUPS_AHEAD_MIN", 1)
    for ahead in (1, 2):
        monkeypatch.setattr("vedette.store.read.segment_groups.SEGMENT_GROUPS_AHEAD", ahead)
        answer = search_groups(engine, where, EVERYTHING, "process_id", start=3, rows=20)
        keys = [(row["process_id"], row["segment_id"]) for row in answer.rows]
        assert (answer.total, keys) == (len(expected), expected[3:23])
