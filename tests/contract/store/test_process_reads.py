"""One process: its segments, events and relatives, within the caller's scope."""

import pytest

from tests.contract.store.rows import (
    HOUR_MS,
    NEXT_MS,
    connection,
    file,
    module,
    partial,
    process_id,
    query,
    store,
)
from vedette.errors import BadRequestError
from vedette.model.address import address_text
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import Dnsquery, Filemod, Netconn
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.binaries import binaries_of
from vedette.store.read.process import children_of, events, process_rows, segments_of, siblings_of
from vedette.store.read.process_metadata import newest_row, segment_row
from vedette.store.read.segment_search import count_segments, search_segments
from vedette.store.sql.scope_filter import ALL
from vedette.store.write.commit import Commit, ProcessWindow
from vedette.store.write.insert import write_commit

OTHERS = Scope(frozenset({2}))
NOBODY = Scope(frozenset())
P1 = process_id(1)


def two_windows(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, file("c:\\b", 20), file("c:\\a", 10), path="x", last_update=20))
    store(engine, partial(1, connection("d.com", time_us=15), cmdline="x /y", last_update=15))
    later = partial(1, file("c:\\c", 30), query("q.com", 31), window_ms=NEXT_MS, last_update=31)
    store(engine, later)


def test_segments_tell_their_counts_and_times(contract_engine: ClickHouseEngine) -> None:
    two_windows(contract_engine)
    first, second = segments_of(contract_engine, P1, EVERYTHING)
    assert (first.segment_id, first.last_update) == (HOUR_MS, 20)
    assert (first.counts["filemod"], first.counts["netconn"], first.counts["regmod"]) == (2, 1, 0)
    assert (second.segment_id, second.counts["dnsquery"]) == (NEXT_MS, 1)


def test_events_come_back_as_they_were_written(contract_engine: ClickHouseEngine) -> None:
    two_windows(contract_engine)
    found = events(contract_engine, P1, EVERYTHING, count=100)
    assert found.total == 5
    assert found.by_kind["filemod"] == [
        Filemod(P1, 10, 1, "c:\\a"),
        Filemod(P1, 20, 1, "c:\\b"),
        Filemod(P1, 30, 1, "c:\\c"),
    ]
    (netconn,) = found.by_kind["netconn"]
    assert isinstance(netconn, Netconn)
    assert address_text(netconn.remote_ip) == "10.0.0.9"
    assert found.by_kind["dnsquery"] == [Dnsquery(P1, 31, "q.com")]


@pytest.mark.parametrize(
    ("start", "count", "times"),
    [(0, 2, [10, 15]), (1, 3, [15, 20, 30]), (3, 1, [30]), (4, 9, [31]), (5, 9, []), (9, 9, [])],
)
def test_a_slice_of_the_events_goes_across_kinds_and_segments(
    engine: ClickHouseEngine, start: int, count: int, times: list[int]
) -> None:
    two_windows(engine)
    found = events(engine, P1, EVERYTHING, start=start, count=count)
    told = [event.time_us for kind in found.by_kind.values() for event in kind]
    assert (found.total, sorted(told)) == (5, times)


def test_one_segment_and_some_kinds_can_be_asked_for(contract_engine: ClickHouseEngine) -> None:
    two_windows(contract_engine)
    kinds = [kind for kind in EVENT_KINDS if kind.name == "netconn"]
    found = events(contract_engine, P1, EVERYTHING, segment_id=HOUR_MS, kinds=kinds, count=9)
    assert (found.total, list(found.by_kind)) == (1, ["netconn"])
    assert events(contract_engine, P1, EVERYTHING, segment_id=5, count=9).total == 0


def test_a_process_as_a_whole_sums_its_segments(contract_engine: ClickHouseEngine) -> None:
    two_windows(contract_engine)
    row = process_rows(contract_engine, [P1, process_id(7)], EVERYTHING)[P1]
    assert (row["path"], row["cmdline"], row["filemod_count"]) == ("x", "x /y", 3)
    assert (row["first_segment_id"], row["segment_id"], row["sensor_id"]) == (HOUR_MS, NEXT_MS, 1)
    segment = segment_row(contract_engine, P1, HOUR_MS, EVERYTHING)
    assert segment is not None
    assert (segment["filemod_count"], segment["interface_ip"]) == (2, bytes(16))
    assert segment_row(contract_engine, P1, 3, EVERYTHING) is None


def test_one_segment_has_of_its_metadata_what_a_search_shows(
    contract_engine: ClickHouseEngine,
) -> None:
    first = partial(1, file("a"), start=7, last_update=20, hostname="pc", path="/bin/a", seq=1)
    second = partial(1, file("b"), file("c"), last_update=30, cmdline="a -x", seq=2)
    full = partial(1, file("d"), segment_id=HOUR_MS + 1, path="/bin/b", interface_ip=b"\x01" * 16)
    store(contract_engine, first)
    store(contract_engine, second, full)
    found = [segment_row(contract_engine, P1, HOUR_MS + n, EVERYTHING) for n in range(2)]
    for row, merged in zip(
        found, search_segments(contract_engine, ALL, EVERYTHING).rows, strict=True
    ):
        assert row is not None
        assert row.items() <= merged.items()
    assert found[0] is not None
    assert (found[0]["filemod_count"], found[0]["last_update"], found[0]["start"]) == (3, 30, 7)
    newest = newest_row(contract_engine, P1, EVERYTHING)
    assert newest is not None
    assert (newest["segment_id"], newest["path"]) == (HOUR_MS + 1, "/bin/b")


def test_a_window_that_only_the_guide_knows_is_not_the_newest(
    contract_engine: ClickHouseEngine,
) -> None:
    two_windows(contract_engine)
    crashed = ProcessWindow(HOUR_MS, P1, 1, NEXT_MS + 300_000)
    write_commit(contract_engine, Commit(processes=[crashed]))
    newest = newest_row(contract_engine, P1, EVERYTHING)
    assert newest is not None
    assert newest["segment_id"] == NEXT_MS
    assert newest_row(contract_engine, process_id(8), EVERYTHING) is None


def test_relatives_are_ordered_by_start(contract_engine: ClickHouseEngine) -> None:
    for number, start in ((2, 50), (3, 40), (4, 60)):
        store(contract_engine, partial(number, parent_id=P1, start=start, last_update=1))
        store(contract_engine, partial(number, username=f"u{number}"))
    children = children_of(contract_engine, P1, EVERYTHING)
    assert [row["process_id"] for row in children] == [process_id(n) for n in (3, 2, 4)]
    assert children[0]["username"] == "u3"
    siblings = siblings_of(contract_engine, process_id(2), P1, EVERYTHING, limit=1)
    assert [row["process_id"] for row in siblings] == [process_id(3)]


def test_a_scope_hides_the_rest(contract_engine: ClickHouseEngine) -> None:
    two_windows(contract_engine)
    store(contract_engine, partial(1, module("m"), sensor_id=2, parent_id=P1, last_update=1))
    for scope in (OTHERS, NOBODY):
        assert segments_of(contract_engine, P1, scope) == []
        assert process_rows(contract_engine, [P1], scope) == {}
        assert events(contract_engine, P1, scope, count=9).by_kind == {}
        assert segment_row(contract_engine, P1, HOUR_MS, scope) is None
        assert binaries_of(contract_engine, ["aa"], scope) == []
    assert count_segments(contract_engine, ALL, OTHERS) == 1
    assert count_segments(contract_engine, ALL, NOBODY) == 0
    assert search_segments(contract_engine, ALL, OTHERS).rows[0]["sensor_id"] == 2
    assert len(children_of(contract_engine, P1, OTHERS)) == 1
    assert children_of(contract_engine, P1, Scope(frozenset({1}))) == []


def test_only_columns_of_the_catalogue_order_results(engine: ClickHouseEngine) -> None:
    with pytest.raises(BadRequestError):
        search_segments(engine, ALL, EVERYTHING, [("path`; DROP TABLE segment", True)])
