"""Comprehensive search, groups, the reach of a search and texts of events, where they depend on
the engine: shards, deadlines, parts of the store. What they answer is tests/property's matter."""

import random
import time

import pytest

from tests.contract.store.rows import (
    HOUR_MS,
    NEXT_MS,
    connection,
    file,
    module,
    partial,
    process_id,
    store,
)
from tests.support.plans import gathering
from vedette.errors import BadRequestError, UnavailableError
from vedette.model.indexes import INDEXES, index_name
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import Condition, check, compile_segments, parse
from vedette.query.compile.processes_sql import compile_processes
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.partitions.lifecycle import cold_partitions, open_partition, unmount
from vedette.store.partitions.partition import partition_name
from vedette.store.plan.choose import can_rank_by_event
from vedette.store.plan.plan import NOWHERE
from vedette.store.plan.search_bounds import EVERYWHERE, Reach, newest_since
from vedette.store.read.matching_text import matching_texts
from vedette.store.read.segment_groups import count_groups, search_groups
from vedette.store.read.segment_search import NEWEST_FIRST, count_segments, search_segments
from vedette.store.schema.tables import SEGMENT, additions
from vedette.store.sql.scope_filter import ALL

APART = "filemod:evil.exe domain:evil.com"
"""Query whose two terms process 1 matches in two different windows."""


def seeded(engine: ClickHouseEngine) -> None:
    store(
        engine,
        partial(1, file("c:\\evil.exe"), hostname="a", last_update=1),
        partial(2, file("c:\\evil.exe"), hostname="b", last_update=2, sensor_id=2),
    )
    store(
        engine,
        partial(1, connection("evil.com"), hostname="a", window_ms=NEXT_MS, last_update=3),
        partial(2, module("c:\\b.dll"), hostname="b", window_ms=NEXT_MS, sensor_id=2),
    )


def asked(text: str, *, whole: bool, engine: ClickHouseEngine | None = None) -> Condition:
    """The condition of a query; with an engine, for the suffix indexes that it has."""
    compiled = compile_processes if whole else compile_segments
    ends = NO_SUFFIX_INDEXES if engine is None else suffix_indexes(engine)
    return compiled(check(parse(text), now_us=0), indexes=ends)


def test_what_a_process_did_in_two_windows_is_found_comprehensively(
    contract_engine: ClickHouseEngine,
) -> None:
    seeded(contract_engine)
    assert count_segments(contract_engine, asked(APART, whole=False), EVERYTHING) == 0
    found = search_segments(contract_engine, asked(APART, whole=True), EVERYTHING)
    assert [(row["process_id"], row["window_ms"]) for row in found.rows] == [
        (process_id(1), NEXT_MS),
        (process_id(1), HOUR_MS),
    ]
    scope = Scope(frozenset({2}))
    assert count_segments(contract_engine, asked(APART, whole=True), scope) == 0


@pytest.mark.parametrize(
    "query",
    [
        APART,
        "filemod:evil.exe -domain:evil.com",
        "-(filemod:x domain:y)",
        "hostname:a (filemod:evil.exe OR -filemod_count:[5 TO *])",
        "evil.exe",
    ],
)
def test_shards_answer_comprehensively_by_themselves(
    doubled_engine: ClickHouseEngine, query: str
) -> None:
    """A subquery that reached for all shards would be refused here."""
    seeded(doubled_engine)
    where = asked(query, whole=True)
    found = search_groups(doubled_engine, where, EVERYTHING, "process_id")
    once = [row["segment_id"] for row in found.rows]
    assert 0 < found.total <= 2
    assert count_segments(doubled_engine, where, EVERYTHING) >= 2 * found.total
    assert len(once) >= found.total


def test_groups_are_counted_within_the_scope(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    assert count_groups(contract_engine, ALL, EVERYTHING, "process_id") == 2
    assert count_groups(contract_engine, ALL, Scope(frozenset({2})), "hostname") == 1
    found = search_groups(contract_engine, ALL, Scope(frozenset({1})), "process_id")
    assert [row["last_update"] for row in found.rows] == [3]


def everything() -> Condition:
    return compile_segments(check(parse(""), now_us=0))


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("column", ["last_update", "cmdline"])
def test_the_first_of_all_are_chosen_by_the_greatest_value_of_their_rows(
    contract_engine: ClickHouseEngine, column: str, is_open: bool
) -> None:
    if is_open:
        open_partition(contract_engine, HOUR_MS)
    draw = random.Random(7)
    best: dict[str, int] = {}
    for _ in range(4):
        values = {number: draw.randrange(30, 60) for number in draw.sample(range(40), 25)}
        rows = [
            partial(one, sensor_id=1 + one % 3, last_update=value, cmdline=f"run {value}")
            for one, value in values.items()
        ]
        store(contract_engine, *rows)
        for one, value in values.items():
            name = process_id(one, 1 + one % 3)
            best[name] = max(best.get(name, 0), value)
    order = [(column, True)]
    pages = [
        search_segments(contract_engine, everything(), EVERYTHING, order, start=start, rows=7)
        for start in range(0, len(best) + 7, 7)
    ]
    assert {page.total for page in pages} == {len(best)}
    seeded = [row for page in pages for row in page.rows]
    assert {row["process_id"]: row["last_update"] for row in seeded} == best
    assert [row["last_update"] for row in seeded] == sorted(best.values(), reverse=True)
    scope = Scope(frozenset({2}))
    within = search_segments(contract_engine, everything(), scope, order, rows=100)
    assert within.total == len(within.rows) == sum(name.startswith("00000002") for name in best)


DIGEST = "ab" * 16


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"TOP_BY_EVENT_SEGMENTS_MAX": 0},
        {"TOP_BY_EVENT_SEGMENTS_MAX": 0, "TOP_BY_EVENT_LATER_ROWS_MAX": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("text", ["modload:a.dll", f"md5:{DIGEST}"])
def test_the_first_that_events_select_are_chosen_by_all_rows_of_theirs(
    contract_engine: ClickHouseEngine,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    limits: dict[str, int],
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(f"vedette.store.plan.top_by_event.{name}", value)
    open_partition(contract_engine, HOUR_MS)
    draw = random.Random(11)
    best: dict[int, int] = {}
    found: set[int] = set()
    for _ in range(4):
        rows = []
        for one in draw.sample(range(40), 25):
            at = draw.randrange(30, 60)
            best[one] = max(best.get(one, 0), at)
            shown = [module("c:\\a.dll", DIGEST)] if draw.random() < 0.3 else []
            found |= {one} if shown else set()
            rows.append(partial(one, *shown, sensor_id=1 + one % 3, last_update=at))
        # Of a process with a greater hash, the other was never the known one.
        rows += [partial(50, process_md5=DIGEST, last_update=99)]
        rows += [partial(51, process_md5=one, last_update=98) for one in (DIGEST, "ff" * 16)]
        store(contract_engine, *rows)
    best |= {50: 99}
    found |= {50} if text.startswith("md5") else set()
    where = gathering(
        contract_engine, asked(text, whole=False, engine=contract_engine), EVERYTHING, EVERYWHERE
    )
    assert where is not None
    assert where.apart is not None
    assert can_rank_by_event(where, NEWEST_FIRST)
    pages = [
        search_segments(contract_engine, where, EVERYTHING, start=start, rows=7)
        for start in range(0, len(found) + 7, 7)
    ]
    assert {page.total for page in pages} == {len(found)}
    seeded = [(row["process_id"], row["last_update"]) for page in pages for row in page.rows]
    names = {process_id(one, 1 + one % 3 if one < 40 else 1): best[one] for one in found}
    assert dict(seeded) == names
    assert len(seeded) == len(found)
    assert [at for _, at in seeded] == sorted(names.values(), reverse=True)
    scope = Scope(frozenset({2}))
    within = search_segments(contract_engine, where, scope, rows=100)
    assert within.total == len(within.rows) == sum(name.startswith("00000002") for name in names)


def test_a_page_whose_segments_have_very_many_rows_is_found_too(
    contract_engine: ClickHouseEngine,
) -> None:
    store(contract_engine, *(partial(1, last_update=1_000 + number) for number in range(150)))
    store(contract_engine, partial(2, last_update=5), partial(3, last_update=6))
    found = search_segments(contract_engine, everything(), EVERYTHING, rows=2)
    assert (found.total, [row["last_update"] for row in found.rows]) == (3, [1_149, 6])


def test_where_partitions_are_closed_only_few_answers_are_gathered(
    contract_engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.limits.PREFILTER_PLACES_MAX", 1)
    store(contract_engine, partial(1, process_name="a.exe"), partial(2, process_name="b.exe"))
    store(contract_engine, partial(3, process_name="b.exe", window_ms=NEXT_MS))
    open_partition(contract_engine, HOUR_MS)

    def gathers(text: str) -> Condition | None:
        where = asked(f"process_name:{text}", whole=False, engine=contract_engine)
        return gathering(contract_engine, where, EVERYTHING, EVERYWHERE)

    counts = {
        text: count_segments(contract_engine, where, EVERYTHING)
        for text in ("a.exe", "b.exe", "c.exe")
        if (where := gathers(text))
    }
    assert counts == {"a.exe": 1, "b.exe": 2, "c.exe": 0}
    open_partition(contract_engine, NEXT_MS)
    assert gathers("a.exe")
    assert gathers("b.exe") is None
    assert gathers("c.exe") is NOWHERE
    never = asked("md5:nothing", whole=False, engine=contract_engine)
    assert gathering(contract_engine, never, EVERYTHING, EVERYWHERE) is NOWHERE


def test_an_md5_is_found_in_parts_that_an_older_version_made(
    contract_engine: ClickHouseEngine,
) -> None:
    digest = "ab" * 16
    capabilities = contract_engine.capabilities
    table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
    for column in (name for name, kind in INDEXES if kind == "values"):
        old = f"`ix_{column}` `{column}` TYPE bloom_filter(0.01)"
        contract_engine.command(f"ALTER TABLE {table} DROP INDEX `{index_name(column)}`")
        contract_engine.command(f"ALTER TABLE {table} ADD INDEX {old}")
    store(contract_engine, partial(1, module("c:\\a.dll", digest)), partial(2, process_md5=digest))
    for statement in additions(SEGMENT, capabilities):
        contract_engine.command(statement)
    store(contract_engine, partial(3, module("c:\\a.dll", digest)), partial(4, file("c:\\a")))
    where = asked(f"md5:{digest}", whole=False)
    assert count_segments(contract_engine, where, EVERYTHING) == 3
    where = asked(f"md5:{digest}", whole=False, engine=contract_engine)
    few = gathering(contract_engine, where, EVERYTHING, EVERYWHERE)
    assert few is not None
    found = search_segments(contract_engine, few, EVERYTHING)
    assert {row["process_id"] for row in found.rows} == set(map(process_id, (1, 2, 3)))


@pytest.mark.parametrize("column", ["", "nothing", "path`; DROP TABLE segment"])
def test_only_columns_can_be_grouped_by(engine: ClickHouseEngine, column: str) -> None:
    with pytest.raises(BadRequestError):
        search_groups(engine, ALL, EVERYTHING, column)


def test_a_reach_leaves_out_older_windows_everywhere(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    newest = Reach(since_ms=NEXT_MS)
    assert count_segments(contract_engine, ALL, EVERYTHING, reach=newest) == 2
    where = asked(APART, whole=True)
    assert count_segments(contract_engine, where, EVERYTHING, reach=newest) == 0
    assert count_groups(contract_engine, ALL, EVERYTHING, "hostname", reach=newest) == 2


def test_the_newest_part_begins_at_a_window(contract_engine: ClickHouseEngine) -> None:
    assert newest_since(contract_engine, 1 / 8) == 1
    rows = [partial(number, window_ms=HOUR_MS + number * 300_000) for number in range(80)]
    store(contract_engine, *rows)
    reach = Reach(since_ms=newest_since(contract_engine, 1 / 8))
    assert 9 <= count_segments(contract_engine, ALL, EVERYTHING, reach=reach) <= 11


def test_a_reach_that_is_over_asks_nothing(engine: ClickHouseEngine) -> None:
    over = Reach(until_s=time.monotonic() - 1)
    with pytest.raises(UnavailableError) as raised:
        search_groups(engine, ALL, EVERYTHING, "process_id", reach=over)
    assert raised.value.reason == "deadline"


def test_texts_of_events_are_looked_up_by_pattern(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(1, file("c:\\Evil.exe"), file("c:\\b")), partial(2, file("x")))
    store(contract_engine, partial(1, file("c:\\evil.exe"), connection("evil.com")))
    key = (HOUR_MS, 1, process_id(1), HOUR_MS)
    patterns = {"filemod_path": ["(?is)(evil)", "nothing"], "path": ["."], "regmod_path": ["."]}
    (found,) = matching_texts(contract_engine, [key], patterns)
    assert (found.key, found.column) == (key, "filemod_path")
    assert sorted(found.values) == ["c:\\Evil.exe", "c:\\evil.exe"]


def test_cold_partitions_are_identified_by_when_they_were_closed(
    contract_engine: ClickHouseEngine,
) -> None:
    open_partition(contract_engine, HOUR_MS)
    open_partition(contract_engine, NEXT_MS)
    assert cold_partitions(contract_engine) == []
    unmount(contract_engine, partition_name(HOUR_MS))
    assert cold_partitions(contract_engine) == [NEXT_MS]


@pytest.mark.parametrize("column", ["start", "process_pid", "parent_pid"])
def test_what_is_not_known_stands_last_in_either_direction(
    contract_engine: ClickHouseEngine, column: str
) -> None:
    rows = [partial(1, **{column: 5}), partial(2), partial(3, **{column: 7})]
    store(contract_engine, *rows)
    for descends, expected in ((False, [1, 3, 2]), (True, [3, 1, 2])):
        found = search_segments(contract_engine, ALL, EVERYTHING, order=[(column, descends)])
        assert [row["process_id"] for row in found.rows] == list(map(process_id, expected))
