"""The figures of a server at a glance, and hosts in trouble."""

from typing import Any

import pytest

from tests.support.served import Server, hire, open_group
from tests.support.sysmon import story
from vedette.model.principal import Role
from vedette.pipeline.recent_refusal import REFUSED_RECORD_BYTES_MAX


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
    assert after["intake"]["records_per_second"] > 0
    assert after["intake"]["bytes_per_second"] > after["intake"]["records_per_second"]
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
    for one in answer.json().get("results", ()):
        assert trouble == "gaps" or one["network_isolation_enabled"] or one["is_isolating"]


def refused(server: Server, reason: str) -> dict[str, Any]:
    with server.analyst() as client:
        found = client.get("/api/v1/health/refused").json()
    return next(one for one in found if one["reason"] == reason)


def test_the_last_refused_record_of_a_reason_is_shown_cut(server: Server) -> None:
    marked = {"no": "record", "text": "<b>marked</b>" * 500}
    with server.sender() as sender:
        sender.post("/api/v1/ingest", json=[{"no": "record"}, marked])
    found = refused(server, "unknown_format")
    assert "<b>marked</b>" in found["text"]
    assert len(found["text"]) == REFUSED_RECORD_BYTES_MAX < found["size"]
    assert (found["is_whole"], found["is_hidden"]) == (False, False)
    assert found["sender"] == "127.0.0.1"


def test_a_refused_record_shows_only_its_shape_while_a_group_hides_something(
    server: Server,
) -> None:
    group, _ = open_group(server, "that hides names")
    path = f"/api/v1/group/{group}"
    with server.sender() as sender:
        sender.post("/api/v1/ingest", json=[{"User": "Ann Ö 7"}])
    with server.analyst() as client:
        assert client.put(path, json={"pseudonymise_users": True}).is_success
        hidden = refused(server, "unknown_format")
        assert hidden["text"] == '{"xxxx":"xxx x 0"}'
        assert hidden["is_hidden"] is True
        assert client.put(path, json={"pseudonymise_users": False}).is_success
    assert "Ann" in refused(server, "unknown_format")["text"]


def test_refused_records_are_for_global_administrators(server: Server) -> None:
    group, _ = open_group(server, "of a curious administrator")
    token = hire(server, "curious-of-refused", {group: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.get("/api/v1/health/refused").status_code == 403
