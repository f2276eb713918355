"""The figures of a server at a glance, and hosts in trouble."""

import pytest

from tests.support.served import Server
from tests.support.sysmon import story


def test_what_was_refused_is_counted_with_its_reason(server: Server) -> None:
    with server.analyst() as client:
        before = client.get("/api/v1/health/summary").json()
    with server.sender() as sender:
        records = [*story("glance.example").records, {"no": "record"}]
        sender.post("/api/v1/ingest", json=records)
    with server.analyst() as client:
        after = client.get("/api/v1/health/summary").json()
        again = client.get("/api/v1/health/summary").json()
    refused = sum(after["intake"]["rejected"].values()) - sum(before["intake"]["rejected"].values())
    assert refused == 1
    assert after["intake"]["records"] == again["intake"]["records"]
    assert after["intake"]["accepts"] is True
    assert 0 < after["disk"]["free_bytes"] <= after["disk"]["total_bytes"]
    assert after["detection"]["rules_stopped"] == 0
    assert after["jobs"] == {"running": 0}
    assert after["outbox"]["failing"] == 0


def test_others_than_global_administrators_get_none(server: Server) -> None:
    with server.sender() as sender:
        assert sender.get("/api/v1/health/summary").status_code in (401, 403)


@pytest.mark.parametrize(("trouble", "status"), [("isolation", 200), ("gaps", 200), ("x", 400)])
def test_sensors_are_filtered_by_their_trouble(server: Server, trouble: str, status: int) -> None:
    with server.analyst() as client:
        answer = client.get("/api/v2/sensor", params={"trouble_filter": trouble})
    assert answer.status_code == status
    if status == 200:
        assert answer.json()["total_results"] == 0
