"""Facets: every value with its count, in one pass, on plain and on Distributed tables."""

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, connection, file, partial, store
from vedette.errors import BadRequestError
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import Condition, check, compile_segments, parse
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read import segment_facets
from vedette.store.read.segment_facets import FACETS, count_facets
from vedette.store.read.segment_search import count_segments
from vedette.store.sql.scope_filter import ALL

DAY_US = 24 * 3600 * 1_000_000
NOW_US = 20_000 * DAY_US + 5
TODAY = 20_000


def seeded(engine: ClickHouseEngine) -> None:
    """Three processes on two hosts; the first has two segments, one of two partial rows."""
    store(
        engine,
        partial(1, file("c:\\a"), hostname="a", process_name="x.exe", start=NOW_US - 2),
        partial(2, hostname="a", process_name="y.exe", start=NOW_US - 29 * DAY_US, sensor_id=2),
        partial(3, hostname="b", process_name="x.exe", start=NOW_US - 30 * DAY_US, host_type="s"),
    )
    store(engine, partial(1, connection("d.com")))
    store(engine, partial(1, hostname="a", process_name="x.exe", window_ms=NEXT_MS))


def test_every_value_is_counted_once_a_segment(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    found = count_facets(contract_engine, ALL, EVERYTHING, list(FACETS), NOW_US)
    assert found.total == 4
    assert found.counts == {
        "process_md5": [],
        "hostname": [("a", 3), ("b", 1)],
        "group": [],
        "path_full": [],
        "parent_name": [],
        "process_name": [("x.exe", 3), ("y.exe", 1)],
        "host_type": [("workstation", 3), ("s", 1)],
        "hour_of_day": [(0, 2), (23, 1)] if (NOW_US - 2) // 3_600_000_000 % 24 else [(0, 3)],
        "day_of_week": found.counts["day_of_week"],
        "start": [(TODAY - 29, 1), (TODAY, 1)],
        "username_full": [],
    }
    assert sum(count for _, count in found.counts["day_of_week"]) == 3


def test_facets_are_of_the_whole_result_of_a_query(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    where = compile_segments(check(parse("filemod:a domain:d.com"), now_us=NOW_US))
    found = count_facets(contract_engine, where, EVERYTHING, ["hostname"], NOW_US)
    assert (found.total, found.counts) == (1, {"hostname": [("a", 1)]})


def test_facets_see_what_the_caller_may_see(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    found = count_facets(contract_engine, ALL, Scope(frozenset({2})), ["process_name"], NOW_US)
    assert found.counts == {"process_name": [("y.exe", 1)]}


def test_facets_of_groups_count_groups(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    found = count_facets(
        contract_engine, ALL, EVERYTHING, ["hostname", "process_name"], NOW_US, group="process_id"
    )
    assert found.total == 3
    assert found.counts["hostname"] == [("a", 2), ("b", 1)]
    assert found.counts["process_name"] == [("x.exe", 2), ("y.exe", 1)]


def test_the_200_most_frequent_values_are_listed(contract_engine: ClickHouseEngine) -> None:
    rows = [partial(number, process_name=f"p{number % 250:03d}") for number in range(400)]
    store(contract_engine, *rows, *(partial(1_000 + number) for number in range(9)))
    found = count_facets(contract_engine, ALL, EVERYTHING, ["process_name"], NOW_US)
    assert found.counts["process_name"] == [
        *((f"p{number:03d}", 2) for number in range(150)),
        *((f"p{number:03d}", 1) for number in range(150, 200)),
    ]


def test_a_fuzzy_count_adds_up_to_the_exact_total(
    contract_engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_facets, "FACET_FUZZY_TOTAL_MIN", 100)
    rows = [
        partial(number, hostname="ab"[number % 4 == 0], window_ms=HOUR_MS + number // 4 * 300_000)
        for number in range(400)
    ]
    store(contract_engine, *rows)
    found = count_facets(contract_engine, ALL, EVERYTHING, ["hostname"], NOW_US, fuzzy_total=400)
    assert found.counts["hostname"] == [("a", 300), ("b", 100)]
    assert found.total == 400
    exact = count_facets(contract_engine, ALL, EVERYTHING, ["hostname"], NOW_US, fuzzy_total=99)
    assert exact.counts == found.counts


@pytest.mark.parametrize("name", ["no_such", "hostname`", ""])
def test_an_unknown_facet_is_refused_by_name(engine: ClickHouseEngine, name: str) -> None:
    with pytest.raises(BadRequestError, match=f"{name!r}"):
        count_facets(engine, ALL, EVERYTHING, [name], NOW_US)


def test_a_doubled_cluster_counts_twice(doubled_engine: ClickHouseEngine) -> None:
    seeded(doubled_engine)
    total = count_segments(doubled_engine, Condition("1"), EVERYTHING)
    found = count_facets(doubled_engine, ALL, EVERYTHING, ["hostname"], NOW_US)
    assert (found.total, sum(count for _, count in found.counts["hostname"])) == (total, total)


def test_the_rarest_values_are_those_of_all(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    names = list(FACETS)
    everything = count_facets(contract_engine, ALL, EVERYTHING, names, NOW_US).counts
    rarest = count_facets(
        contract_engine, ALL, EVERYTHING, names, NOW_US, fuzzy_total=10**6, values=2, is_rarest=True
    ).counts
    for name, values in everything.items():
        least = sorted(values, key=lambda one: (one[1], one[0]))[:2]
        assert rarest[name] == least, name
