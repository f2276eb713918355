"""Process analysis over many segments, out of time, and on Distributed tables."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.store.rows import (
    HOUR_MS,
    NEXT_MS,
    child,
    connection,
    file,
    module,
    partial,
    store,
)
from tests.contract.store.rows import process_id as name
from tests.support.started_state import put_started_state
from vedette.errors import NotFoundError
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import Childproc
from vedette.model.event_facets import EventFilter, criteria_of
from vedette.model.scope import EVERYTHING, Scope
from vedette.search.events.bulk_facets import EventFacets, bulk
from vedette.search.processes.metadata import metadata
from vedette.search.processes.segment_lookup import (
    SEGMENTS_A_LINE,
    SuppressionCheck,
    read_batch,
    segment_batches,
    suppression,
    verified_segment,
)
from vedette.search.streams.filtered_counts import FilteredCounts
from vedette.search.streams.stream import (
    Page,
    Reader,
    StreamPage,
    create,
    filter_events,
    read,
)
from vedette.search.streams.stream_cursor import JumpBy, Seek
from vedette.state.db.database import open_database
from vedette.store.engine.capabilities import BY_PROCESS
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.segment_counts import load_segment_counts, of_process, present_segment
from vedette.store.schema.tables import BY_PROCESS_COLUMNS
from vedette.web.processes.analysis.models import event_facets_body, metadata_body

P1 = name(1)
NOW_US = 1_700_000_500_000_000


def many(engine: ClickHouseEngine, segments: int) -> list[int]:
    """Segments with two files and a module each; the second file comes in a second post."""
    ids = [HOUR_MS + 300_000 * number for number in range(segments)]
    for path in ("c:\\a\\one", "c:\\b\\two"):
        events = [file(path)] if path.endswith("two") else [file(path), module("m")]
        store(engine, *(partial(1, *events, window_ms=at, last_update=1_000) for at in ids))
    return ids


@pytest.fixture
def reader(contract_engine: ClickHouseEngine, tmp_path: Path) -> Reader:
    credentials = put_started_state(tmp_path, NOW_US)
    database = open_database("", tmp_path)
    return Reader(
        contract_engine, database, FilteredCounts(), EVERYTHING, credentials.username, 100, NOW_US
    )


def test_segments_come_in_lines_of_a_limited_length(contract_engine: ClickHouseEngine) -> None:
    ids = many(contract_engine, SEGMENTS_A_LINE + 3)
    batches = [
        [one.segment_id for one in read_batch(contract_engine, EVERYTHING, P1, batch).segments]
        for batch in segment_batches(contract_engine, EVERYTHING, P1, ids[1])
    ]
    assert [len(batch) for batch in batches] == [SEGMENTS_A_LINE, 2]
    assert [segment for batch in batches for segment in batch] == ids[1:]


def test_a_line_is_read_when_it_is_asked_for(contract_engine: ClickHouseEngine) -> None:
    many(contract_engine, SEGMENTS_A_LINE + 1)
    first, last = segment_batches(contract_engine, EVERYTHING, P1, 0)
    assert read_batch(contract_engine, EVERYTHING, P1, first).segments
    contract_engine.command("TRUNCATE TABLE " + contract_engine.capabilities.storage("segment"))
    assert read_batch(contract_engine, EVERYTHING, P1, last).segments == []


def test_bulk_goes_in_steps_and_counts_each_event_once(
    contract_engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(contract_engine, 10)
    monkeypatch.setattr("vedette.search.events.bulk_facets.BULK_EVENTS_A_STEP", 7)
    facets = facets_of(bulk(contract_engine, EVERYTHING, P1, 1, None, 60))
    assert (facets["num_found"], facets["processed_segments"]) == (30, 10)
    directories = next(term for term in facets["terms"] if term["field"] == "directory")
    assert directories["values"] == [
        {"id": "c:\\a\\", "name": "c:\\a\\", "total": 10},
        {"id": "c:\\b\\", "name": "c:\\b\\", "total": 10},
    ]


@pytest.mark.parametrize("timeout_s", [0.0, 0.001])
def test_bulk_out_of_time_says_what_it_has(
    contract_engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch, timeout_s: float
) -> None:
    many(contract_engine, 10)
    monkeypatch.setattr("vedette.search.events.bulk_facets.BULK_EVENTS_A_STEP", 3)
    counted = bulk(contract_engine, EVERYTHING, P1, 1, None, timeout_s)
    assert counted.is_partial
    assert counted.segments < 10
    assert counted.found == 3 * counted.segments


def test_a_field_with_too_many_values_is_cut_short(
    contract_engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.search.events.bulk_facets.FACET_VALUES_HELD_MAX", 3)
    monkeypatch.setattr("vedette.web.processes.analysis.models.FACET_VALUES_MAX", 2)
    events = [connection(f"d{n}", time_us=n + 1) for n in range(6)]
    store(contract_engine, partial(1, *events, last_update=1))
    terms = facets_of(bulk(contract_engine, EVERYTHING, P1, 1, None, 60))["terms"]
    domains = next(term for term in terms if term["field"] == "domain")
    assert len(domains["values"]) == 2


def facets_of(counted: EventFacets) -> dict[str, Any]:
    facets: dict[str, Any] = event_facets_body(counted)["facets"]
    return facets


def kinds(page: StreamPage) -> list[str]:
    return [item.kind.name for item in page.events]


def test_a_stream_goes_over_partial_rows_as_over_whole_segments(reader: Reader) -> None:
    ids = many(reader.engine, 40)
    stream_id = create(reader, P1, 1, False).stream_id
    page = read(reader, stream_id, Page(6, Seek(58)))
    assert (page.segment_id, page.offset) == (ids[19], 1)
    assert kinds(page) == ["filemod", "modload", "filemod", "filemod", "modload", "filemod"]
    page = filter_events(reader, stream_id, {"directory": ["c:\\b\\"]}, Page(100))
    assert len(page.events) == 21
    page = read(reader, stream_id, Page(1, JumpBy(20)))
    assert (page.segment_id, page.status_forward) == (ids[39], "current")


def test_counts_of_a_filter_are_cached_and_follow_new_events(reader: Reader) -> None:
    many(reader.engine, 3)
    wanted = EventFilter(criteria_of({"directory": ["c:\\b\\"]}))
    for expected in (3, 3):
        view = reader.counts.view(reader.engine, P1, EVERYTHING, wanted)
        assert view is not None
        assert view.sequence.total == expected
    store(reader.engine, partial(1, file("c:\\b\\x"), window_ms=HOUR_MS + 600_000, last_update=1))
    view = reader.counts.view(reader.engine, P1, EVERYTHING, wanted)
    assert view is not None
    assert view.sequence.total == 4


def test_what_is_cached_is_not_shown_to_those_who_may_not_see_it(reader: Reader) -> None:
    many(reader.engine, 2)
    wanted = EventFilter(criteria_of({"directory": ["c:\\b\\"]}))
    assert reader.counts.view(reader.engine, P1, EVERYTHING, wanted)
    assert reader.counts.view(reader.engine, P1, Scope(frozenset({2})), wanted) is None


def test_only_so_many_views_are_cached(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.search.streams.filtered_counts.VIEW_COUNTS_MAX", 2)
    many(reader.engine, 1)
    for directory in "abcd":
        wanted = EventFilter(criteria_of({"directory": [f"c:\\{directory}\\"]}))
        assert reader.counts.view(reader.engine, P1, EVERYTHING, wanted)
    assert len(reader.counts._counted) == 2


def test_a_suppressed_child_is_distinguished_from_one_with_a_document(
    contract_engine: ClickHouseEngine,
) -> None:
    hidden = Childproc(P1, 1_000, 1, 0, name(7), md5="ab" * 16, suppressed=1)
    store(contract_engine, partial(1, child(2), hidden, last_update=1))
    store(contract_engine, partial(2, parent_id=P1, last_update=1))

    def is_suppressed(number: int, md5: str = "") -> SuppressionCheck:
        return suppression(contract_engine, EVERYTHING, P1, name(number), md5, 60)

    assert is_suppressed(2) == SuppressionCheck(is_suppressed=False, is_timed_out=False)
    assert is_suppressed(7) == SuppressionCheck(is_suppressed=True, is_timed_out=False)
    assert is_suppressed(7, "ab" * 16).is_suppressed
    assert not is_suppressed(7, "cd" * 16).is_suppressed
    assert not is_suppressed(8).is_suppressed


def test_a_suppression_check_out_of_time_says_so(contract_engine: ClickHouseEngine) -> None:
    many(contract_engine, 5)
    check = suppression(contract_engine, EVERYTHING, P1, name(9), "", 1e-6)
    assert check == SuppressionCheck(is_suppressed=False, is_timed_out=True)


def test_metadata_is_that_of_the_newest_segment_and_times_of_all(
    contract_engine: ClickHouseEngine,
) -> None:
    first = {"last_update": 90, "first_server_update": 5_000_000}
    store(contract_engine, partial(1, path="c:\\x", username="ann", **first))
    later = {"window_ms": NEXT_MS, "last_update": 70, "first_server_update": 9_000_000}
    known = {"path": "c:\\x", "username": "ann", "cmdline": "x /y", "terminated": 1}
    store(contract_engine, partial(1, **later, **known))
    found = metadata_body(metadata(contract_engine, EVERYTHING, P1))["process_metadata"]
    assert (found["cmdline"], found["username"], found["process_pid"]) == (["x /y"], ["ann"], [])
    assert found["last_update"] == "1970-01-01T00:00:00.000090Z"
    assert found["server_added_timestamp"] == "1970-01-01T00:00:05.000000Z"
    assert (found["segment_id"], found["terminated"]) == (NEXT_MS, True)
    assert (found["start"], found["day_of_week"]) == (None, None)


def test_what_is_not_there_is_not_found(contract_engine: ClickHouseEngine) -> None:
    for ask in (
        lambda: metadata(contract_engine, EVERYTHING, P1),
        lambda: verified_segment(contract_engine, EVERYTHING, P1, 1),
        lambda: segment_batches(contract_engine, EVERYTHING, P1, 1),
        lambda: bulk(contract_engine, EVERYTHING, P1, 1, None, 60),
    ):
        with pytest.raises(NotFoundError, match=P1):
            ask()


def test_the_projection_answers_without_reading_segments(contract_engine: ClickHouseEngine) -> None:
    windows = range(HOUR_MS, HOUR_MS + 40 * 300_000, 300_000)
    store(contract_engine, *(partial(n, window_ms=at) for at in windows for n in range(1, 101)))
    columns = ", ".join(f"max({column})" for column in BY_PROCESS_COLUMNS)
    where = of_process(P1, EVERYTHING)

    def ask(source: str, prefix: str = "") -> list[Any]:
        sql = f"{prefix}SELECT {columns} FROM {source} WHERE {where.sql}"
        return list(contract_engine.query(sql, where.params).rows)

    plan = ask(contract_engine.capabilities.storage("segment"), "EXPLAIN ")
    assert any(BY_PROCESS in line for (line,) in plan)
    projected = ask(contract_engine.capabilities.by_process)
    assert projected == ask("segment")
    assert projected[0][1] == windows[-1]


def test_an_empty_store_has_no_segment_counts(contract_engine: ClickHouseEngine) -> None:
    assert load_segment_counts(contract_engine, P1, EVERYTHING) is None
    assert present_segment(contract_engine, P1, 1, EVERYTHING) is None


def test_segment_counts_list_the_kinds_that_segments_have(
    contract_engine: ClickHouseEngine,
) -> None:
    ids = many(contract_engine, 2)
    store(contract_engine, partial(1, connection("d"), window_ms=ids[1], terminated=1))
    found = load_segment_counts(contract_engine, P1, EVERYTHING)
    assert found is not None
    assert (list(found.segment_ids), list(found.window_ms)) == (ids, ids)
    assert (list(found.totals), list(found.chosen), found.is_terminated) == ([3, 4], [3, 4], True)
    reported = [[kind.name for kind in found.kinds_in([number])] for number in (0, 1)]
    assert reported == [["filemod", "modload"], ["filemod", "modload", "netconn"]]
    netconn = [kind for kind in EVENT_KINDS if kind.name == "netconn"]
    some = load_segment_counts(contract_engine, P1, EVERYTHING, netconn)
    assert some is not None
    assert list(some.chosen) == [0, 1]
    none = load_segment_counts(contract_engine, P1, EVERYTHING, [])
    assert none is not None
    assert list(none.chosen) == [0, 0]
