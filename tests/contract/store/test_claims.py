"""The engine keeps the best claim of a group as a whole: in any order of arrival, in any state of
its parts, by every way of reading."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, partial, process_id, store
from tests.support.forms import one_of
from vedette.model.columns import HOST, PROCESS, Column
from vedette.model.metadata_rank import (
    GROUP_OF,
    GROUPS,
    RANK_COLUMN_OF,
    Rank,
    merge_ranked,
    ranked,
    whole_claims,
)
from vedette.model.scope import EVERYTHING
from vedette.query import SETTINGS
from vedette.query.check.checker import check
from vedette.query.compile.segments_sql import compile_segments
from vedette.query.parse.parser import parse
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.partitions.index_build import index_next_partition, suffix_indexes
from vedette.store.partitions.lifecycle import mount, open_partition, unmount
from vedette.store.partitions.partition import partition_name
from vedette.store.plan.choose import choose_few_segments, choose_scan
from vedette.store.plan.search_bounds import EVERYWHERE
from vedette.store.read import process as stored
from vedette.store.read.process_metadata import newest_row
from vedette.store.read.recovery import host_context, known_processes
from vedette.store.read.segment_search import search_segments
from vedette.store.sql.scope_filter import scope_params
from vedette.watchlists.silent_fields import silent_fields

SEED = 20_261_129
PROCESSES = 25
TEXTS = ("", "a", "z", "\u20ac", "C:\\O'Neil \\x27\\cmd.exe")
BACKFILLED = {name for group in GROUPS for name in group.backfilled}
GROUPED = tuple(
    column for column in PROCESS if column.name in GROUP_OF and column.name not in BACKFILLED
)
"""Backfilled columns are completed by the writer, not by the merge of claims."""

Claim = dict[str, Any]
Places = set[tuple[Any, ...]]

WORDS = ("C:\\Windows\\cmd.exe", "C:\\zz\\zzz.exe", "ann", "zoe")
DIGESTS = ("a" * 32, "f" * 32)
DIGEST_COLUMNS = {"process_md5", "process_sha256", "process_sha1"}
SEARCHES = (
    "path:cmd.exe",
    "-path:cmd.exe",
    "path:zz\\zzz.exe",
    "process_name:ann",
    "-process_name:ann",
    "cmdline:zzz.exe",
    "-cmdline:zzz.exe",
    "username:zoe",
    "-username:zoe",
    "parent_name:cmd.exe",
    f"process_md5:{DIGESTS[0]}",
    f"-process_md5:{DIGESTS[1]}",
    "zzz.exe",
    "-zzz.exe",
    "cmd.exe -username:ann",
    "process_name:ann OR filemod:a.txt",
    "process_name:ann filemod:a.txt",
    "(path:zzz.exe OR username:zoe) -cmdline:cmd.exe",
)


def drawn(dice: random.Random, time_us: int) -> Claim:
    """Returns the claim of one record about a process. All claims have different times."""
    values = {
        column.name: dice.choice(TEXTS) if column.type == "text" else dice.randrange(1, 9)
        for column in dice.sample(GROUPED, dice.randrange(1, len(GROUPED)))
    }
    return ranked(values, dice.choice(list(Rank)), time_us)


def written(claim: Claim) -> Claim:
    """A claim as a row of its own."""
    return whole_claims(dict(claim), claim, {})


def best(claims: list[Claim]) -> Claim:
    known: Claim = {}
    for claim in claims:
        merge_ranked(known, claim)
    return {
        column.name: known.get(column.name) or ("" if column.type == "text" else 0)
        for column in GROUPED
    }


def shown(row: dict[str, Any]) -> Claim:
    return {column.name: row[column.name] for column in GROUPED}


def check_reads(engine: Engine, wanted: dict[str, Claim], state: str) -> None:
    ids = list(wanted)
    whole = stored.process_rows(engine, ids, EVERYTHING)
    known = known_processes(engine, ids)
    every = compile_segments(check(parse(""), now_us=0))
    found = search_segments(engine, every, EVERYTHING, rows=2 * len(ids)).rows
    context = {one.process_id: one for one in host_context(engine, [1])}
    for name, values in wanted.items():
        assert shown(whole[name]) == values, f"{state}: grouped by process"
        newest = newest_row(engine, name, EVERYTHING)
        assert newest is not None
        assert shown(newest) == values, f"{state}: FINAL"
        facts = known[name].facts
        assert {key: facts.get(key) or values[key] for key in values} == values, state
        assert not [key for key in values if facts.get(key) and not values[key]], state
        segments = [row for row in found if row["process_id"] == name]
        assert [shown(row) for row in segments] == [values, values], f"{state}: page of a search"
        assert context[name].path == values["path"], f"{state}: context of the host"


def test_the_best_claim_is_kept_in_any_order_and_state(contract_engine: ClickHouseEngine) -> None:
    engine = contract_engine
    dice = random.Random(SEED)
    claims = {
        number: [drawn(dice, 1 + time_us) for time_us in range(dice.randrange(1, 6))]
        for number in range(1, PROCESSES + 1)
    }
    rows = []
    for number, some in claims.items():
        for window_ms in (HOUR_MS, NEXT_MS):
            rows += [partial(number, window_ms=window_ms, **written(claim)) for claim in some]
            rows.append(partial(number, file("C:\\a"), window_ms=window_ms))
    dice.shuffle(rows)
    step = len(rows) // 4 + 1
    for at in range(0, len(rows), step):
        store(engine, *rows[at : at + step])
    wanted = {process_id(number): best(some) for number, some in claims.items()}
    check_reads(engine, wanted, "separate parts")
    table = f"`{engine.capabilities.storage('segment')}`"
    engine.command(f"OPTIMIZE TABLE {table} FINAL")
    check_reads(engine, wanted, "merged")
    later = {number: [*some, drawn(dice, 99)] for number, some in claims.items()}
    for window_ms in (HOUR_MS, NEXT_MS):
        rows = [
            partial(number, window_ms=window_ms, **written(some[-1]))
            for number, some in later.items()
        ]
        store(engine, *rows)
    wanted = {process_id(number): best(some) for number, some in later.items()}
    check_reads(engine, wanted, "merged, and a later part")


def tied(dice: random.Random) -> Claim:
    """A claim that has the rank of others, with other values."""
    values = {
        column.name: _value(dice, column)
        for column in dice.sample(GROUPED, dice.randrange(1, len(GROUPED)))
    }
    return ranked(values, dice.choice((Rank.OTHERS, Rank.OWN)), dice.randrange(3))


def _value(dice: random.Random, column: Column) -> Any:
    if column.type != "text":
        return dice.randrange(1, 9)
    return dice.choice(("", *DIGESTS) if column.name in DIGEST_COLUMNS else ("", *WORDS))


def by_column(claims: list[Claim]) -> Claim:
    """Returns the merged values of these claims: each column by rank, then value."""
    values: Claim = {}
    for column in GROUPED:
        rank, empty = RANK_COLUMN_OF[column.name], "" if column.type == "text" else 0
        values[column.name] = max(
            (claim.get(rank, 0), claim.get(column.name) or empty) for claim in claims
        )[1]
    return values


def plainly(engine: Engine, text: str) -> Places:
    """Segments that match, by a reading of all rows without indexes."""
    where = compile_segments(check(parse(text), now_us=1))
    rows = engine.query(
        f"SELECT process_id, window_ms FROM segment FINAL WHERE {where.sql}",
        {**where.params, **scope_params(EVERYTHING)},
        settings={**SETTINGS, "use_skip_indexes": 0},
    ).rows
    return set(map(tuple, rows))


def with_indexes(engine: Engine, text: str) -> Iterator[Places]:
    """Segments that match, by every plan of a search that looks into indexes."""
    where = compile_segments(check(parse(text), now_us=1), indexes=suffix_indexes(engine))
    for access in (
        choose_scan(engine, where, EVERYTHING, EVERYWHERE),
        choose_few_segments(engine, where, EVERYTHING, EVERYWHERE),
    ):
        if access is None:
            continue
        condition = access.condition
        rows = search_segments(engine, condition, EVERYTHING, rows=999).rows if condition else []
        yield {(row["process_id"], row["window_ms"]) for row in rows}


def check_searches(engine: Engine, state: str) -> None:
    met = 0
    asked = one_of(3, SEARCHES)
    for text in asked:
        expected = plainly(engine, text)
        met += bool(expected)
        for places in with_indexes(engine, text):
            assert places == expected, f"{state}: {text}"
    assert met > len(asked) / 2


def test_claims_of_one_rank_are_decided_alike_by_every_read_in_every_state(
    contract_engine: ClickHouseEngine,
) -> None:
    """Processes `n` and `100 + n` get the same claims in another order."""
    engine = contract_engine
    dice = random.Random(SEED + 1)
    claims = {number: [tied(dice) for _ in range(4)] for number in range(1, 9)}
    expected = {
        process_id(number + more): by_column(some)
        for number, some in claims.items()
        for more in (0, 100)
    }
    open_partition(engine, HOUR_MS)
    for turn in range(4):
        rows = []
        for number, some in claims.items():
            for window_ms in (HOUR_MS, NEXT_MS):
                for more, claim in ((0, some[turn]), (100, some[-1 - turn])):
                    row = partial(number + more, window_ms=window_ms, **written(claim))
                    rows += [row, partial(number, file("C:\\a.txt"), window_ms=window_ms)]
        store(engine, *rows)
        if turn == 1:
            engine.command(f"OPTIMIZE TABLE `{engine.capabilities.storage('segment')}` FINAL")
    check_reads(engine, expected, "some merged")
    check_searches(engine, "some merged")
    open_partition(engine, HOUR_MS + 3_600_000)
    engine.command(f"OPTIMIZE TABLE `{engine.capabilities.storage('segment')}` FINAL")
    while index_next_partition(engine) is not None:
        pass
    check_reads(engine, expected, "closed, merged and indexed")
    check_searches(engine, "closed, merged and indexed")
    store(engine, *(partial(number, **written(some[0])) for number, some in claims.items()))
    check_reads(engine, expected, "a late row in a closed partition")
    check_searches(engine, "a late row in a closed partition")
    unmount(engine, partition_name(HOUR_MS))
    mount(engine, partition_name(HOUR_MS))
    check_reads(engine, expected, "mounted again")
    check_searches(engine, "mounted again")


LIE: Claim = {"path": "C:\\zzz.exe", "process_name": "zzz.exe", "process_md5": "f" * 32}
LIE |= {"username": "CORP\\zoe", "cmdline": "zzz -z", "parent_id": process_id(8)}
TRUTH: Claim = {"path": "C:\\cmd.exe", "process_name": "cmd.exe", "username": "CORP\\ann"}
TRUTH |= {"parent_id": process_id(7)}


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("process_name:cmd.exe", 1),
        ("process_name:zzz.exe", 0),
        ("-process_name:zzz.exe", 1),
        ("path:zzz.exe", 0),
        ("path:cmd.exe", 1),
        (f"process_md5:{'f' * 32}", 0),
        (f"-process_md5:{'f' * 32}", 1),
        ("username:zoe", 0),
        ("username:ann process_name:cmd.exe", 1),
        ("process_name:cmd.exe username:zoe", 0),
        ("process_name:cmd.exe filemod:a.txt", 1),
        ("process_name:zzz.exe or filemod:b.txt", 0),
    ],
)
def test_a_search_finds_the_best_claim_alone(
    contract_engine: ClickHouseEngine, order: int, query: str, count: int
) -> None:
    engine = contract_engine
    some = [ranked(LIE, Rank.OTHERS, 1), ranked(TRUTH, Rank.CREATION, 2)][::order]
    for claim in some:
        store(engine, partial(1, file("C:\\a.txt"), **written(claim)))
    where = compile_segments(check(parse(query), now_us=0))
    assert search_segments(engine, where, EVERYTHING).total == count


@pytest.mark.parametrize("order", [1, -1])
def test_a_process_is_a_child_of_the_parent_of_its_best_claim(
    contract_engine: ClickHouseEngine, order: int
) -> None:
    engine = contract_engine
    for claim in [ranked(LIE, Rank.OTHERS, 1), ranked(TRUTH, Rank.CREATION, 2)][::order]:
        store(engine, partial(1, file("C:\\a.txt"), process_pid=5, **written(claim)))
    for parent, children in ((7, [process_id(1)]), (8, [])):
        rows = stored.children_of(engine, process_id(parent), EVERYTHING, limit=9)
        assert [row["process_id"] for row in rows] == children
        ids = stored.ids_of_pid(engine, process_id(parent), 5, EVERYTHING, limit=9)
        assert ids == children


def children(engine: Engine, parent: int) -> list[str]:
    rows = stored.children_of(engine, process_id(parent), EVERYTHING, limit=9)
    return [row["process_id"] for row in rows]


def test_a_better_claim_moves_a_child_to_another_parent_at_once(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, **written(ranked(LIE, Rank.OTHERS, 1))))
    assert (children(engine, 7), children(engine, 8)) == ([], [process_id(1)])
    store(engine, partial(1, **written(ranked(TRUTH, Rank.CREATION, 2))))
    assert (children(engine, 7), children(engine, 8)) == ([process_id(1)], [])


def test_children_are_in_the_order_of_their_best_starts_at_once(engine: ClickHouseEngine) -> None:
    for number in (1, 2):
        claim = ranked({"parent_id": process_id(7), "start": number}, Rank.OWN, 1)
        store(engine, partial(number, **written(claim)))
    assert children(engine, 7) == [process_id(1), process_id(2)]
    store(engine, partial(1, **written(ranked({"start": 3}, Rank.CREATION, 1))))
    assert children(engine, 7) == [process_id(2), process_id(1)]


def test_a_field_that_only_a_lost_claim_has_is_silent(contract_engine: ClickHouseEngine) -> None:
    queries = {1: f"process_md5:{'f' * 32}", 2: "original_filename:a.exe", 3: "path:cmd.exe"}
    store(contract_engine, partial(1, **written(ranked(LIE, Rank.OTHERS, 1))))
    silent = silent_fields(contract_engine, EVERYTHING, queries, 1, EVERYWHERE)
    assert silent == {2: ("original_filename",)}
    store(contract_engine, partial(1, **written(ranked(TRUTH, Rank.CREATION, 2))))
    silent = silent_fields(contract_engine, EVERYTHING, queries, 1, EVERYWHERE)
    assert silent == {1: ("process_md5",), 2: ("original_filename",)}


def test_columns_of_the_host_are_no_claims() -> None:
    assert not {column.name for column in HOST} & GROUP_OF.keys()
