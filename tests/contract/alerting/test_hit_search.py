"""Rule hits are rows that searches find, each with what became of it."""

from collections import Counter
from typing import Any

import pytest

from tests.contract.alerting.test_rule_hits import (
    LOGON,
    MANY,
    SHELL,
    Dying,
    Followed,
    clock,
    failures,
    followed,
    shells,
)
from vedette.alerting.rule_hits import WATERMARK
from vedette.errors import BadRequestError, QueryError, UnavailableError
from vedette.model.scope import EVERYTHING, Scope
from vedette.record.objects.suppression import Suppression
from vedette.search.alerts import hit_search
from vedette.search.document_search import Results
from vedette.search.processes import process_search
from vedette.settings import Settings
from vedette.state.jobs import watermarks
from vedette.state.policy import suppressions
from vedette.web.processes.search_parameters_json import search_request

__all__ = ("clock", "followed")


def searched(followed: Followed, q: str = "", scope: Scope = EVERYTHING, **more: str) -> Results:
    pairs = [("q", q), *((name.replace("_", "."), value) for name, value in more.items())]
    request = search_request(pairs, hit_search.HIT_SORT_DEFAULT, ("outcome", "rule_name"))
    processed_seq = watermarks.load(followed.database, WATERMARK) or 0
    now_us = followed.clock.now_us()
    settings = Settings()
    return hit_search.search(followed.path.engine, scope, request, settings, processed_seq, now_us)


def outcomes(followed: Followed) -> Counter[str]:
    return Counter(row["outcome"] for row in searched(followed, rows="1000").rows)


def test_a_hit_is_found_by_what_its_rule_and_its_process_are_called(followed: Followed) -> None:
    followed.add(SHELL)
    followed.path.post(shells(2))
    assert outcomes(followed) == {"pending": 2}
    followed.hits.follow()
    assert outcomes(followed) == {"alert": 2}
    found = searched(followed, "rule_name:shell level:high hostname:shells.example", rows="1")
    assert found.total == 2
    [row] = found.rows
    assert row["rule_id"] == "11111111-1111-4111-8111-111111111111"
    assert row["rule_name"] == "A shell starts"
    assert row["process_name"] == "shell.exe"
    assert dict(row["matched"]) == {"Image": "C:\\shell.exe"}
    assert row["alert_id"] in {alert["id"] for alert in followed.alerts()}
    for query, count in (
        ("process_name:shell.exe", 2),
        ("matched:shell.exe", 2),
        ("rule:11111111*", 2),
        (f"alert_id:{row['alert_id']}", 1),
        (f"process_id:{row['process_id']}", 1),
        ("outcome:alert", 2),
        ("-outcome:alert", 0),
        ("level:low", 0),
        ("shell", 2),
        ("*:*", 2),
    ):
        assert searched(followed, query).total == count, query


def test_processes_are_found_by_the_rules_that_fired_on_them(followed: Followed) -> None:
    followed.add(SHELL)
    followed.path.post(shells(2))
    settings = Settings()
    for query, names in (
        ("rule:11111111-1111-4111-8111-111111111111", {"shell.exe"}),
        ("rule_name:'A shell starts'", set()),
        ('rule_name:"A shell starts"', {"shell.exe"}),
        ("rule_name:*shell*", {"shell.exe"}),
        ("rule:*", {"shell.exe"}),
        ("-rule:*", {"explorer.exe"}),
        ("rule:2222*", set()),
        ("rule:1111* process_name:explorer.exe", set()),
    ):
        for comprehensive in ("false", "true"):
            request = search_request([("q", query), ("comprehensive_search", comprehensive)])
            now_us = followed.clock.now_us()
            found = process_search.search_processes(
                followed.path.engine, EVERYTHING, request, settings, now_us
            )
            assert {row["process_name"] for row in found.rows} == names, (query, comprehensive)


def test_a_watchlist_cannot_ask_for_rules(followed: Followed) -> None:
    from vedette.watchlists.watch_query import stored_query

    with pytest.raises(QueryError, match="rule"):
        stored_query("rule:*", "events", 0)


def test_hits_that_only_correlations_count_say_so(followed: Followed) -> None:
    followed.add(LOGON, MANY)
    followed.path.post(failures("bob", 3))
    followed.hits.follow()
    assert outcomes(followed) == {"correlation": 3}


def test_suppressed_hits_and_those_of_storms_say_so(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.alerting.alert_storm.ALERTS_AN_HOUR_MAX", 2)
    followed.add(SHELL)
    now_us = followed.clock.now_us()
    query = 'cmdline:"shell 12"'
    with followed.database.writing() as connection:
        suppressions.add(connection, Suppression(query=query, created_us=now_us))
    followed.path.post(shells(5))
    followed.hits.follow()
    assert outcomes(followed) == {"alert": 2, "storm": 2, "suppressed": 1}
    found = searched(followed, "outcome:storm OR outcome:suppressed", facet="true")
    assert found.total == 3
    assert dict(found.facets["outcome"]) == {"storm": 2, "suppressed": 1}


@pytest.mark.parametrize("after", [False, True])
def test_outcomes_survive_a_round_that_is_repeated(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    monkeypatch.setattr("vedette.alerting.alert_storm.ALERTS_AN_HOUR_MAX", 2)
    followed.add(SHELL, LOGON, MANY)
    followed.path.post([*shells(4), *failures("bob", 3)])
    for _ in range(2):
        with pytest.raises(UnavailableError):
            followed.follower(Dying(followed.writer, after=after)).follow()
    followed.hits.follow()
    assert outcomes(followed) == {"alert": 2, "storm": 2, "correlation": 3}


def test_hits_outside_of_the_scope_are_neither_shown_nor_counted(followed: Followed) -> None:
    followed.add(SHELL)
    followed.path.post([*shells(2), *shells(3, first=50, name="other.example")])
    followed.hits.follow()
    [own] = {row["sensor_id"] for row in searched(followed, "hostname:other.example").rows}
    scope = Scope(frozenset({own}))
    found = searched(followed, scope=scope, facet="true", facet_field="hostname")
    assert (found.total, found.filtered) == (3, 0)
    assert found.facets["hostname"] == [("other.example", 3)]
    assert searched(followed, scope=Scope(frozenset())).total == 0


def test_pages_of_hits_have_each_hit_once(followed: Followed) -> None:
    followed.add(SHELL)
    followed.path.post(shells(7))
    pages = [
        searched(followed, sort="rule_id desc", rows="3", start=str(start)).rows
        for start in (0, 3, 6)
    ]
    ids = [row["process_id"] for page in pages for row in page]
    assert len(ids) == len(set(ids)) == 7


@pytest.mark.parametrize(
    ("query", "more", "error"),
    [
        ("nosuchfield:1", {}, QueryError),
        ("count:many", {}, QueryError),
        ("time:yesterdayish", {}, QueryError),
        ("", {"sort": "matched asc"}, BadRequestError),
        ("", {"facet": "true", "facet_field": "event"}, BadRequestError),
    ],
)
def test_requests_without_a_meaning_are_refused(
    followed: Followed, query: str, more: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        searched(followed, query, **more)
