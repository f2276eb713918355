"""Bulk changes of alerts over HTTPS: exactly those that were counted, undone, within one's
groups; notes and history."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.api.test_alerts import RULE, hit, search
from tests.support.served import Server, hire, open_group
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection
from vedette.model.principal import Role

BULK = "/api/v1/alerts"


@dataclass
class Queue:
    """An analyst of one of two groups, a viewer, an administrator."""

    admin: httpx.Client
    analyst: httpx.Client
    viewer: httpx.Client


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    people: dict[str, str] = {}

    def detect(server: Server) -> list[Detection]:
        found: list[Detection] = []
        groups = {}
        for name in ("mine", "theirs"):
            groups[name], secret = open_group(server, name)
            tale = story(f"{name}.bulk.example")
            with server.client(Authorization=f"Bearer {secret}") as client:
                assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
            with server.analyst() as client:
                query = {"q": f"hostname:{tale.host.name}", "rows": "50"}
                rows = client.get("/api/v1/process", params=query).json()["results"]
            found += [hit(row, RULE, "Odd process") for row in rows]
        people["ann"] = hire(server, "ann", {groups["mine"]: Role.ANALYST})
        people["vic"] = hire(server, "vic", {groups["mine"]: Role.VIEWER})
        return found

    with alerted_server(tmp_path_factory.mktemp("bulk"), detect) as server:
        analyst, viewer = (
            server.client(**{"X-Auth-Token": people[name]}) for name in ("ann", "vic")
        )
        with server.analyst() as admin, analyst, viewer:
            yield Queue(admin, analyst, viewer)


def states(client: httpx.Client) -> dict[str, tuple[Any, ...]]:
    rows = search(client)["results"]
    return {
        one["unique_id"]: tuple(
            one[name] for name in ("status", "assigned_to", "notes", "resolved_time")
        )
        for one in rows
    }


def posted(client: httpx.Client, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = client.post(BULK, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_dry_run_counts_and_changes_nothing(queue: Queue) -> None:
    before = states(queue.admin)
    mine = len(states(queue.analyst))
    counted = posted(queue.analyst, query="q=Odd", dry_run=True)
    assert counted["alerts"] == mine
    assert counted["hosts"] == 1
    assert counted["not_permitted"] == 0
    assert counted["oldest"] <= counted["newest"] <= counted["snapshot"]
    assert states(queue.admin) == before
    assert posted(queue.admin, query="q=Odd", dry_run=True)["alerts"] == len(before)


def test_what_was_counted_is_changed_and_undone_to_the_letter(queue: Queue) -> None:
    first = next(iter(states(queue.analyst)))
    answer = queue.analyst.post(f"/api/v1/alert/{first}/note", json={"text": "seen before"})
    assert answer.json()["notes"] == "seen before"
    before, theirs = states(queue.analyst), states(queue.admin)
    counted = posted(queue.analyst, query="q=Odd", dry_run=True, except_ids=[first])
    assert counted["alerts"] == len(before) - 1
    done = posted(
        queue.analyst,
        query="q=Odd",
        except_ids=[first],
        snapshot=counted["snapshot"],
        expected=counted["alerts"],
        requested_status="False Positive",
        comment="a test of ours",
        assigned_to="ann",
    )
    assert done["changed"] == counted["alerts"]
    after = states(queue.analyst)
    assert after[first] == before[first]
    others = {state[:3] for one, state in after.items() if one != first}
    assert others == {("False Positive", "ann", "a test of ours")}
    undone = queue.analyst.post(f"/api/v1/undo/{done['action_id']}")
    reported = {"result": "success", "restored": counted["alerts"], "reports": 0}
    assert undone.json() == reported
    assert states(queue.admin) == theirs
    assert queue.analyst.post(f"/api/v1/undo/{done['action_id']}").status_code == 404
    log = queue.admin.get("/api/v1/audit", params={"kind": "alerts", "rows": 4}).json()["results"]
    assert [one["after"]["changed"] for one in reversed(log)] == [-1, counted["alerts"]] * 2


def test_another_count_is_a_conflict_and_nothing_changes(queue: Queue) -> None:
    before = states(queue.admin)
    wanted = {"query": "q=Odd", "requested_status": "Resolved"}
    answer = posted(queue.analyst, 409, **wanted, expected=len(before) + 1)
    assert answer["reason"] == "count_changed"
    assert states(queue.admin) == before


def test_alerts_after_the_snapshot_stay_as_they_are(queue: Queue) -> None:
    wanted = {"query": "q=Odd", "requested_status": "Resolved"}
    early = posted(queue.analyst, **wanted, snapshot="2020-01-01T00:00:00Z", expected=0)
    assert early["changed"] == 0
    assert early["action_id"] is None


def test_an_alert_that_was_changed_since_is_not_undone(queue: Queue) -> None:
    ids = list(states(queue.analyst))[:2]
    done = posted(queue.analyst, alert_ids=ids, expected=2, requested_status="In Progress")
    later = queue.analyst.post(f"/api/v1/alert/{ids[0]}", json={"status": "Resolved"})
    assert later.status_code == 200
    assert queue.admin.post(f"/api/v1/undo/{done['action_id']}").status_code == 404  # not theirs
    undone = queue.analyst.post(f"/api/v1/undo/{done['action_id']}").json()
    assert undone["restored"] == 1
    after = states(queue.analyst)
    assert [after[one][0] for one in ids] == ["Resolved", "Unresolved"]


def test_another_groups_alerts_are_neither_counted_nor_changed(queue: Queue) -> None:
    mine = set(states(queue.analyst))
    theirs = [one for one in states(queue.admin) if one not in mine]
    assert posted(queue.analyst, alert_ids=theirs, dry_run=True)["alerts"] == 0
    done = posted(queue.analyst, alert_ids=theirs, expected=0, requested_status="Resolved")
    assert done["changed"] == 0
    posted(queue.analyst, 409, alert_ids=theirs, expected=1, requested_status="Resolved")
    posted(queue.viewer, 403, alert_ids=[], expected=0, requested_status="Resolved")
    posted(queue.analyst, 403, alert_ids=[], requested_status="Resolved")


def test_the_history_of_an_alert_tells_who_wrote_which_note(queue: Queue) -> None:
    one = next(iter(states(queue.analyst)))
    for text in ("first", "second"):
        assert queue.analyst.post(f"/api/v1/alert/{one}/note", json={"text": text}).is_success
    body = queue.viewer.get(f"/api/v1/alert/{one}/history").json()
    assert body["notes"] == "second"
    newest = body["history"][-1]
    assert newest["username"] == "ann"
    assert newest["changes"] == {"notes": {"from": "first", "to": "second"}}
    note = {"text": "x"}
    assert queue.viewer.post(f"/api/v1/alert/{one}/note", json=note).status_code == 403
    assert queue.analyst.post(f"/api/v1/alert/{one}/note", json={"text": " "}).status_code == 400
    theirs = next(one for one in states(queue.admin) if one not in states(queue.analyst))
    assert queue.viewer.get(f"/api/v1/alert/{theirs}/history").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"expected": -1},
        {"expected": True},
        {"expected": "2"},
        {"snapshot": "yesterday"},
        {"except_ids": "x"},
    ],
)
def test_a_count_that_makes_no_sense_is_refused(queue: Queue, body: dict[str, Any]) -> None:
    posted(queue.analyst, 400, query="q=Odd", requested_status="Resolved", **body)


@pytest.mark.parametrize("action", ["0", "x", "9" * 18, "9" * 19, "1" * 400, "-1"])
def test_a_change_that_nobody_made_cannot_be_undone(queue: Queue, action: str) -> None:
    assert queue.analyst.post(f"/api/v1/undo/{action}").status_code == 404
