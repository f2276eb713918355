"""The public carbon-black-cloud-sdk, unmodified: it logs in by OAuth, pages alerts, counts and
changes them, reads and searches devices."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cloud import ORG, access_token, make_app
from tests.support.served import Server, open_group, wait_for
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection, Source

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from cbc_sdk import CBCloudAPI
    from cbc_sdk.credentials import Credentials
    from cbc_sdk.errors import ClientError, CredentialError, ObjectNotFoundError
    from cbc_sdk.platform import Alert, Device, GroupedAlert

pytestmark = pytest.mark.filterwarnings("ignore")

ALERTS = 1_250
HOST = "sdk-host.corp.example"
PERMISSIONS = (
    "org.alerts:read",
    "org.alerts.close:execute",
    "jobs.status:read",
    "device:read",
    "org.alerts.notes:read",
    "org.alerts.notes:create",
    "org.alerts.notes:delete",
)


def detections(server: Server) -> list[Detection]:
    with server.sender() as sender:
        answer = sender.post("/api/v1/ingest", json=story(HOST).records)
    assert answer.status_code == 200, answer.text
    found = [
        Detection(
            source=Source("rule", f"rule-{number % 10}"),
            source_name=f"Rule {number % 10}",
            alert_type="watchlist.hit.query.process",
            subject=f"subject {number}",
            time_us=1_700_000_000_000_000 + number,
            sensor_id=1,
            process_id=f"00000001-0000-0000-0000-{number:012x}",
            segment_id=1_700_000_000_000,
            title=f"Rule {number % 10}",
            severity=10 + number % 90,
            techniques=("T1059.001",),
            seq=number // 100 + 1,
        )
        for number in range(ALERTS - 50)
    ]
    watched = [
        Detection(
            source=Source("watchlist", "7"),
            source_name="Odd shells",
            alert_type="watchlist.hit.query.process",
            subject=f"watched {number}",
            time_us=1_700_000_000_000_000 + number,
            sensor_id=1,
            title="Odd shells",
            seq=20,
        )
        for number in range(50)
    ]
    return found + watched


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with alerted_server(tmp_path_factory.mktemp("sdk"), detections) as running:
        yield running


@pytest.fixture(scope="module")
def cloud(server: Server) -> Any:
    """Logged in by OAuth. The token service of the SDK has no way to trust a certificate of our
    own, so its requests are told by the usual variable."""
    app = make_app(server, "sdk", *PERMISSIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", str(server.certificate))
        yield CBCloudAPI(
            url=server.url,
            org_key=ORG,
            csp_oauth_app_id=app.id,
            csp_oauth_app_secret=app.secret,
            csp_url_override=server.url,
            ssl_verify=True,
            ssl_cert_file=str(server.certificate),
        )


def test_it_pages_every_alert_exactly_once(cloud: Any) -> None:
    query = cloud.select(Alert).set_rows(100).sort_by("backend_timestamp", "ASC")
    ids = [alert.id for alert in query]
    assert len(ids) == ALERTS
    assert len(set(ids)) == ALERTS
    assert len(query) == ALERTS


def test_alerts_have_the_class_of_their_type(cloud: Any) -> None:
    watched = cloud.select(Alert).add_criteria("type", ["WATCHLIST"]).all()
    assert len(watched) == 50
    assert {type(one).__name__ for one in watched} == {"WatchlistAlert"}
    assert watched[0].to_json()["watchlists"] == [{"id": "7", "name": "Odd shells"}]
    others = cloud.select(Alert).add_exclusions("type", ["WATCHLIST"])
    assert len(others) == ALERTS - 50


def test_criteria_and_times_select(cloud: Any) -> None:
    severe = cloud.select(Alert).set_minimum_severity(10).set_rows(1_000)
    assert all(one.severity == 10 for one in severe)
    assert 0 < len(severe) < ALERTS
    assert len(cloud.select(Alert).set_time_range(range="-1h")) == ALERTS
    early = {"start": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"}
    assert len(cloud.select(Alert).set_time_range(**early)) == 0
    assert len(cloud.select(Alert).where("title:Odd")) == 50


def test_it_counts_by_values(cloud: Any) -> None:
    facets = cloud.select(Alert).facets(["type", "device_name"])
    by_field = {one["field"]: {v["id"]: v["total"] for v in one["values"]} for one in facets}
    assert by_field["type"] == {"CB_ANALYTICS": ALERTS - 50, "WATCHLIST": 50}
    assert sum(by_field["device_name"].values()) == ALERTS


def test_it_closes_alerts_by_a_job(cloud: Any) -> None:
    alert = cloud.select(Alert).add_criteria("reason_code", ["rule-1"]).first()
    job = alert.close("RESOLVED", "FALSE_POSITIVE", "known good")
    assert job.await_completion(timeout=30_000).result().status == "COMPLETED"
    alert.refresh()
    assert alert.workflow["status"] == "CLOSED"
    assert alert.workflow["closure_reason"] == "RESOLVED"
    assert alert.get("determination")["value"] == "FALSE_POSITIVE"
    assert [note.note for note in alert.notes_()] == ["known good"]
    selected = cloud.select(Alert).add_criteria("reason_code", ["rule-2"])
    count = len(selected)
    done = selected.update("IN_PROGRESS").await_completion(timeout=30_000).result()
    assert done.get_progress()[:2] == (count, count)
    changed = cloud.select(Alert).add_criteria("workflow_status", ["IN_PROGRESS"])
    assert len(changed) == count


def test_it_writes_and_deletes_notes(cloud: Any) -> None:
    alert = cloud.select(Alert).add_criteria("reason_code", ["rule-3"]).first()
    note = alert.create_note("<script>look</script>")
    assert note.note == "<script>look</script>"
    assert [one.id for one in alert.notes_()] == [note.id]
    assert cloud.select(Alert, alert.id).alert_notes_present
    note.delete()
    assert alert.notes_() == []


def test_it_groups_alerts(cloud: Any) -> None:
    groups = cloud.select(GroupedAlert).set_rows(3).all()
    assert len(groups) == 11
    counts = {one.most_recent_alert["reason_code"]: one.count for one in groups}
    assert counts == {**{f"rule-{n}": (ALERTS - 50) // 10 for n in range(10)}, "7": 50}
    assert len(groups[0].get_alerts()) == groups[0].count


def test_it_reads_and_searches_devices(cloud: Any) -> None:
    device = cloud.select(Device, 1)
    assert device.name == HOST
    assert (device.os, device.policy_name) == ("WINDOWS", "Default Group")
    found = cloud.select(Device).where("SDK-host").set_status(["ACTIVE"]).all()
    assert [one.id for one in found] == [1]
    facets = cloud.select(Device).facets(["os", "policy_id"])
    assert {one.field for one in facets} == {"os", "policy_id"}
    assert facets[0].values_[0].query_devices().all()[0].id == 1
    assert HOST in cloud.select(Device).set_status(["ALL"]).download()
    job = cloud.select(Device).set_status(["ALL"]).export()
    assert HOST in job.await_completion(timeout=30_000).result().get_output_as_string()
    assert [one.id for one in cloud.select(Device).scroll()] == [1]
    with pytest.raises(ObjectNotFoundError):
        cloud.select(Device, 424242)


def test_an_app_without_the_permission_is_refused(server: Server) -> None:
    app = make_app(server, "sdk without alerts", "device:read", kind="key")
    limited = CBCloudAPI(
        credential_provider=None,
        url=server.url,
        org_key=ORG,
        token=app.auth_token,
        ssl_verify=True,
        ssl_cert_file=str(server.certificate),
    )
    assert limited.select(Device, 1).id == 1
    with pytest.raises(ClientError):
        limited.select(Alert).all()


def test_a_wrong_secret_is_told(server: Server) -> None:
    app = make_app(server, "sdk mistyped", "device:read")
    values = {
        "url": server.url,
        "org_key": ORG,
        "csp_oauth_app_id": app.id,
        "csp_oauth_app_secret": "0" * 40,
        "csp_url_override": server.url,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", str(server.certificate))
        with pytest.raises(CredentialError):
            Credentials(values).get_token()


def test_alerts_and_devices_of_hidden_groups_never_appear(server: Server) -> None:
    number, _ = open_group(server, "Elsewhere")
    app = make_app(server, "elsewhere", *PERMISSIONS, groups=[number])
    token = access_token(server, app).json()["access_token"]
    base = f"/api/alerts/v7/orgs/{ORG}"
    with server.client(Authorization=f"Bearer {token}") as client:
        found = client.post(f"{base}/alerts/_search", json={"rows": 10_000}).json()
        assert (found["num_found"], found["results"]) == (0, [])
        facets = client.post(f"{base}/alerts/_facet", json={"terms": {"fields": ["id"]}}).json()
        assert facets["results"][0]["values"] == []
        groups = client.post(f"{base}/grouped_alerts/_search", json={}).json()
        assert groups["num_found"] == 0
        with server.client(**{"X-Auth-Token": server.token}) as all_seeing:
            page = all_seeing.post(f"{base}/alerts/_search", json={"rows": 1}).json()
        alert_id = page["results"][0]["id"]
        for path in (f"alerts/{alert_id}", f"alerts/{alert_id}/notes"):
            assert client.get(f"{base}/{path}").status_code == 404
        note = client.post(f"{base}/alerts/{alert_id}/notes", json={"note": "x"})
        assert note.status_code == 404
        change = {"criteria": {"id": [alert_id]}, "status": "CLOSED"}
        job = client.post(f"{base}/alerts/workflow", json=change).json()["request_id"]
        where = f"/jobs/v1/orgs/{ORG}/jobs/{job}"
        assert wait_for(lambda: client.get(where).json()["status"], "COMPLETED") == "COMPLETED"
        assert client.get(where).json()["progress"]["num_completed"] == 0
        assert client.get(f"/appservices/v6/orgs/{ORG}/devices/1").status_code == 404
        devices = client.post(f"/appservices/v6/orgs/{ORG}/devices/_search", json={}).json()
        assert devices["num_found"] == 0
        assert client.get("/jobs/v1/orgs/OTHER/jobs").status_code == 404
