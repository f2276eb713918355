"""Reports that are ignored by way of the alerts that they made: who may, and taking it back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.api.test_alerts import RULE, hit
from tests.api.test_bulk_triage import posted
from tests.support.served import Server, hire, open_group, state_of
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.clock import SystemClock
from vedette.model.findings.detection import Detection, Source
from vedette.model.principal import Role
from vedette.state.accounts import tokens, users
from vedette.state.policy.ignored_reports import ignored_among

FEED = 7
REPORTS = ("one", "two")
ALL = [(FEED, name) for name in REPORTS]


@dataclass
class Queue:
    """An administrator, another one, and an analyst of the only group."""

    server: Server
    admin: httpx.Client
    other: httpx.Client
    analyst: httpx.Client


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    people: dict[str, str] = {}

    def detect(server: Server) -> list[Detection]:
        group, secret = open_group(server, "Reports")
        tale = story("reports.example")
        with server.client(Authorization=f"Bearer {secret}") as client:
            assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
        with server.analyst() as client:
            query = {"q": f"hostname:{tale.host.name}", "rows": "50"}
            rows = client.get("/api/v1/process", params=query).json()["results"]
        people["ann"] = hire(server, "ann", {group: Role.ANALYST})
        now_us = SystemClock().now_us()
        with state_of(server) as database:
            bo = users.add(database, users.NewUser("bo", is_global_admin=True), now_us)
            token = tokens.issue(database, tokens.NewToken("api", user_id=bo.id), now_us)
            people["bo"] = token.secret
        feed = Source("feed", str(FEED))
        reported = [
            hit(rows[0], feed, "Bad", report_id=name, ioc_type="md5", ioc_value=f"{at}" * 32)
            for at, name in enumerate(REPORTS)
        ]
        return [*reported, hit(rows[1], RULE, "Odd")]

    with alerted_server(tmp_path_factory.mktemp("reports"), detect) as server:
        clients = [server.client(**{"X-Auth-Token": people[name]}) for name in ("bo", "ann")]
        with server.analyst() as admin, clients[0] as other, clients[1] as analyst:
            yield Queue(server, admin, other, analyst)


def ignored(queue: Queue) -> set[str]:
    with state_of(queue.server) as database, database.reading() as connection:
        return {name for _, name in ignored_among(connection, ALL)}


def marked(queue: Queue) -> set[str]:
    """Reports whose alerts are marked."""
    query = {"q": "report_ignored:true", "rows": 50}
    found = queue.admin.get("/api/v2/alert", params=query).json()["results"]
    return {one["report_id"] for one in found}


def ignore(queue: Queue, query: str, expected: int) -> dict[str, Any]:
    return posted(
        queue.admin,
        query=query,
        expected=expected,
        requested_status="Resolved",
        set_ignored=True,
        allow_all=True,
    )


def undo(client: httpx.Client, action: str) -> dict[str, Any]:
    answer = client.post(f"/api/v1/undo/{action}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_dry_run_counts_the_reports_that_made_the_alerts(queue: Queue) -> None:
    assert posted(queue.analyst, query="q=", dry_run=True)["reports"] == 2
    assert posted(queue.analyst, query="q=title:Odd", dry_run=True)["reports"] == 0


def test_reports_are_ignored_with_their_alerts_and_heard_again_by_the_undo(queue: Queue) -> None:
    done = ignore(queue, "q=", 3)
    assert (done["changed"], done["reports"]) == (3, 2)
    assert ignored(queue) == set(REPORTS)
    assert marked(queue) >= set(REPORTS)
    assert undo(queue.admin, done["action_id"]) == {
        "result": "success",
        "restored": 3,
        "reports": 2,
    }
    assert (ignored(queue), marked(queue)) == (set(), set())
    found = queue.admin.get("/api/v2/alert", params={"q": "status:Unresolved", "rows": 0}).json()
    assert found["total_results"] == 3


def test_a_report_that_was_ignored_before_stays_so(queue: Queue) -> None:
    first = ignore(queue, "q=report_id:one", 1)
    second = ignore(queue, "q=report_id:*", 2)
    assert undo(queue.admin, second["action_id"])["reports"] == 1
    assert ignored(queue) == {"one"}
    assert marked(queue) == {"one"}
    assert undo(queue.admin, first["action_id"])["reports"] == 1
    assert ignored(queue) == set()


def test_a_report_that_somebody_ignored_anew_since_stays_so(queue: Queue) -> None:
    done = ignore(queue, "q=report_id:one", 1)
    for flag in (False, True):
        body = {"query": "q=report_id:one", "expected": 1, "set_ignored": flag}
        posted(queue.other, **body)
    assert undo(queue.admin, done["action_id"])["reports"] == 0
    assert ignored(queue) == {"one"}
    received = posted(queue.other, query="q=report_id:one", expected=1, set_ignored=False)
    assert ignored(queue) == set()
    assert undo(queue.other, received["action_id"])["reports"] == 1
    assert ignored(queue) == {"one"}
    posted(queue.admin, query="q=report_id:one", expected=1, set_ignored=False)
    reopened = {"query": "q=", "expected": 3, "allow_all": True, "requested_status": "Unresolved"}
    posted(queue.admin, **reopened)


def test_who_administers_one_group_ignores_nothing_for_all(queue: Queue) -> None:
    ids = [one["unique_id"] for one in queue.analyst.get("/api/v2/alert").json()["results"]]
    for flag in (True, False):
        body = {"alert_ids": ids, "expected": len(ids), "set_ignored": flag}
        posted(queue.analyst, 403, **body)
        posted(queue.analyst, 403, **body, dry_run=True)
    for one in ids:
        body = {"status": "Unresolved", "set_ignored": True}
        assert queue.analyst.post(f"/api/v1/alert/{one}", json=body).is_success
    assert (ignored(queue), marked(queue)) == (set(), set())
