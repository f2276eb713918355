"""Bulk changes without a condition: each route refuses them unless `allow_all` is sent."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.test_alerts import RULE, hit, search
from tests.support.cloud import ORG
from tests.support.served import Server, open_group
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

ALERTS = "/api/v1/alerts"
REPORTS = "/api/v1/threat_report"
SUPPRESSIONS = "/api/v1/alert/suppression"
WORKFLOW = f"/api/alerts/v7/orgs/{ORG}/alerts/workflow"
UPDATES = f"/sus/v2/orgs/{ORG}/jobs"

EVERYTHING = ("", " ", "q=", "*", "q=*", "*:*", "q=*:*", "q=%2A%3A%2A&rows=5", "-(-*:*)")

UPDATE = {
    "action_type": "UPDATE_SENSOR_VERSION",
    "options": {"sensor_version": {"UBUNTU": "9.9.9.9"}},
}

OTHERS = ("/stream/{stream_id}", "/configs", "/configs/{forwarder_id}")
"""Ends of paths whose criteria belong to an object: they select nothing that is changed."""

READS = ("preview", "_search", "_facet", "_scroll", "_export", "_group_search", "livequery", "test")
"""Ends of paths of POST routes that change nothing by their query."""

SELECTORS = ("query", "criteria", "search_definition")


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    def detect(server: Server) -> list[Detection]:
        _, secret = open_group(server, "bulk")
        tale = story("conditions.example")
        with server.client(Authorization=f"Bearer {secret}") as client:
            assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
        with server.analyst() as client:
            asked = {"q": f"hostname:{tale.host.name}", "rows": "50"}
            rows = client.get("/api/v1/process", params=asked).json()["results"]
        return [hit(row, RULE, "Odd process") for row in rows]

    with (
        alerted_server(tmp_path_factory.mktemp("conditions"), detect) as server,
        server.analyst() as client,
    ):
        yield client


def refused(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 400, (body, answer.text)
    assert answer.json()["reason"] == "selects_all", (body, answer.text)
    assert "allow_all" in answer.json()["message"]


def resolved(client: httpx.Client) -> int:
    return int(search(client, q="status:Resolved")["total_results"])


@pytest.mark.parametrize("query", EVERYTHING)
def test_a_query_for_every_alert_changes_none(admin: httpx.Client, query: str) -> None:
    before = resolved(admin)
    change = {"query": query, "requested_status": "Resolved"}
    refused(admin, ALERTS, change)
    refused(admin, ALERTS, change | {"allow_all": False})
    refused(admin, ALERTS, change | {"except_ids": ["a" * 32], "expected": 1})
    assert resolved(admin) == before


def test_a_dry_run_says_that_it_selects_everything(admin: httpx.Client) -> None:
    found = admin.post(ALERTS, json={"query": "q=*:*", "dry_run": True}).json()
    assert found["selects_all"] is True
    assert found["alerts"] == search(admin)["total_results"]
    found = admin.post(ALERTS, json={"query": "q=Odd", "dry_run": True}).json()
    assert found["selects_all"] is False


def test_every_alert_is_changed_with_the_flag(admin: httpx.Client) -> None:
    total = search(admin)["total_results"]
    body = {"query": "q=*:*", "requested_status": "In Progress", "allow_all": True}
    assert admin.post(ALERTS, json=body).json()["changed"] == total
    body = {"query": "", "requested_status": "Unresolved", "allow_all": "true"}
    assert admin.post(ALERTS, json=body).json()["changed"] == total
    body = {"query": "q=", "requested_status": "Resolved", "allow_all": "yes"}
    assert admin.post(ALERTS, json=body).status_code == 400


def test_ids_beside_the_query_are_a_condition(admin: httpx.Client) -> None:
    one = search(admin, rows=1)["results"][0]["unique_id"]
    body = {"query": "q=", "alert_ids": [one], "requested_status": "In Progress"}
    assert admin.post(ALERTS, json=body).json()["changed"] == 1
    body["requested_status"] = "Unresolved"
    assert admin.post(ALERTS, json=body).json()["changed"] == 1


@pytest.mark.parametrize("query", EVERYTHING)
def test_a_query_for_every_report_ignores_none(admin: httpx.Client, query: str) -> None:
    body = {"query": query, "updates": {"is_ignored": True}}
    refused(admin, REPORTS, body)
    assert admin.post(REPORTS, json=body | {"allow_all": True}).json()["updated"] == 0
    assert admin.post(REPORTS, json=body | {"allow_all": "maybe"}).status_code == 400


def test_ids_without_a_report_are_named_and_not_counted(admin: httpx.Client) -> None:
    body = {"ids": {"7": ["b", "a"], "9": ["c"]}, "updates": {"is_ignored": True}}
    assert admin.post(REPORTS, json=body).json() == {
        "result": "success",
        "updated": 0,
        "unchanged": 0,
        "not_found": {"7": ["a", "b"], "9": ["c"]},
    }


@pytest.mark.parametrize("query", [one for one in EVERYTHING if one.strip()])
def test_a_suppression_of_every_alert_is_refused(admin: httpx.Client, query: str) -> None:
    refused(admin, SUPPRESSIONS, {"query": query})
    made = admin.post(SUPPRESSIONS, json={"query": "title:quiet"}).json()
    answer = admin.put(f"{SUPPRESSIONS}/{made['id']}", json={"query": query})
    assert answer.json()["reason"] == "selects_all"
    kept = admin.put(f"{SUPPRESSIONS}/{made['id']}", json={"query": query, "allow_all": True})
    assert kept.json()["query"] == query
    assert admin.delete(f"{SUPPRESSIONS}/{made['id']}").status_code == 200


@pytest.mark.parametrize(
    "selection",
    [
        {},
        {"query": "*:*"},
        {"query": " "},
        {"criteria": {}, "exclusions": {}, "query": "*"},
        {"time_range": None, "query": "-title:''"},
    ],
    ids=str,
)
def test_a_workflow_of_every_alert_is_refused(
    admin: httpx.Client, selection: dict[str, Any]
) -> None:
    refused(admin, WORKFLOW, selection | {"status": "CLOSED"})
    body = selection | {"status": "OPEN", "allow_all": True}
    assert admin.post(WORKFLOW, json=body).status_code == 200
    for condition in (
        {"query": "title:none"},
        {"criteria": {"workflow_status": ["CLOSED"]}},
        {"time_range": {"range": "-1d"}},
    ):
        body = selection | condition | {"status": "OPEN"}
        assert admin.post(WORKFLOW, json=body).status_code == 200


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"query": "*:*"},
        {"query": "*"},
        {"criteria": {}},
        {"rows": 5, "start": 0},
        {"criteria": {"status": ["ALL"]}},
        {"criteria": {"status": ["LIVE", "ALL"]}},
        {"criteria": {"deployment_type": ["ENDPOINT"]}, "query": " "},
    ],
    ids=str,
)
def test_an_update_of_every_device_is_refused(
    admin: httpx.Client, definition: dict[str, Any]
) -> None:
    refused(admin, UPDATES, UPDATE | {"search_definition": definition})


def test_every_bulk_change_by_a_query_knows_the_flag(admin: httpx.Client) -> None:
    """A route that is added without it fails here."""
    document = admin.get("/openapi.json").json()
    found = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method == "get" or path.endswith((*READS, *OTHERS)):
                continue
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            if "$ref" in schema:
                schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            members = schema.get("properties", {})
            if any(name in members for name in SELECTORS):
                found[method, path] = "allow_all" in members
    assert {path for _, path in found} >= {ALERTS, REPORTS, SUPPRESSIONS}
    assert [route for route, knows in found.items() if not knows] == []
