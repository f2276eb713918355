"""The public client `cbapi`: alerts are searched, saved, assigned, closed and ignored, one by one
and many at once (docs/clients.md#detection)."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.served import Server
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection, Source
from vedette.state.db.database import open_database
from vedette.state.policy.ignored_reports import ignored_among

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = pytest.mark.filterwarnings("ignore")

MANY = 1_200
HOST = "cbapi-alerts.corp.example"


def detections(process: dict[str, Any]) -> Iterator[Detection]:
    """Many of a watchlist, over several pages of the client, and three of a feed's reports."""
    for number in range(MANY):
        yield Detection(
            source=Source("watchlist", str(number)),
            source_name=f"Watchlist {number}",
            alert_type="watchlist.hit.query.process",
            subject=process["id"],
            time_us=time.time_ns() // 1_000,
            sensor_id=process["sensor_id"],
            process_id=process["id"],
            segment_id=process["segment_id"],
            title=f"Watchlist {number}",
            severity=number % 101,
        )
    for number in range(3):
        yield Detection(
            source=Source("feed", "7"),
            source_name="srsfeed",
            feed_rating=3.0,
            alert_type="watchlist.hit.ingress.process",
            subject=process["id"],
            time_us=time.time_ns() // 1_000,
            sensor_id=process["sensor_id"],
            process_id=process["id"],
            segment_id=process["segment_id"],
            title=f"Report {number}",
            report_id=f"rep-{number}",
            report_score=90,
            ioc_type="md5",
            ioc_value="ab" * 16,
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with alerts of one host; watchlists make some because the test says so."""

    def detect(running: Server) -> list[Detection]:
        tale = story(HOST)
        with running.sender() as sender:
            assert sender.post("/api/v1/ingest", json=tale.records).status_code == 200
        with running.analyst() as analyst:
            query = {"q": f"hostname:{HOST} process_name:powershell.exe"}
            (process,) = analyst.get("/api/v1/process", params=query).json()["results"]
        return list(detections(process))

    with alerted_server(tmp_path_factory.mktemp("alerts"), detect) as running:
        yield running


def test_alerts_are_found_page_by_page_and_lead_to_their_process(cb: Any) -> None:
    from cbapi.response import Alert

    query = cb.select(Alert).where("feed_id:-1")
    assert len(query) == MANY
    assert len({alert.unique_id for alert in query}) == MANY
    first = cb.select(Alert).where('watchlist_name:"Watchlist 7"').first()
    assert first.feed_name == "My Watchlists"
    assert first.watchlist_id == 7
    assert first.alert_type == "watchlist.hit.query.process"
    assert first.process.hostname == HOST
    assert first.sensor.hostname.lower().startswith("cbapi-alerts")
    worst = cb.select(Alert).where("feed_id:-1").sort("alert_severity desc").first()
    assert worst.alert_severity == 100
    hit = cb.select(Alert).where("report_id:rep-0").first()
    assert (hit.watchlist_name, hit.watchlist_id) == ("Report 0", "rep-0")
    assert hit.trigger_ioc == {"md5": "ab" * 16}


def test_one_alert_is_saved_and_changed(cb: Any) -> None:
    from cbapi.response import Alert

    alert = cb.select(Alert).where("watchlist_id:11").first()
    alert.status = "In Progress"
    alert.save()
    assert cb.select(Alert, alert.unique_id).status == "In Progress"
    alert.change_status("Resolved")
    alert.refresh()
    assert alert.status == "Resolved"
    assert alert.resolved_time
    alert.assign("bob")
    alert.refresh()
    assert (alert.assigned_to, alert.status) == ("bob", "In Progress")


def test_many_alerts_are_changed_at_once(cb: Any) -> None:
    from cbapi.response import Alert

    some = "feed_id:-1 alert_severity:[50 TO *]"
    count = len(cb.select(Alert).where(some))
    assert count > 500
    cb.select(Alert).where(some).change_status("Resolved")
    assert len(cb.select(Alert).where(f"{some} status:Resolved")) == count
    cb.select(Alert).where("watchlist_id:[1 TO 5]").assign("ann")
    assert len(cb.select(Alert).where('assigned_to:ann status:"In Progress"')) == 5


def test_an_ignored_report_stays_silent(cb: Any, server: Server) -> None:
    from cbapi.response import Alert

    cb.select(Alert).where("report_id:rep-1").first().set_ignored()
    cb.select(Alert).where("report_id:rep-2").set_ignored()
    for report in ("rep-1", "rep-2"):
        alert = cb.select(Alert).where(f"report_id:{report}").first()
        assert (alert.status, alert.report_ignored) == ("False Positive", True)
    database = open_database("", server.data)
    with database.reading() as connection:
        reports = [(7, f"rep-{number}") for number in range(3)]
        assert ignored_among(connection, reports) == {(7, "rep-1"), (7, "rep-2")}
    database.close()


def test_other_clients_update_by_query(cb: Any) -> None:
    body = {"query": "watchlist_id:20", "requested_status": "Resolved"}
    assert cb.post_object("/api/v1/alerts", body).json() == {"result": "success", "changed": 1}
    query = 'status:"Resolved" AND created_time:[2020-01-01T00:00:00 TO *]'
    empty = cb.session.get("/api/v2/alert", params={"q": query})
    assert empty.json()["total_results"] >= 1
