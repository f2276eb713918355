"""The SQL of a query and the matcher answer alike, whatever is merged already."""

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.property.lives import NOW_US, life, query, tags
from tests.support.claims import shared_out
from tests.support.indexed import chosen, computing, drawn
from tests.support.plans import gathering
from tests.unit.query.test_trust import HOSTILE
from vedette import limits
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import ProcessEvent
from vedette.model.findings.tag import TAGS, SegmentKey, newest
from vedette.model.scope import EVERYTHING
from vedette.model.segment import PartialSegment
from vedette.query import SETTINGS, Condition, check, compile_match, compile_segments, parse
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES, SuffixIndexes
from vedette.query.match import Prepared
from vedette.query.nodes import Exact, Leaf
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.errors import ManyRowsError
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.plan.choose import choose_scan
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.segment_search import search_segments
from vedette.store.sql.scope_filter import scope_params
from vedette.store.write.commit import segment_table
from vedette.store.write.tags import write_tags

WINDOW_MS = 1_700_000_400_000
PROCESSES = 150
QUERIES = 50
BATCH = 25
SEED = int(os.environ.get("VEDETTE_SEED", "20231114"))
"""Printed with a failure; set the variable to see it again or to look elsewhere."""

Whole = dict[str, Any]


def process_id(number: int) -> str:
    return f"{1:08x}-0000-0000-0000-{number:012x}"


def partial(number: int, values: Whole, events: list[ProcessEvent]) -> PartialSegment:
    by_kind: dict[str, list[ProcessEvent]] = {}
    for event in events:
        by_kind.setdefault(type(event).__name__.lower(), []).append(event)
    known = {"first_server_update": 1, **values}
    return PartialSegment(
        WINDOW_MS, WINDOW_MS, WINDOW_MS, 1, process_id(number), known, by_kind, [], []
    )


def whole(number: int, values: Whole, events: list[ProcessEvent]) -> Whole:
    """The segment as the matcher takes it."""
    found: Whole = {"process_id": process_id(number), "segment_id": WINDOW_MS, "sensor_id": 1}
    found.update(values)
    for kind in EVENT_KINDS:
        mine = [event for event in events if isinstance(event, kind.struct)]
        found[f"{kind.name}_count"] = len(mine)
        for column, (attribute, _) in zip(kind.columns, kind.fields, strict=True):
            name = "time_us" if attribute == "time" else attribute
            found[column.name] = [getattr(event, name) for event in mine]
    return found


def parts_of(
    draw: random.Random, number: int, values: Whole, events: list[ProcessEvent]
) -> list[PartialSegment]:
    """The same in one to three partial rows; what is known of the process is in some of them."""
    count = draw.randrange(1, 4)
    shares: list[list[ProcessEvent]] = [[] for _ in range(count)]
    known = shared_out(draw, values, count)
    for event in events:
        draw.choice(shares).append(event)
    return [partial(number, known[i], shares[i]) for i in range(count)]


@pytest.fixture(scope="module")
def segments(store: ClickHouseEngine) -> list[Whole]:
    draw = random.Random(SEED)
    commits: list[list[PartialSegment]] = [[] for _ in range(4)]
    found = []
    for number in range(PROCESSES):
        values, events = life(draw, process_id(number))
        rows = parts_of(draw, number, values, events)
        for commit, row in zip(draw.sample(commits, len(rows)), rows, strict=True):
            commit.append(row)
        said = tags(draw, SegmentKey(WINDOW_MS, WINDOW_MS, 1, process_id(number), WINDOW_MS))
        write_tags(store, said)
        found.append(whole(number, {**values, TAGS: newest(said)}, events))
    for commit in commits:
        store.insert_arrow("segment", segment_table(commit))
    return found


def compiled(text: str, number: int = 0, indexes: SuffixIndexes = NO_SUFFIX_INDEXES) -> Condition:
    return compile_segments(
        check(parse(text), now_us=NOW_US), prefix=f"q{number}_", indexes=indexes
    )


def answers(engine: ClickHouseEngine, conditions: list[Condition]) -> list[set[str]]:
    """The ids that each of several conditions finds."""
    columns = ", ".join(f"({condition.sql})" for condition in conditions)
    params = {name: value for one in conditions for name, value in one.params.items()}
    params |= scope_params(EVERYTHING)
    sql = f"SELECT process_id, {columns} FROM segment FINAL"
    rows = engine.query(sql, params, settings=SETTINGS).rows
    assert len({row[0] for row in rows}) == len(rows) == PROCESSES
    return [{row[0] for row in rows if row[place]} for place in range(1, len(conditions) + 1)]


def matched(segments: list[Prepared], text: str) -> set[str]:
    ask = compile_match(check(parse(text), now_us=NOW_US))
    return {one.segment["process_id"] for one in segments if ask(one)}


@computing
def test_sql_and_matcher_agree_on_every_segment(
    store: ClickHouseEngine, segments: list[Whole]
) -> None:
    draw = random.Random(SEED + 1)
    prepared = [Prepared(segment) for segment in segments]
    met, count = 0, drawn(store, QUERIES)
    for first in range(0, count, BATCH):
        texts = [query(draw) for _ in range(min(BATCH, count - first))]
        conditions = [compiled(text, number) for number, text in enumerate(texts)]
        for text, found in zip(texts, answers(store, conditions), strict=True):
            expected = matched(prepared, text)
            assert found == expected, (SEED, text)
            met += 0 < len(expected) < PROCESSES
    assert met > count / 4


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_finds_itself_and_nothing_else(
    store: ClickHouseEngine, segments: list[Whole], value: str
) -> None:
    tree = check(Leaf("hostname", Exact(value)), now_us=NOW_US)
    where = compile_segments(tree)
    params = {**where.params, "value": value}
    sql = where.sql.replace("`hostname`", "{value:String}")
    found = store.query(
        f"SELECT count(), countIf({where.sql}), countIf({sql}) FROM segment FINAL",
        params,
        settings=SETTINGS,
    ).rows
    assert found == [(PROCESSES, 0, PROCESSES)]


def test_a_condition_selects_as_it_computes(store: ClickHouseEngine, segments: list[Whole]) -> None:
    """In WHERE the engine may skip what it thinks it need not read."""
    draw = random.Random(SEED + 2)
    prepared = [Prepared(segment) for segment in segments]
    for _ in range(drawn(store, 25)):
        text = query(draw)
        where = compiled(text)
        rows = store.query(
            f"SELECT process_id FROM segment FINAL WHERE {where.sql}",
            {**where.params, **scope_params(EVERYTHING)},
            settings=SETTINGS,
        ).rows
        assert {row[0] for row in rows} == matched(prepared, text), (SEED, text)


CHOSEN = (
    f"filemod:*.exe process_id:{process_id(7)}",
    f"process_name:cmd.exe -process_id:{process_id(7)} filemod:*.exe",
    f"filemod:a.tar.gz OR process_id:{process_id(7)}",
    f"cmd.exe OR process_id:{process_id(7)}",
    f"cmd.exe unique_id:{process_id(7)}-{WINDOW_MS:012x}",
    f"-unique_id:{process_id(7)}-{WINDOW_MS:012x} filemod:*.exe",
    "filemod:*.exe sensor_id:1",
    "-sensor_id:1 cmd.exe",
    "filemod:nobody_wrote_this.exe",
    "cmd.exe",
    "process_name:cmd.exe filemod:*.exe",
    "process_name:cmd.exe -filemod:*.exe",
    "-process_name:cmd.exe filemod:*.exe domain:example.com",
    "filemod:*.exe modload:*.dll regmod:*run*",
    "(process_name:cmd.exe OR filemod:a.tar.gz) -domain:com",
    "(process_name:cmd.exe modload:ntdll.dll) OR (parent_name:cmd.exe domain:com)",
)
"""Conditions of which some part can be looked up before."""


BOUNDS = ((1_000, 200_000), (5, 200_000), (5, 20))
"""Up to how many places, and rows, a search lets others narrow it."""


def ways(
    store: ClickHouseEngine, whole: Condition, patch: pytest.MonkeyPatch
) -> Iterator[Condition | None]:
    """The conditions that a search may come to when it looks into the indexes first, each once."""
    reported: list[Condition | None] = []
    for places_max, rows_max in BOUNDS:
        patch.setattr("vedette.limits.PREFILTER_PLACES_MAX", places_max)
        patch.setattr("vedette.store.plan.choose.PREFILTER_ROWS_MAX", rows_max)
        where = choose_scan(store, whole, EVERYTHING, EVERYWHERE).condition
        if where not in reported:
            yield where
        reported.append(where)


def test_a_search_that_looks_into_the_indexes_first_finds_the_same(
    store: ClickHouseEngine, segments: list[Whole], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(SEED + 3)
    prepared = [Prepared(segment) for segment in segments]
    looked = 0
    for text in [*chosen(store, CHOSEN), *(query(draw) for _ in range(drawn(store, 20)))]:
        whole = compiled(text, indexes=suffix_indexes(store))
        expected = matched(prepared, text)
        for where in ways(store, whole, monkeypatch):
            looked += where is not whole
            if where is None:
                assert not expected, (SEED, text)
                continue
            answer = search_segments(store, where, EVERYTHING, rows=PROCESSES)
            assert {row["process_id"] for row in answer.rows} == expected, (SEED, text)
            assert answer.total == len(expected), (SEED, text)
    assert looked


@pytest.mark.parametrize("rows_max", [limits.FEW_ROWS_MAX, 5])
def test_a_search_that_gathers_the_rows_of_its_answers_finds_the_same(
    store: ClickHouseEngine, segments: list[Whole], rows_max: int
) -> None:
    draw = random.Random(SEED + 4)
    prepared = [Prepared(segment) for segment in segments]
    gathered, refused = 0, 0
    for text in [*CHOSEN, *(query(draw, 1) for _ in range(drawn(store, 75)))]:
        where = gathering(
            store, compiled(text, indexes=suffix_indexes(store)), EVERYTHING, EVERYWHERE
        )
        if where is None:
            continue
        try:
            answer = search_segments(
                store, where, EVERYTHING, rows=PROCESSES, reach=Reach(rows_max=rows_max)
            )
        except ManyRowsError:
            refused += 1
            continue
        expected = matched(prepared, text)
        gathered += bool(expected)
        assert {row["process_id"] for row in answer.rows} == expected, (SEED, text)
        assert answer.total == len(expected), (SEED, text)
    assert gathered
    assert bool(refused) == (rows_max == 5)
