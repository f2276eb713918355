"""Bans over HTTP, and the orders that sensors get."""

import secrets
import time
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.support.sensor import enrol, event, secret_of
from tests.support.served import Server, hire, open_group, wait_for
from tests.support.sysmon import Story
from vedette.model.principal import Role
from vedette.respond.ban_reach import protection_of

BASE = "/api/v1/banning/bannedlist"
NAMES = ("bannedlist", "blacklist", "restrictedlist")


def new_md5() -> str:
    return secrets.token_hex(16)


def ban(client: httpx.Client, md5: str, text: str = "seen in an attack") -> httpx.Response:
    return client.post(BASE, json={"md5hash": md5, "text": text, "enabled": True})


@pytest.mark.parametrize("name", NAMES)
def test_a_ban_is_a_record_under_every_name(analyst: httpx.Client, name: str) -> None:
    base, md5 = f"/api/v1/banning/{name}", new_md5()
    answer = analyst.post(base, json={"md5hash": md5.upper(), "text": "why", "last_ban_time": 0})
    assert answer.json()["result"] == "success"
    record = analyst.get(f"{base}/{md5.upper()}").json()
    assert (record["md5hash"], record["enabled"], record["text"]) == (md5, True, "why")
    assert (record["username"], record["user_id"], record["block_count"]) == ("admin", 1, 0)
    assert record["last_block_time"] is None
    assert md5 in [one["md5hash"] for one in analyst.get(base, params={"count": 10_000}).json()]


def test_a_second_ban_is_a_conflict(analyst: httpx.Client) -> None:
    md5 = new_md5()
    assert ban(analyst, md5).status_code == 200
    assert ban(analyst, md5).status_code == 409


def test_a_ban_that_was_taken_back_stays_with_its_history(analyst: httpx.Client) -> None:
    md5 = new_md5()
    ban(analyst, md5, "first")
    assert analyst.delete(f"{BASE}/{md5}").json() == {"result": "success"}
    assert analyst.get(f"{BASE}/{md5}").json()["enabled"] is False
    assert ban(analyst, md5, "second").status_code == 200
    audit = analyst.get(f"{BASE}/{md5}").json()["audit"]
    entries = [(one["enabled"], one["text"], one["username"]) for one in audit]
    assert entries == [
        (True, "first", "admin"),
        (False, "first", "admin"),
        (True, "second", "admin"),
    ]


def test_a_whole_record_may_come_back_with_a_change(analyst: httpx.Client) -> None:
    md5 = new_md5()
    record = ban(analyst, md5).json()
    changed = analyst.put(f"{BASE}/{md5}", json=record | {"text": "new", "enabled": False}).json()
    assert (changed["text"], changed["enabled"]) == ("new", False)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": "x"}, "md5hash"),
        ({"md5hash": "12"}, "md5hash"),
        ({"md5hash": "../../etc/passwd"}, "md5hash"),
        ({"md5hash": 12}, "md5hash"),
        ({"md5hash": "ab" * 16, "enabled": "yes"}, "enabled"),
        ({"md5hash": "ab" * 16, "text": 5}, "text"),
        ({"md5hash": "ab" * 16, "enabeld": True}, "'enabeld'"),
    ],
)
def test_a_bad_ban_is_refused_by_name(analyst: httpx.Client, body: object, message: str) -> None:
    answer = analyst.post(BASE, json=body)
    assert (answer.status_code, message in answer.json()["message"]) == (400, True)


def test_a_program_that_was_never_banned_is_404(analyst: httpx.Client) -> None:
    md5 = new_md5()
    assert analyst.get(f"{BASE}/{md5}").status_code == 404
    assert analyst.delete(f"{BASE}/{md5}").status_code == 404
    assert analyst.put(f"{BASE}/{md5}", json={"text": "x"}).status_code == 404
    assert analyst.get(f"{BASE}/xyz").status_code == 400


def test_the_answer_says_where_the_program_runs(analyst: httpx.Client, sent_story: Story) -> None:
    answer = ban(analyst, sent_story.powershell.md5).json()
    (host,) = (one for one in answer["running"] if one["hostname"] == sent_story.host.name)
    assert host["process_count"] == 1
    assert host["process_ids"][0].endswith(sent_story.powershell.sensor_less_id)


def test_a_program_that_has_ended_does_not_run(analyst: httpx.Client, sent_story: Story) -> None:
    answer = ban(analyst, sent_story.whoami.md5).json()
    assert sent_story.host.name not in [one["hostname"] for one in answer["running"]]


def test_who_bans_must_be_an_analyst_of_every_group(server: Server) -> None:
    mine, _ = open_group(server, "bans of one group")
    some = hire(server, "some-analyst", {mine: Role.ANALYST})
    with server.client(**{"X-Auth-Token": some}) as client:
        assert ban(client, new_md5()).status_code == 403
        assert client.get(BASE).status_code == 200


def test_where_a_program_runs_is_listed_for_visible_hosts_only(
    server: Server, analyst: httpx.Client, sent_story: Story
) -> None:
    # An analyst of every group whose own list is one group without that host: there is none.
    groups = {one["id"]: Role.ANALYST for one in analyst.get("/api/v3/group").json()}
    everywhere = hire(server, "every-analyst", groups)
    analyst.delete(f"{BASE}/{sent_story.powershell.md5}")
    with server.client(**{"X-Auth-Token": everywhere}) as client:
        answer = ban(client, sent_story.powershell.md5).json()
    assert sent_story.host.name in [one["hostname"] for one in answer["running"]]
    assert answer["username"] == "every-analyst"


def test_a_sensor_learns_of_bans_and_of_those_taken_back(
    server: Server, analyst: httpx.Client
) -> None:
    md5 = new_md5()
    with server.client() as client:
        sensor = enrol(client, "ban-host.corp.example", secret_of(server))
        first = sensor.check_in(ban_version=0).json()["bans"]
        assert first is None or first["full"]
        have = first["version"] if first else 0
        ban(analyst, md5)
        orders = sensor.check_in(ban_version=have).json()["bans"]
        assert md5 in [one["md5"] for one in orders["add"]]
        assert sensor.check_in(ban_version=orders["version"]).json()["bans"] is None
        analyst.delete(f"{BASE}/{md5}")
        after = sensor.check_in(ban_version=orders["version"]).json()["bans"]
        assert (after["full"], after["add"], after["remove"]) == (False, [], [md5])


def test_a_sender_cannot_disarm_a_ban_beforehand(server: Server, analyst: httpx.Client) -> None:
    """A claim of another SHA-256 for the MD5 would let the real file pass."""
    md5, lie, truth = new_md5(), "ff" * 32, "ab" * 32
    now_us = int(time.time() * 1e6)
    with server.client() as client:
        for name, sha256 in (("liar", lie), ("honest", truth)):
            sensor = enrol(client, f"{name}-of-bans.example", secret_of(server))
            hashes = {"md5": md5, "sha256": sha256}
            sensor.send([event("start", now_us, 5, now_us, path="/x", cmdline="x", **hashes)])
        made = ban(analyst, md5).json()
        (order,) = [
            one for one in sensor.check_in(ban_version=0).json()["bans"]["add"] if one["md5"] == md5
        ]
    assert order == {"md5": md5}
    assert made["claimed_sha256"] == sorted((lie, truth))
    record = analyst.get(f"{BASE}/{md5}").json()
    assert (record["sha256hash"], record["claimed_sha256"]) == (None, sorted((lie, truth)))
    assert analyst.put(f"{BASE}/{md5}", json=record | {"enabled": False}).status_code == 200


def test_a_ban_that_is_created_disabled_is_never_in_force(
    server: Server, analyst: httpx.Client
) -> None:
    md5 = new_md5()
    with server.client() as client:
        sensor = enrol(client, "disabled-ban.corp.example", secret_of(server))
        before = sensor.check_in(ban_version=0).json()["bans"]
        made = analyst.post(BASE, json={"md5hash": md5, "text": "x", "enabled": False}).json()
        assert sensor.check_in(ban_version=0).json()["bans"] == before
    assert (made["enabled"], [one["enabled"] for one in made["audit"]]) == (False, [False])


def test_blocks_are_counted_with_the_last_one(server: Server, analyst: httpx.Client) -> None:
    md5 = new_md5()
    ban(analyst, md5)
    with server.client() as client:
        sensor = enrol(client, "block-host.corp.example", secret_of(server))
        now_us = int(time.time() * 1e6)
        block = {"md5": md5, "path": "/tmp/x", "pid": 9, "time_us": now_us, "count": 3}
        sensor.check_in(blocks=[block, {**block, "md5": new_md5()}])
    record = analyst.get(f"{BASE}/{md5}").json()
    assert (record["block_count"], record["last_block_sensor_id"]) == (3, sensor.id)
    assert record["last_block_hostname"] == "block-host.corp.example"


def test_was_is_compared_with_the_ban_that_the_caller_sees(
    server: Server, analyst: httpx.Client
) -> None:
    md5 = new_md5()
    ban(analyst, md5)
    with server.client() as client:
        sensor = enrol(client, "hidden-block.corp.example", secret_of(server))
        sensor.check_in(blocks=[{"md5": md5, "path": "/tmp/x", "pid": 9, "time_us": 1, "count": 3}])
    assert analyst.get(f"{BASE}/{md5}").json()["block_count"] == 3
    roles = {one["id"]: Role.ANALYST for one in analyst.get("/api/v1/group").json()}
    token = hire(server, "bans-everywhere", roles)
    with server.client(**{"X-Auth-Token": token}) as everywhere:
        body = {"text": "y", "was": {"block_count": 7}}
        answer = everywhere.put(f"{BASE}/{md5}", json=body)
    assert (answer.status_code, answer.json()["changed"]) == (409, {"block_count": 0})


def test_a_check_in_whose_answer_was_lost_counts_its_blocks_once(
    server: Server, analyst: httpx.Client
) -> None:
    md5 = new_md5()
    ban(analyst, md5)
    with server.client() as client:
        sensor = enrol(client, "repeating-host.corp.example", secret_of(server))
        block = {"md5": md5, "path": "/tmp/x", "pid": 9, "time_us": 1, "count": 3}
        for number in (7, 7, 8):
            sensor.check_in(blocks=[block], sequence={"epoch": "e", "next": 1, "blocks": number})
    assert analyst.get(f"{BASE}/{md5}").json()["block_count"] == 6


def test_a_group_that_does_not_enforce_bans_gets_none(
    server: Server, analyst: httpx.Client
) -> None:
    group_id, _ = open_group(server, "without bans")
    ban(analyst, new_md5())
    with server.client() as client:
        sensor = enrol(client, "free-host.corp.example", secret_of(server, group_id))
        enforced = sensor.check_in(ban_version=0).json()["bans"]
        assert enforced["add"]
        analyst.put(f"/api/v3/group/{group_id}", json={"banning_enabled": False})
        lifted = sensor.check_in(ban_version=enforced["version"]).json()["bans"]
        assert (lifted["full"], lifted["add"]) == (True, [])


def test_a_sensor_gets_the_filters_it_applies_itself(server: Server, analyst: httpx.Client) -> None:
    base = "/api/v1/ingress_approvedlist"
    body = {"id": "on-sensor", "name": "x", "path_filters": ["/noise"], "filter_on_sensor": True}
    analyst.post(base, json=[body, {"id": "on-server", "name": "y", "path_filters": ["/noise"]}])
    try:
        with server.client() as client:
            sensor = enrol(client, "filter-host.corp.example", secret_of(server))
            orders = sensor.check_in(filter_version=0).json()["filters"]
            assert [one["id"] for one in orders["filters"]] == ["on-sensor"]
            assert orders["filters"][0]["path_filters"] == ["/noise"]
            assert sensor.check_in(filter_version=orders["version"]).json()["filters"] is None
    finally:
        analyst.delete(f"{base}/on-sensor")
        analyst.delete(f"{base}/on-server")


def test_a_sensor_that_moves_gets_the_filters_of_its_new_group(
    server: Server, analyst: httpx.Client
) -> None:
    base = "/api/v1/ingress_approvedlist"
    group_id, _ = open_group(server, "with its own filters")
    body = {"id": "of-group", "path_filters": ["/noise"], "filter_on_sensor": True}
    analyst.post(base, json=[body | {"name": "x", "global": False, "group_ids": [group_id]}])
    try:
        with server.client() as client:
            sensor = enrol(client, "moving-host.corp.example", secret_of(server))
            before = sensor.check_in(filter_version=0).json()["filters"]
            assert before["filters"] == []
            analyst.put(f"/api/v1/sensor/{sensor.id}", json={"group_id": group_id})
            after = sensor.check_in(filter_version=before["version"]).json()["filters"]
            assert [one["id"] for one in after["filters"]] == ["of-group"]
    finally:
        analyst.delete(f"{base}/of-group")


def test_a_ban_that_one_sensor_gets_is_not_sent_to_another_that_has_it(
    server: Server, analyst: httpx.Client
) -> None:
    ban(analyst, new_md5())
    with server.client() as client:
        first, second = (enrol(client, f"shared-{n}.example", secret_of(server)) for n in (1, 2))
        orders = first.check_in(ban_version=0).json()["bans"]
        assert second.check_in(ban_version=0).json()["bans"] == orders
        assert first.check_in(ban_version=orders["version"]).json()["bans"] is None
        md5 = new_md5()
        ban(analyst, md5)
        for sensor in (first, second):
            changes = sensor.check_in(ban_version=orders["version"]).json()["bans"]
            assert (changes["full"], [one["md5"] for one in changes["add"]]) == (False, [md5])


def test_an_isolated_sensor_learns_what_its_group_may_still_reach(
    server: Server, analyst: httpx.Client
) -> None:
    group_id, _ = open_group(server, "islands")
    exclusions = [
        {"name": "dns", "ip_address": "10.9.8.7:53"},
        {"name": "off", "ip_address": "10.9.8.6", "enabled": False},
    ]
    analyst.put(f"/api/v3/group/{group_id}", json={"isolation_exclusions": exclusions})
    with server.client() as client:
        sensor = enrol(client, "island.corp.example", secret_of(server, group_id))
        assert sensor.check_in().json()["isolation_allow"] == []
        analyst.put(f"/api/v1/sensor/{sensor.id}", json={"network_isolation_enabled": True})
        assert sensor.check_in().json()["isolation_allow"] == ["10.9.8.7:53"]


def test_a_dry_run_shows_what_a_ban_would_hit_and_bans_nothing(
    analyst: httpx.Client, sent_story: Story
) -> None:
    rows = analyst.get(
        "/api/v1/process", params={"q": f"hostname:{sent_story.host.name}", "rows": 50}
    ).json()["results"]
    known = next(one["process_md5"] for one in rows if one["process_md5"])
    unknown = new_md5()
    answer = analyst.post(BASE, json={"md5hashes": [known.upper(), unknown], "dry_run": True})
    programs = {one["md5hash"]: one for one in answer.json()["programs"]}
    assert programs[known]["known"] is True
    assert programs[known]["hosts"] >= 1
    assert programs[unknown]["known"] is False
    assert programs[unknown]["running"] == []
    assert analyst.get(f"{BASE}/{unknown}").status_code == 404


def test_a_list_is_banned_program_by_program(analyst: httpx.Client) -> None:
    one, other = new_md5(), new_md5()
    ban(analyst, one)
    body = {"md5hashes": [one, other], "text": "a list"}
    results = analyst.post(BASE, json=body).json()["results"]
    assert [entry["result"] for entry in results] == ["refused", "banned"]
    assert "already" in results[0]["reason"]
    assert analyst.get(f"{BASE}/{other}").json()["text"] == "a list"
    too_many = {"md5hashes": [new_md5() for _ in range(201)]}
    assert analyst.post(BASE, json=too_many).status_code == 400


def test_a_ban_with_an_end_ends(analyst: httpx.Client) -> None:
    md5 = new_md5()
    end = datetime.now(UTC) + timedelta(seconds=2)
    body = {"md5hash": md5, "expires": end.isoformat()}
    assert analyst.post(BASE, json=body).json()["expires"]
    past = {"md5hash": new_md5(), "expires": "2020-01-01T00:00:00Z"}
    assert analyst.post(BASE, json=past).status_code == 400
    enabled = wait_for(lambda: analyst.get(f"{BASE}/{md5}").json()["enabled"], False, 60)
    assert enabled is False


def test_a_program_that_keeps_hosts_running_is_protected() -> None:
    assert protection_of(["c:\\Windows\\System32\\lsass.exe"])
    assert protection_of(["/usr/lib/systemd/systemd"])
    assert not protection_of(["c:\\users\\bob\\lsass.exe", "c:\\windows\\system32\\cmd.exe"])
