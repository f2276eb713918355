"""A process search from parameters to body, where it depends on the engine: what it does when
time runs out, and what it says of parts of the store that it did not see."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, connection, file, partial, store
from vedette.errors import UnavailableError
from vedette.model.fields import PROCESS
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import check, parse
from vedette.search.deadline import with_fallback
from vedette.search.partition_coverage import coverage
from vedette.search.processes.process_search import search_processes
from vedette.search.search_request import Windows
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.lifecycle import open_partition, unmount
from vedette.store.partitions.partition import partition_name
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_search import count_segments
from vedette.store.sql.scope_filter import ALL
from vedette.web.json.wire_values import instant
from vedette.web.processes.search_parameters_json import search_request
from vedette.web.processes.search_results_json import process_results_body

NOW_US = NEXT_MS * 1_000


@dataclass(frozen=True)
class Settings:
    search_deadline_s: Any = 60
    block_leading_wildcards: bool = False
    fuzzy_facets: bool = False
    count_filtered_results: bool = True
    block_large_joins: bool = False
    join_binaries_max: int = 10_000_000


def ask(
    engine: ClickHouseEngine,
    parameters: dict[str, str],
    scope: Scope = EVERYTHING,
    deadline_s: float = 60,
) -> dict[str, Any]:
    request = search_request(list(parameters.items()))
    found = search_processes(engine, scope, request, Settings(deadline_s), NOW_US)
    return process_results_body(found)


def seeded(engine: ClickHouseEngine) -> None:
    """A process in two windows on one host, another on a second host."""
    files = [file("c:\\a.txt"), file("c:\\b.txt")]
    store(engine, partial(1, *files, hostname="a", last_update=NOW_US - 2))
    store(
        engine,
        partial(
            1,
            file("c:\\a.txt"),
            connection("d.com"),
            hostname="a",
            window_ms=NEXT_MS,
            last_update=NOW_US - 1,
        ),
    )
    store(engine, partial(2, file("c:\\a.txt"), hostname="b", sensor_id=2, last_update=NOW_US))


@pytest.mark.parametrize(
    ("parameters", "total", "hidden"),
    [
        ({"q": "filemod:a.txt"}, 2, 1),
        ({"q": "filemod:a.txt", "svc.group": "id"}, 1, 1),
        ({"q": "filemod:b.txt domain:d.com", "svc.comprehensive_search": "true"}, 2, 0),
        ({"q": "filemod_count:[3 TO *]", "svc.comprehensive_search": "true"}, 2, 0),
        ({"q": "filemod_count:[3 TO *]"}, 0, 0),
        ({"q": "-domain:d.com", "cb.comprehensive_search": "1", "cb.group": "id"}, 0, 1),
        ({"facet": "true", "facet.field": "hostname", "rows": "0"}, 2, 1),
    ],
)
def test_totals_are_exact_and_so_is_what_the_scope_removed(
    contract_engine: ClickHouseEngine, parameters: dict[str, str], total: int, hidden: int
) -> None:
    seeded(contract_engine)
    body = ask(contract_engine, parameters, Scope(frozenset({1})))
    assert (body["total_results"], body["filtered"]) == (total, hidden)


def test_highlights_have_the_events_of_the_page(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    body = ask(contract_engine, {"q": "filemod:a.txt hostname:a"})
    found = {entry["name"]: len(entry["ids"]) for entry in body["highlights"]}
    assert found == {"c:\\PREPREPREa.txtPOSTPOSTPOST": 2, "PREPREPREaPOSTPOSTPOST": 2}


def test_a_search_without_time_answers_incomplete(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    asked = {"q": "filemod:a.txt", "facet": "true", "facet.field": "hostname"}
    body = ask(contract_engine, asked, deadline_s=1e-9)
    assert (body["incomplete_results"], body["all_segments"]) == (True, False)
    assert (body["results"], body["total_results"]) == ([], 0)
    assert (body["facets"], body["highlights"]) == ({"hostname": []}, [])


def test_a_slow_search_looks_at_the_newest_part(contract_engine: ClickHouseEngine) -> None:
    windows = range(HOUR_MS, HOUR_MS + 200 * 300_000, 300_000)
    store(contract_engine, *(partial(1, window_ms=window_ms) for window_ms in windows))

    def slow(reach: Reach) -> int:
        found = count_segments(contract_engine, ALL, EVERYTHING, reach=reach)
        if found > 10:
            raise UnavailableError("too slow for so many", reason="deadline")
        return found

    attempt = with_fallback(contract_engine, 60, slow)
    assert attempt.answer in range(2, 6)
    assert not attempt.is_whole
    assert attempt.since_ms > HOUR_MS


def test_how_far_a_slow_search_came_tells_nothing_of_other_hosts(
    contract_engine: ClickHouseEngine,
) -> None:
    windows = range(HOUR_MS, HOUR_MS + 80 * 300_000, 300_000)
    store(contract_engine, *(partial(1, window_ms=window_ms) for window_ms in windows))

    def since_ms() -> int:
        def slow(reach: Reach) -> int:
            if not reach.since_ms:
                raise UnavailableError("too slow", reason="deadline")
            return 1

        return with_fallback(contract_engine, 60, slow, Scope(frozenset({1}))).since_ms

    before = since_ms()
    hidden = [partial(n, sensor_id=2, window_ms=windows[-1] + 300_000) for n in range(300)]
    store(contract_engine, *hidden)
    assert since_ms() == before


def test_a_search_says_how_many_partitions_it_read(contract_engine: ClickHouseEngine) -> None:
    """Whole ones, of those that may hold results."""
    for number in range(4):
        opened_ms = HOUR_MS + number * 3_600_000
        open_partition(contract_engine, opened_ms)
        store(contract_engine, partial(number, partition_ms=opened_ms, window_ms=opened_ms))
    unmount(contract_engine, partition_name(HOUR_MS))
    tree = check(parse("process_name:*", PROCESS), PROCESS, now_us=NOW_US)

    def reported(since_ms: int, *, is_answered: bool = True) -> tuple[int, int, int]:
        found = coverage(contract_engine, tree, since_ms, is_answered=is_answered)
        return found.whole, found.of, found.unmounted

    assert reported(0) == (3, 4, 1)
    assert reported(HOUR_MS + 2 * 3_600_000) == (2, 4, 1)
    assert reported(HOUR_MS + 2 * 3_600_000 + 300_000) == (1, 4, 1)
    assert reported(0, is_answered=False) == (0, 4, 1)
    rest = coverage(contract_engine, tree, 0, is_answered=True, before_ms=HOUR_MS + 2 * 3_600_000)
    assert (rest.whole, rest.of, rest.unmounted) == (1, 2, 1)


@pytest.mark.parametrize("name", ["svc.before", "cb.before"])
def test_a_search_before_a_window_completes_the_one_that_stopped_there(
    contract_engine: ClickHouseEngine, name: str
) -> None:
    """Counts, facets and what the scope removed are of the part alone."""
    seeded(contract_engine)
    border = {name: instant(NEXT_MS * 1_000)}
    asked = {"q": "filemod:a.txt", "facet": "true", "facet.field": "hostname"}
    for scope, hidden in ((EVERYTHING, 0), (Scope(frozenset({1})), 1)):
        body = ask(contract_engine, {**asked, **border}, scope)
        assert body["total_results"] == 2 - hidden
        assert (body["filtered"], body["incomplete_results"]) == (hidden, False)
    assert ask(contract_engine, asked)["total_results"] == 3
    assert ask(contract_engine, {**asked, name: instant(HOUR_MS * 1_000)})["total_results"] == 0


def test_what_is_left_of_a_search_is_read_on_from_its_border(
    contract_engine: ClickHouseEngine,
) -> None:
    windows = range(HOUR_MS, HOUR_MS + 40 * 300_000, 300_000)
    store(contract_engine, *(partial(1, window_ms=window_ms) for window_ms in windows))
    read: list[int] = []

    def slow(reach: Reach) -> int:
        found = count_segments(contract_engine, ALL, EVERYTHING, reach=reach)
        if found > 10:
            raise UnavailableError("too slow for so many", reason="deadline")
        return found

    border_ms = 0
    while not read or border_ms:
        attempt = with_fallback(contract_engine, 60, slow, windows=Windows(before_ms=border_ms))
        assert attempt.answer is not None
        assert not border_ms or attempt.since_ms < border_ms
        read.append(attempt.answer)
        border_ms = attempt.since_ms
    assert len(read) > 2
    assert sum(read) == len(windows)


def test_other_failures_are_not_taken_for_a_deadline(engine: ClickHouseEngine) -> None:
    def broken(reach: Reach) -> int:
        raise UnavailableError("the disk is full")

    with pytest.raises(UnavailableError, match="disk"):
        with_fallback(engine, 60, broken)


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("", False),
        ("hostname:a", False),
        ("last_update:[2020-01-01 TO *]", False),
        ("last_update:[2030-01-01 TO *]", True),
        ("hostname:a start:2030-01-01", True),
        ("last_update:[2030-01-01 TO *] OR hostname:a", False),
        ("-last_update:[2030-01-01 TO *]", False),
        ("last_server_update:[2030-01-01 TO *]", False),
    ],
)
def test_an_unmounted_partition_is_admitted_unless_it_is_too_old(
    engine: ClickHouseEngine, query: str, seen: bool
) -> None:
    open_partition(engine, HOUR_MS)
    open_partition(engine, NEXT_MS)
    assert ask(engine, {"q": query})["all_segments"] is True
    unmount(engine, partition_name(HOUR_MS))
    body = ask(engine, {"q": query})
    assert (body["all_segments"], body["incomplete_results"]) == (seen, False)


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_an_unknown_start_is_null_sorted_last_and_in_no_range(
    contract_engine: ClickHouseEngine, direction: str
) -> None:
    starts = {1: NOW_US - 5, 2: 0, 3: NOW_US - 3}
    rows = (partial(n, start=at, last_update=NOW_US - n) for n, at in starts.items())
    store(contract_engine, *rows)
    found = ask(contract_engine, {"q": "", "sort": f"start {direction}"})["results"]
    assert found[-1]["start"] is None
    assert all(one["start"] for one in found[:-1])
    assert ask(contract_engine, {"q": "start:[* TO *]"})["total_results"] in (2, 3)
    assert ask(contract_engine, {"q": "start:[* TO now]"})["total_results"] == 2
