"""Tags of segments and binaries: written twice they are one, the newest counts, and they leave
their documents as they were."""

from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, partial, process_id, store
from vedette.model.binary_fields import BINARY
from vedette.model.event import BinarySeen
from vedette.model.findings.tag import SegmentKey, Tag
from vedette.model.scope import EVERYTHING
from vedette.query import check, compile_segments, parse
from vedette.query.compile.binaries_sql import compile_binaries
from vedette.query.compile.processes_sql import compile_processes
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.lifecycle import list_partitions, mount, open_partition, unmount
from vedette.store.plan.choose import choose_plan
from vedette.store.plan.plan import Want
from vedette.store.plan.search_bounds import EVERYWHERE
from vedette.store.read.binaries import search_binaries
from vedette.store.read.binary_facets import count_binary_facets
from vedette.store.read.detection.tags import (
    tags_of_binaries,
    tags_of_process,
    tags_of_segment,
    tags_of_segments,
)
from vedette.store.read.segment_search import NEWEST_FIRST, search_segments
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit
from vedette.store.write.tags import write_tags

NOW_US = 1_700_000_500_000_000
DAY_US = 86_400_000_000


def key(number: int = 1, window_ms: int = HOUR_MS, partition_ms: int = HOUR_MS) -> SegmentKey:
    return SegmentKey(partition_ms, window_ms, 1, process_id(number), window_ms)


def watched(document: SegmentKey | str, name: str = "4", time_us: int = NOW_US) -> Tag:
    return Tag(document=document, family="watchlist", name=name, time_us=time_us)


def reported(document: SegmentKey | str, **said: Any) -> Tag:
    known = {"name": "srs", "time_us": NOW_US, "score": 50, "report": "r1", "ioc": "evil.com"}
    return Tag(document=document, family="alliance", **{**known, **said})


def found(engine: ClickHouseEngine, text: str, *, whole: bool = False) -> list[tuple[str, int]]:
    compiler = compile_processes if whole else compile_segments
    where = compiler(check(parse(text), now_us=NOW_US))
    rows = search_segments(engine, where, EVERYTHING, rows=100).rows
    return sorted((row["process_id"], row["window_ms"]) for row in rows)


def numbers(engine: ClickHouseEngine, text: str) -> list[int]:
    return [int(name[-12:], 16) for name, _ in found(engine, text)]


@pytest.fixture
def filled(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
    store(
        contract_engine,
        *(partial(number, file(r"c:\a.exe"), seq=7, last_update=9) for number in range(1, 5)),
    )
    return contract_engine


def test_a_search_finds_what_a_watchlist_tagged(filled: ClickHouseEngine) -> None:
    assert write_tags(filled, [watched(key(1)), watched(key(2), "5")]) == 2
    assert numbers(filled, "watchlist_4:*") == [1]
    assert numbers(filled, "watchlist_0004:*") == [1]
    assert numbers(filled, "watchlist_5:2023-11-14") == [2]
    assert numbers(filled, "watchlist_5:[* TO 2023-11-13]") == []
    assert numbers(filled, "-watchlist_4:* filemod:a.exe") == [2, 3, 4]
    assert numbers(filled, "watchlist_4:* OR watchlist_5:*") == [1, 2]
    assert numbers(filled, "watchlist_6:*") == []


def test_a_search_finds_what_a_feed_says(filled: ClickHouseEngine) -> None:
    link = "https://x.example/r1"
    write_tags(
        filled,
        [
            reported(key(1), link=link),
            reported(key(2), score=-10, report="r2"),
            reported(key(3), name="other", score=0),
        ],
    )
    assert numbers(filled, "alliance_score_SRS:[10 TO *]") == [1]
    assert numbers(filled, "alliance_score_srs:*") == [1, 2]
    assert numbers(filled, "-alliance_score_srs:*") == [3, 4]
    assert numbers(filled, "alliance_score_srs:-10") == [2]
    assert numbers(filled, "alliance_score_srs:[* TO 10]") == [2]
    assert numbers(filled, "alliance_score_other:*") == [3]
    assert numbers(filled, "alliance_data_srs:r2") == [2]
    assert numbers(filled, "alliance_data_srs:r*") == [1, 2]
    assert numbers(filled, "alliance_link_srs:*") == [1]
    assert numbers(filled, f'alliance_link_srs:"{link}"') == [1]
    assert numbers(filled, "alliance_updated_srs:2023-11-14") == [1, 2]


def test_the_newest_tag_counts_merged_or_not(filled: ClickHouseEngine) -> None:
    newer = reported(key(1), score=10, time_us=NOW_US + 1)
    for tag in (
        reported(key(1)),
        newer,
        newer,
        reported(key(1)),
        watched(key(1), time_us=1),
        watched(key(1)),
    ):
        write_tags(filled, [tag])
    for _ in range(2):
        assert numbers(filled, "alliance_score_srs:[50 TO *]") == []
        assert numbers(filled, "alliance_score_srs:10") == [1]
        assert numbers(filled, "watchlist_4:[* TO 1990-01-01]") == []
        tags = tags_of_process(filled, process_id(1))
        assert sorted(tags, key=lambda tag: tag.family) == [newer, watched(key(1))]
        filled.command(f"OPTIMIZE TABLE {filled.capabilities.storage('tag')} FINAL")


def test_each_indicator_of_a_report_has_its_own_newest_tag(filled: ClickHouseEngine) -> None:
    later = reported(key(1), score=10, ioc="other", time_us=NOW_US + 1)
    write_tags(filled, [reported(key(1), score=90), later])
    assert (
        numbers(filled, "alliance_score_srs:90") == numbers(filled, "alliance_score_srs:10") == [1]
    )


def test_in_a_comprehensive_search_each_segment_has_its_own_newest_tag(
    contract_engine: ClickHouseEngine,
) -> None:
    later = partial(1, file(r"c:\b.exe"), window_ms=NEXT_MS)
    store(contract_engine, partial(1, file(r"c:\a.exe")), later)
    newer = watched(key(1, NEXT_MS), time_us=NOW_US + DAY_US)
    write_tags(contract_engine, [watched(key(1)), newer])
    for text in ("watchlist_4:2023-11-14", "watchlist_4:[2023-11-15 TO *]"):
        assert len(found(contract_engine, text, whole=True)) == 2
        assert len(found(contract_engine, text)) == 1


def test_tags_are_not_telemetry(filled: ClickHouseEngine) -> None:
    asked = "SELECT count(), max(seq), max(last_update) FROM segment"
    before = filled.query(asked).rows
    write_tags(filled, [watched(key(1)), reported(key(1))])
    assert filled.query(asked).rows == before


def test_a_tag_of_a_segment_counts_for_its_process(contract_engine: ClickHouseEngine) -> None:
    later = partial(1, file(r"c:\b.exe"), window_ms=NEXT_MS)
    other = partial(2, file(r"c:\b.exe"))
    store(contract_engine, partial(1, file(r"c:\a.exe")), later, other)
    write_tags(contract_engine, [watched(key(1))])
    both = [(process_id(1), HOUR_MS), (process_id(1), NEXT_MS)]
    assert found(contract_engine, "watchlist_4:*") == both[:1]
    assert found(contract_engine, "watchlist_4:* filemod:b.exe") == []
    assert found(contract_engine, "watchlist_4:*", whole=True) == both
    assert both[1] in found(contract_engine, "watchlist_4:* filemod:b.exe", whole=True)
    assert found(contract_engine, "-watchlist_4:*", whole=True) == [(process_id(2), HOUR_MS)]


@pytest.mark.parametrize(
    "want",
    [
        Want(NEWEST_FIRST, 10),
        Want(NEWEST_FIRST, 10, is_grouped=True),
        Want(),
        Want(NEWEST_FIRST, 2, has_facets=True),
    ],
)
@pytest.mark.parametrize(
    "text", ["watchlist_4:*", "watchlist_4:* filemod:a.exe", "watchlist_4:* OR filemod:none.exe"]
)
def test_every_plan_finds_them(filled: ClickHouseEngine, text: str, want: Want) -> None:
    write_tags(filled, [watched(key(1)), watched(key(3))])
    where = compile_segments(check(parse(text), now_us=NOW_US))
    plan = choose_plan(filled, where, EVERYTHING, want, EVERYWHERE)
    condition = plan.access.condition
    assert condition is not None
    got = search_segments(filled, condition, EVERYTHING, rows=10, ranking=plan.ranking)
    assert got.total == 2


def test_tags_go_with_their_partition(contract_engine: ClickHouseEngine) -> None:
    open_partition(contract_engine, HOUR_MS)
    store(contract_engine, partial(1, file(r"c:\a.exe")))
    write_tags(contract_engine, [watched(key(1))])
    open_partition(contract_engine, NEXT_MS)
    assert numbers(contract_engine, "watchlist_4:*") == [1]
    name = unmount(contract_engine, str(_name(contract_engine))).name
    assert numbers(contract_engine, "watchlist_4:*") == []
    assert write_tags(contract_engine, [watched(key(1), "5")]) == 0
    mount(contract_engine, name)
    assert numbers(contract_engine, "watchlist_4:*") == [1]
    assert numbers(contract_engine, "watchlist_5:*") == []


def _name(engine: ClickHouseEngine) -> str:
    return next(one.name for one in list_partitions(engine) if one.opened_ms == HOUR_MS)


def test_binaries_have_tags_too(contract_engine: ClickHouseEngine) -> None:
    rows = [
        BinaryRow(
            sensor,
            "h",
            "g",
            "windows",
            BinarySeen(5, str(number) * 32, "", "", "c:\\x.dll", {}),
            6,
            7,
        )
        for number in (1, 2)
        for sensor in (1, 2)
    ]
    write_commit(contract_engine, Commit(binaries=rows))
    one, two = "1" * 32, "2" * 32
    write_tags(contract_engine, [watched(one), reported(two, score=80), reported(two, score=80)])
    for text, expected in (
        ("watchlist_4:*", [one]),
        ("-watchlist_4:*", [two]),
        ("alliance_score_srs:[60 TO *]", [two]),
        ("alliance_score_srs:[60 TO *] OR watchlist_4:*", [one, two]),
        ("observed_filename:x.dll watchlist_4:*", [one]),
    ):
        where = compile_binaries(check(parse(text, BINARY), BINARY, now_us=NOW_US))
        got = search_binaries(contract_engine, where, EVERYTHING, (("md5", False),))
        assert [row["md5"] for row in got.rows] == expected, text
    facet = "alliance_score_srs"
    every = compile_binaries(check(parse("", BINARY), BINARY, now_us=NOW_US))
    counted = count_binary_facets(contract_engine, every, EVERYTHING, [facet, "hostname"], NOW_US)
    assert counted == {facet: [("80", 1)], "hostname": [("h", 2)]}
    assert list(tags_of_binaries(contract_engine, [one, two])) in ([one, two], [two, one])


def test_tags_of_a_page(filled: ClickHouseEngine) -> None:
    write_tags(filled, [watched(key(1)), watched(key(2))])
    asked = [(process_id(2), HOUR_MS), (process_id(3), HOUR_MS), (process_id(1), NEXT_MS)]
    assert tags_of_segments(filled, asked) == {asked[0]: [watched(key(2))]}
    assert tags_of_segments(filled, []) == {}
    assert tags_of_process(filled, process_id(1)) == [watched(key(1))]
    write_tags(filled, [watched(key(1), "5")])
    assert len(tags_of_process(filled, process_id(1))) == 2


def test_tags_of_a_segment_are_cached_until_it_is_tagged(filled: ClickHouseEngine) -> None:
    segment, later = (process_id(1), HOUR_MS), (process_id(1), NEXT_MS)
    write_tags(filled, [watched(key(1))])
    for _ in range(2):
        assert tags_of_segment(filled, segment) == [watched(key(1))]
        assert tags_of_segment(filled, later) == []
    write_tags(filled, [watched(key(1, NEXT_MS), "5")])
    assert tags_of_segment(filled, segment) == [watched(key(1))]
    assert tags_of_segment(filled, later) == [watched(key(1, NEXT_MS), "5")]
    write_tags(filled, [watched(key(1), "6")])
    assert len(tags_of_segment(filled, segment)) == 2
