"""Sensor groups, sites and builds over HTTP."""

import html
import json
import re
from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role

BASES = ("/api/v3/group", "/api/v1/group", "/api/group")
POSTED = {
    "sensor_version_linux": "Manual",
    "sensor_version_osx": "Manual",
    "sensor_version_windows": "Manual",
    "sensorbackend_server": "https://x:443",
    "site_id": 1,
}


def group(analyst: httpx.Client, group_id: int) -> dict[str, Any]:
    (record,) = analyst.get(f"/api/v3/group/{group_id}").json()
    found: dict[str, Any] = record
    return found


@pytest.mark.parametrize("base", BASES)
def test_a_group_lives_under_every_name(analyst: httpx.Client, base: str) -> None:
    name = f"group of {base}"
    group_id = analyst.post(base, json=POSTED | {"name": name}).json()["id"]
    (record,) = analyst.get(f"{base}/{group_id}").json()
    assert (record["name"], record["site_id"], record["banning_enabled"]) == (name, 1, True)
    assert record["sensorbackend_server"] == "https://x:443"
    changed = analyst.put(f"{base}/{group_id}", json=record | {"vdi_enabled": True}).json()
    assert changed["result"] == "success"
    assert group(analyst, group_id) == record | {"vdi_enabled": True}
    assert analyst.get(f"{base}/{group_id}/datasharing").json() == []
    assert name in [one["name"] for one in analyst.get(base).json()]
    assert analyst.delete(f"{base}/{group_id}").json() == {"result": "success"}
    assert analyst.get(f"{base}/{group_id}").status_code == 404


def test_a_group_without_an_address_shows_the_servers(
    server: Server, analyst: httpx.Client
) -> None:
    record = group(analyst, 1)
    assert record["sensorbackend_server"] == server.url
    analyst.put("/api/v3/group/1", json=record)
    assert group(analyst, 1) == record


def test_the_page_of_a_group_without_an_address_can_give_it_one(analyst: httpx.Client) -> None:
    group_id = analyst.post(BASES[0], json={"name": "no address yet"}).json()["id"]
    page = analyst.get(f"/ui/groups/{group_id}").text
    (shown,) = re.findall(r'data-was="([^"]+)"', page)
    was = json.loads(html.unescape(shown))["sensorbackend_server"]
    change = {"sensorbackend_server": "https://x:443", "was": {"sensorbackend_server": was}}
    answer = analyst.put(f"{BASES[0]}/{group_id}", json=change)
    assert answer.status_code == 200, answer.text
    assert group(analyst, group_id)["sensorbackend_server"] == "https://x:443"


def test_lists_of_a_group_are_kept(analyst: httpx.Client) -> None:
    body = {
        "name": "with lists",
        "isolation_exclusions": [{"name": "dns", "ip_address": "10.0.0.1:53"}],
        "event_exclusions": [{"eventsToIgnore": ["filemod"], "paths": ["/usr/bin/make"]}],
    }
    record = analyst.post("/api/v3/group", json=body).json()
    known = group(analyst, record["id"])
    (exclusion,) = known["isolation_exclusions"]
    assert (exclusion["ip_address"], exclusion["enabled"]) == ("10.0.0.1:53", True)
    assert known["event_exclusions"] == body["event_exclusions"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"name": " "}, "name"),
        ({"name": "x", "site_id": 99}, "site"),
        ({"name": "x", "sensorbackend_server": "javascript:1"}, "sensorbackend_server"),
        ({"name": "x", "sensorbackend_server": "https://a\ninjected = 1"}, "sensorbackend_server"),
        ({"name": "x", "sensor_exe_name": "../../bin/sh"}, "sensor_exe_name"),
        ({"name": "x", "sensor_exe_name": "a/b"}, "sensor_exe_name"),
        ({"name": "x", "isolation_exclusions": [{"ip_address": "nowhere"}]}, "ip_address"),
        ({"name": "x", "event_exclusions": [{"eventsToIgnore": ["all"]}]}, "eventsToIgnore"),
        ({"name": "x", "team_access": [{"team_id": 9_999, "access_category": "Viewer"}]}, "team"),
        ({"name": "x", "checkin_interval_s": 1}, "checkin_interval_s"),
    ],
)
def test_a_bad_group_is_refused_by_name(
    analyst: httpx.Client, members: dict[str, Any], message: str
) -> None:
    before = analyst.get("/api/v3/group").json()
    answer = analyst.post("/api/v3/group", json=members)
    assert (answer.status_code, message in answer.json()["message"]) == (400, True)
    assert analyst.get("/api/v3/group").json() == before


def test_names_are_given_once(analyst: httpx.Client) -> None:
    assert analyst.post("/api/v3/group", json={"name": "Default Group"}).status_code == 409
    assert analyst.post("/api/site", json={"name": "Default Site"}).status_code == 409


def test_the_default_group_and_groups_with_sensors_stay(
    server: Server, analyst: httpx.Client
) -> None:
    from tests.support.sysmon import story

    assert analyst.delete("/api/v3/group/1").status_code == 409
    group_id, token = open_group(server, "inhabited")
    with server.client(Authorization=f"Bearer {token}") as sender:
        sender.post("/api/v1/ingest", json=story("inhabitant.corp.example").records)
    answer = analyst.delete(f"/api/v3/group/{group_id}")
    assert answer.status_code == 409
    assert group(analyst, group_id)["number_of_hosts"] == 1


def test_users_see_the_groups_they_have_a_role_in(server: Server) -> None:
    mine, _ = open_group(server, "my own group")
    token = hire(server, "group-viewer", {mine: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        assert [one["id"] for one in viewer.get("/api/v3/group").json()] == [mine]
        assert viewer.get("/api/v3/group/1").status_code == 404
        assert viewer.get("/api/v1/group/1/datasharing").status_code == 404
        assert viewer.get("/api/v1/group/1/installer/linux").status_code == 403
        assert viewer.put(f"/api/v3/group/{mine}", json={"name": "x"}).status_code == 403
        (record,) = viewer.get(f"/api/v3/group/{mine}").json()
    (access,) = record["team_access"]
    assert (access["team_name"], access["access_category"]) == ("team of group-viewer", "Viewer")


@pytest.mark.parametrize("group_id", ["0", "-1", "99999", "abc", "1e3"])
def test_an_unknown_group_is_404(analyst: httpx.Client, group_id: str) -> None:
    assert analyst.get(f"/api/v3/group/{group_id}").status_code == 404


@pytest.mark.parametrize("base", ["/api/site", "/api/v1/site"])
def test_a_site_lives_under_both_names(analyst: httpx.Client, base: str) -> None:
    assert {"id": 1, "name": "Default Site"} in analyst.get(base).json()
    site_id = analyst.post(base, json={"name": f"site of {base}"}).json()["id"]
    analyst.put(f"{base}/{site_id}", json={"id": site_id, "name": f"renamed {base}"})
    assert analyst.get(f"{base}/{site_id}").json() == [{"id": site_id, "name": f"renamed {base}"}]
    assert analyst.delete(f"{base}/{site_id}").status_code == 200
    assert analyst.get(f"{base}/{site_id}").status_code == 404


def test_a_site_with_groups_stays(analyst: httpx.Client) -> None:
    site_id = analyst.post("/api/site", json={"name": "kept site"}).json()["id"]
    analyst.post("/api/v3/group", json={"name": "on the kept site", "site_id": site_id})
    assert analyst.delete(f"/api/site/{site_id}").status_code == 409
    assert analyst.delete("/api/site/1").status_code == 409
    assert analyst.post("/api/site", json={"name": 7}).status_code == 400


def test_builds_are_listed_by_system(analyst: httpx.Client) -> None:
    for path in ("/api/v2/builds", "/api/builds", "/api/v1/builds"):
        assert set(analyst.get(path).json()) == {"Windows", "Linux", "OSX"}


def test_an_option_without_effect_is_answered_with_a_warning(
    server: Server, analyst: httpx.Client
) -> None:
    group_id, _ = open_group(server, "warned about options")
    path = f"/api/v1/group/{group_id}"
    changed = {"tamper_level": 2, "datastore_server": "x", "collect_netconns": False}
    warnings = analyst.put(path, json=changed).json()["warnings"]
    assert [one.partition(":")[0] for one in warnings] == ["datastore_server", "tamper_level"]
    (record,) = analyst.get(path).json()
    assert "warnings" not in analyst.put(path, json=record).json()
