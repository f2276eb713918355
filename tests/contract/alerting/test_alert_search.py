"""Alerts are found, counted and grouped by every field, within a scope, on every engine."""

from typing import Any

import pytest

from tests.contract.alerting.detections import NOW_US, detection
from tests.support.indexed import chosen
from vedette.alerting.alert_rows import Context, new_alert
from vedette.errors import BadRequestError
from vedette.model.address import pack_address
from vedette.model.alert_fields import ALERT
from vedette.model.findings.alert import AlertRow
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import check, compile_match, parse
from vedette.query.compile.alerts_sql import compile_alerts, shared_tests
from vedette.query.compile.document import ALERT as ALERT_DOCUMENT
from vedette.query.match import Prepared
from vedette.search.alerts import alert_search
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.plan.plan import Order
from vedette.store.read.detection import alert_texts
from vedette.store.read.detection.alert_facets import FACETS, count_alert_facets
from vedette.store.read.detection.alert_groups import GROUPINGS, group_alerts
from vedette.store.read.detection.alerts import alerts_by_id, count_alerts, search_alerts
from vedette.store.write.alerts import write_alerts
from vedette.web.processes.search_parameters_json import search_request

NEWEST: Order = (("created_time", True),)
HOUR_US = 3_600_000_000
MD5 = "ab" * 16


def row(number: int, sensor_id: int = 1, **values: Any) -> AlertRow:
    """An alert of sensor `sensor_id`, the later the higher its number."""
    found = new_alert([detection(number, sensor_id=sensor_id)], Context(), NOW_US + number)
    known = {
        "hostname": f"ws-{sensor_id}.corp.test",
        "group": "Default Group" if sensor_id < 3 else "Finance",
        "os_type": "windows",
    }
    return found | known | values


ONE = row(
    1,
    username="CORP\\anna",
    process_name="powershell.exe",
    process_path="c:\\windows\\syswow64\\powershell.exe",
    observed_filename=["c:\\windows\\syswow64\\powershell.exe"],
    alert_severity=75_500,
    md5=MD5,
    comms_ip=pack_address("10.1.2.3"),
    notes="seen before",
    netconn_count=4,
)
TWO = row(
    2,
    2,
    status="In Progress",
    assigned_to="bob",
    username="root",
    process_name="bash",
    process_path="/usr/bin/bash",
    title="<b>Reverse</b> shell",
    watchlist_name="x",
    source_kind="watchlist",
    source_id="7",
    watchlist_id=7,
    feed_name="My Watchlists",
    alert_severity=40_000,
    techniques=["T1059.004"],
    created_time=NOW_US + HOUR_US,
)
THREE = row(
    3,
    3,
    status="Resolved",
    resolved_time=NOW_US + HOUR_US,
    source_kind="feed",
    source_id="9",
    feed_id=9,
    feed_name="srsfeed",
    report_id="rep-1",
    report_score=90_000,
    report_ignored=1,
    ioc_type="md5",
    ioc_value=MD5,
    alert_type="watchlist.hit.ingress.process",
    title="Known bad",
    tags=[],
    alert_severity=10_000,
)
SERVER = row(4, 0, source_kind="server", hostname="", title="Storm", process_name="")
ALERTS = {"one": ONE, "two": TWO, "three": THREE, "server": SERVER}
NAMES = {alert["id"]: name for name, alert in ALERTS.items()}


@pytest.fixture
def stored(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
    """Four alerts, one of them in two versions."""
    write_alerts(contract_engine, [ONE | {"status": "Resolved", "version": 1}, TWO])
    write_alerts(contract_engine, [ONE, THREE])
    write_alerts(contract_engine, [SERVER])
    return contract_engine


QUERIES = [
    ("", "server three two one"),
    ("status:Unresolved", "server one"),
    ('status:"in progress"', "two"),
    ("-status:RESOLVED", "server two one"),
    ("alert_severity:[40 TO *]", "server two one"),
    ("alert_severity:75.5", "one"),
    ("alert_severity:75.5001", ""),
    ("alert_severity:{40 TO 75.5}", "server"),
    ("report_score:90", "three"),
    ("ioc_confidence:[0.4 TO 0.6]", "server three two one"),
    ("alert_type:watchlist.hit.ingress.*", "three"),
    ("assigned_to:*", "two"),
    ("assigned_to:BOB", "two"),
    ('feed_name:"my watchlists"', "two"),
    ("hostname:ws-1", "one"),
    ("hostname:ws-1.corp.test", "one"),
    (f"ioc_value:{MD5}", "three"),
    (f"{MD5}", "three one"),
    (f"md5:{MD5.upper()}", "one"),
    ("username:anna", "one"),
    ("process_name:powershell.exe", "one"),
    ("process_path:syswow64\\powershell.exe", "one"),
    ("process_path:*syswow*", "one"),
    ("process_path:/usr/bin/bash", "two"),
    ('"c:\\windows\\syswow64\\powershell.exe"', "one"),
    ("observed_filename:*powershell.exe", "one"),
    ("watchlist_id:7", "two"),
    ("7", "two"),
    ("feed_id:-1", "server two one"),
    ("feed_id:9", "three"),
    ("sensor_id:2", "two"),
    ("group:finance", "three"),
    ("netconn_count:[1 TO *]", "one"),
    ("created_time:[2023-11-14T23:00:00 TO *]", "two"),
    ("resolved_time:*", "three"),
    ("-resolved_time:*", "server two one"),
    ("report_ignored:true", "three"),
    ("is_ignored:false", "server two one"),
    ("report:rep-1", "three"),
    ("reverse", "two"),
    ("title:shell", "two"),
    ("techniques:t1059.00*", "server three two one"),
    ("techniques:T1059.004", "two"),
    ("-tags:*", "three"),
    ("comms_ip:10.1.0.0/16", "one"),
    ("notes:before", "one"),
    ("source:watchlist", "two"),
    ("source_id:r-1", "server one"),
    (f"unique_id:{ONE['id'].upper()}", "one"),
    (f"process_id:{ONE['process_id']}", "one"),
    (f"process_unique_id:{ONE['process_unique_id']}", "one"),
    ("count:[2 TO *]", ""),
    ("level:high os_type:windows", "server three two one"),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_a_query_finds_the_same_in_memory(query: str, expected: str) -> None:
    ask = compile_match(check(parse(query, ALERT), ALERT, now_us=NOW_US))
    found = {name for name, one in ALERTS.items() if ask(Prepared(one, document=ALERT_DOCUMENT))}
    assert found == set(expected.split())


def test_every_query_finds_what_it_says(stored: ClickHouseEngine) -> None:
    for query, expected in chosen(stored, QUERIES):
        names = found(stored, query)
        assert sorted(names) == sorted(expected.split()), query
    assert found(stored, "") == ["two", "server", "three", "one"]


def found(engine: ClickHouseEngine, query: str, scope: Scope = EVERYTHING) -> list[str]:
    where = compile_alerts(check(parse(query, ALERT), ALERT, now_us=NOW_US))
    answer = search_alerts(engine, where, scope, NEWEST)
    assert answer.total == len(answer.rows) == count_alerts(engine, where, scope)
    return [NAMES[one["id"]] for one in answer.rows]


DAY_US = 24 * 3600 * 1_000_000
EVERY = compile_alerts(check(parse("", ALERT), ALERT, now_us=NOW_US))


def test_a_scope_hides_alerts_everywhere(stored: ClickHouseEngine) -> None:
    mine = Scope(frozenset({1, 2}))
    nothing: Scope = Scope(frozenset())
    assert found(stored, "", mine) == ["two", "one"]
    assert found(stored, "status:Unresolved OR report_ignored:true", mine) == ["one"]
    assert found(stored, "", nothing) == []
    assert alerts_by_id(stored, [THREE["id"], SERVER["id"], ONE["id"]], mine).keys() == {ONE["id"]}
    facets = count_alert_facets(stored, EVERY, mine, ("hostname", "source"))
    assert dict(facets["hostname"]) == {"ws-1.corp.test": 1, "ws-2.corp.test": 1}
    assert dict(facets["source"]) == {"rule": 1, "watchlist": 1}
    grouped = group_alerts(stored, EVERY, mine, "hostname", ("count", True))
    assert (grouped.total, len(grouped.groups)) == (2, 2)
    assert group_alerts(stored, EVERY, nothing, "host", ("count", True)).total == 0


def test_pages_keep_their_places(stored: ClickHouseEngine) -> None:
    order: Order = (("alert_severity", True),)
    pages = [search_alerts(stored, EVERY, EVERYTHING, order, start=n, rows=1) for n in range(5)]
    assert [page.total for page in pages] == [4] * 5
    seen = [NAMES[row["id"]] for page in pages for row in page.rows]
    assert seen == ["one", "server", "two", "three"]
    assert "event" not in pages[0].rows[0]
    with pytest.raises(BadRequestError, match="cannot sort"):
        search_alerts(stored, EVERY, EVERYTHING, (("event", True),))


def test_every_facet_counts_each_alert_once(stored: ClickHouseEngine) -> None:
    counts = count_alert_facets(stored, EVERY, EVERYTHING, tuple(FACETS))
    assert dict(counts["status"]) == {"Unresolved": 2, "In Progress": 1, "Resolved": 1}
    assert dict(counts["alert_severity"]) == {"75": 2, "40": 1, "10": 1}
    assert counts["created_time"] == [("2023-11-14T00:00:00Z", 4)]
    assert dict(counts["techniques"]) == {"T1059.001": 3, "T1059.004": 1}
    assert count_alert_facets(stored, EVERY, EVERYTHING, ("process_name_facet",))[
        "process_name_facet"
    ] == [("bash", 1), ("powershell.exe", 1)]
    with pytest.raises(BadRequestError, match="unknown facet"):
        count_alert_facets(stored, EVERY, EVERYTHING, ("event",))


def test_groups_tell_how_many_how_bad_and_how_far(stored: ClickHouseEngine) -> None:
    grouped = group_alerts(stored, EVERY, EVERYTHING, "rule", ("severity", True))
    assert grouped.total == 4
    first = grouped.groups[0]
    assert first.values == {"source_kind": "rule", "source_id": "r-1"}
    assert (first.count, first.hosts, first.severity_max) == (1, 1, 75_500)
    by_title = group_alerts(stored, EVERY, EVERYTHING, "group", ("count", True))
    top = by_title.groups[0]
    assert top.values == {"group": "Default Group"}
    assert top.count == 3
    assert top.statuses == {"Unresolved": 2, "In Progress": 1}
    assert top.newest_id == TWO["id"]
    assert group_alerts(stored, EVERY, EVERYTHING, "group", ("hosts", False), start=9).total == 2
    for by in GROUPINGS:
        assert group_alerts(stored, EVERY, EVERYTHING, by, ("newest", True)).total >= 1
    with pytest.raises(BadRequestError, match=r"group\.field"):
        group_alerts(stored, EVERY, EVERYTHING, "event", ("count", True))


def test_the_trend_of_a_group_is_a_week_by_days(stored: ClickHouseEngine) -> None:
    def trend(now_us: int) -> list[int]:
        by_count = ("count", True)
        found = group_alerts(stored, EVERY, EVERYTHING, "group", by_count, now_us=now_us)
        return list(found.groups[0].trend)

    newest = group_alerts(stored, EVERY, EVERYTHING, "group", ("count", True)).groups[0].newest_us
    for days, place in ((0, 6), (3, 3), (6, 0)):
        found = trend(newest + days * DAY_US)
        assert len(found) == 7
        assert found[place] >= 1
        assert sum(found) == sum(found[: place + 1])
    assert trend(newest + 30 * DAY_US) == [0] * 7
    assert trend(newest - 1)[6] + 1 == trend(newest)[6]


def ids_by_words(engine: ClickHouseEngine, query: str, scope: Scope = EVERYTHING) -> list[str]:
    asked = search_request([("q", query), ("rows", "50")], alert_search.ALERT_SORT_DEFAULT)
    answer = alert_search.search(engine, scope, asked, Settings(), NOW_US)
    assert answer.total == len(answer.rows)
    return [NAMES[row["id"]] for row in answer.rows]


WORDS = (
    "title:shell",
    "title:no-such-word",
    "-title:shell",
    "title:shell OR title:storm",
    "title:shell title:reverse",
    "title:shell status:Unresolved",
    'title:"reverse shell"',
    "title:*",
    "title:shell hostname:ws-2",
    "(title:shell OR username:root) -title:bad",
    "hostname:ws-1",
    "hostname:WS-*",
    "-hostname:ws-1",
    "hostname:ws-1 OR hostname:ws-2",
    "hostname:no-such-host",
    "hostname:ws-1 hostname:ws-2",
    "hostname:ws-1 -title:shell",
)


@pytest.mark.parametrize("texts_max", [1_000, 2])
def test_titles_and_hosts_are_found_as_their_text_says_however_they_are_looked_up(
    stored: ClickHouseEngine, texts_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_texts, "ALERT_TEXTS_MATCHED_MAX", texts_max)
    monkeypatch.setattr(alert_texts, "ALERT_TEXTS_MAX", texts_max)
    for query in chosen(stored, WORDS):
        where = compile_alerts(check(parse(query, ALERT), ALERT, now_us=NOW_US))
        for scope in (EVERYTHING, Scope(frozenset({2}))):
            plain = search_alerts(stored, where, scope, NEWEST, rows=50)
            wanted = [NAMES[row["id"]] for row in plain.rows]
            assert ids_by_words(stored, query, scope) == wanted, query


@pytest.mark.parametrize(
    ("query", "texts"),
    [("title:shell", ["<b>Reverse</b> shell"]), ("hostname:ws-2", ["ws-2.corp.test"])],
)
def test_a_text_is_tested_once_however_many_alerts_have_it(
    stored: ClickHouseEngine, query: str, texts: list[str]
) -> None:
    ((column, match),) = shared_tests(check(parse(query, ALERT), ALERT, now_us=NOW_US))
    assert column == query.partition(":")[0]
    assert alert_texts.texts_where(stored, column, compile_alerts(match), None) == texts


def test_groups_lie_within_groups_as_every_alert_is_in_one(stored: ClickHouseEngine) -> None:
    every = group_alerts(stored, EVERY, EVERYTHING, "rule", ("count", True), rows=99)
    nested = group_alerts(stored, EVERY, EVERYTHING, "rule,hostname,user", ("count", True), rows=99)
    assert {"hostname", "username"} < set(nested.groups[0].values)
    assert nested.total >= every.total
    assert sum(one.count for one in nested.groups) == sum(one.count for one in every.groups)
    mine = Scope(frozenset({1}))
    inner = group_alerts(stored, EVERY, mine, "rule,hostname", ("count", True), rows=99)
    assert {one.hosts for one in inner.groups} == {1}
    for by in ("rule,hostname,user,md5", "rule,", ",", "rule,nonsense", "rule;DROP"):
        with pytest.raises(BadRequestError, match=r"group\.field"):
            group_alerts(stored, EVERY, EVERYTHING, by, ("count", True))
