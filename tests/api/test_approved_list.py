"""The approved list: only approved addresses may call, while that is switched on."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.support.served import Server, hire, start_server, state_of, wait_for
from vedette.cli.main import app
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import tokens, users
from vedette.state.policy import approved_addresses

LIST = "/api/v1/approvedlist"


def wait_until_let_in(client: httpx.Client) -> None:
    """A change by a command is in force within seconds."""
    until_s = time.monotonic() + 30
    while client.get("/api/info").status_code != 200:
        assert time.monotonic() < until_s, "still locked out"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data: Path = tmp_path_factory.mktemp("approved")
    yield from start_server(data, "--set", "trusted_proxies=127.0.0.0/8")


@pytest.fixture
def admin(own_server: Server) -> Iterator[httpx.Client]:
    with state_of(own_server) as database:
        new = tokens.NewToken("api", "own", user_id=users.id_of(database, "admin"))
        secret = tokens.issue(database, new, SystemClock().now_us()).secret
    with own_server.client(**{"X-Auth-Token": secret}) as client:
        yield client
        with state_of(own_server) as database:
            approved_addresses.enable(database, False)
            for entry in approved_addresses.entries(database):
                approved_addresses.remove(database, entry.id)
        wait_until_let_in(client)


@pytest.mark.parametrize("base", [LIST, "/approvedlist", "/api/v1/whitelist"])
def test_entries_are_added_one_or_many_and_removed(admin: httpx.Client, base: str) -> None:
    assert admin.get(f"{base}/entries").json() == []
    one = admin.post(f"{base}/entries", json={"ipaddr": "192.0.2.1"}).json()["id"]
    many = admin.post(
        f"{base}/entries", json={"ipaddr": ["198.51.100.0/24", "2001:db8::/32", "::ffff:192.0.2.9"]}
    ).json()["id"]
    listed = {entry["id"]: entry["ipaddr"] for entry in admin.get(f"{base}/entries").json()}
    assert listed == {
        one: "192.0.2.1",
        many[0]: "198.51.100.0/24",
        many[1]: "2001:db8::/32",
        many[2]: "192.0.2.9",
    }
    for number in listed:
        assert admin.delete(f"{base}/entries/{number}").status_code == 204
    assert admin.delete(f"{base}/entries/{one}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ipaddr": []},
        {"ipaddr": "x"},
        {"ipaddr": ["192.0.2.1", "300.1.1.1"]},
        {"ipaddr": 7},
        {"ipaddr": "fe80::1%eth0"},
        # More than the addresses of IPv4, and not the block that whoever wrote it meant.
        {"ipaddr": "::ffff:192.0.2.0/24"},
        {"ipaddr": "::ffff:0:0/95"},
    ],
)
def test_what_is_no_address_is_refused_whole(admin: httpx.Client, body: dict[str, object]) -> None:
    assert admin.post(f"{LIST}/entries", json=body).status_code == 400
    assert admin.get(f"{LIST}/entries").json() == []


def test_others_are_refused_while_it_is_on(own_server: Server, admin: httpx.Client) -> None:
    assert admin.get(f"{LIST}/enabled").json() == {"state": False}
    admin.post(f"{LIST}/entries", json={"ipaddr": ["127.0.0.1", "203.0.113.0/24"]})
    answer = admin.patch(f"{LIST}/enabled", json={"state": True})
    assert (answer.status_code, answer.content) == (204, b"")
    assert "x-vedette-warning" not in answer.headers
    inside = {"X-Forwarded-For": "8.8.8.8, 203.0.113.9"}
    outside = {"X-Forwarded-For": "203.0.113.9, 8.8.8.8"}
    assert admin.get("/api/info").status_code == 200
    assert admin.get("/api/info", headers=inside).status_code == 200
    refused = admin.get("/api/info", headers=outside)
    assert (refused.status_code, refused.json()["reason"]) == (403, "address_not_approved")
    with own_server.sender() as sender:
        assert sender.get("/", headers=outside).status_code == 200
    with own_server.client() as anybody:
        assert anybody.get("/healthz", headers=outside).status_code == 200


def test_the_token_of_a_person_sends_no_telemetry_from_elsewhere(
    own_server: Server, admin: httpx.Client
) -> None:
    """Nor does it learn what else there is: whatever it asks, the address comes first."""
    token = hire(own_server, "roleless", {})
    admin.post(f"{LIST}/entries", json={"ipaddr": "127.0.0.1"})
    admin.patch(f"{LIST}/enabled", json={"state": True})
    outside = {"X-Forwarded-For": "203.0.113.9"}
    calls = [
        ("POST", "/api/v1/ingest"),
        ("POST", "/_bulk"),
        ("PUT", "/_ilm/policy/x"),
        ("GET", "/"),
        ("POST", "/sensor/v1/checkin"),
        ("GET", "/jobs/v1/orgs/OTHER/jobs"),
        ("GET", "/api/users"),
    ]
    with own_server.client(**{"X-Auth-Token": token}) as roleless:
        refused = {
            (method, path, client.request(method, path, json={}, headers=outside).json()["reason"])
            for client in (admin, roleless)
            for method, path in calls
        }
    assert refused == {(method, path, "address_not_approved") for method, path in calls}
    assert admin.get("/").status_code == 200


def test_locking_oneself_out_warns_and_the_command_line_lets_in_again(
    own_server: Server, admin: httpx.Client
) -> None:
    answer = admin.patch(f"{LIST}/enabled", json={"state": True})
    assert answer.status_code == 204
    assert "127.0.0.1 is not approved" in answer.headers["x-vedette-warning"]
    assert admin.get("/api/info").status_code == 403
    with state_of(own_server) as database:
        approved_addresses.enable(database, False)
    wait_until_let_in(admin)


def test_commands_on_the_machine_call_whatever_the_list_holds(
    own_server: Server, admin: httpx.Client
) -> None:
    outside = {"X-Forwarded-For": "203.0.113.9"}
    with own_server.analyst() as command:  # its token is that of `server.json`
        assert command.get("/api/info", headers=outside).status_code == 200
        assert admin.patch(f"{LIST}/enabled", json={"state": True}).status_code == 204
        assert admin.get("/api/info").status_code == 403
        assert command.get("/api/info").status_code == 200
        assert command.get("/api/info", headers=outside).status_code == 403
        found = command.get(f"{LIST}/locked_out").json()["locked_out"]
    assert "programs on this machine" not in {one["name"] for one in found}


def test_doctor_does_not_take_a_refusal_for_silence(own_server: Server) -> None:
    path = own_server.data / "server.json"
    kept = path.read_text()
    path.write_text(kept.replace(own_server.token, "0" * 40))
    try:
        words = ["doctor", "--data", str(own_server.data), "--json"]
        found = CliRunner().invoke(app, words)
    finally:
        path.write_text(kept)
    (said,) = [one for one in json.loads(found.stdout)["findings"] if one["check"] == "server"]
    assert "the server returned 401" in said["text"]
    assert "SIGKILL" not in said["remedy"]


def test_a_header_alone_is_not_believed(server: Server, analyst: httpx.Client) -> None:
    analyst.get("/api/info", headers={"X-Forwarded-For": "203.0.113.77"})
    name = "forwarded-" + server.token[:6]
    analyst.post("/api/user", json={"username": name}, headers={"X-Forwarded-For": "203.0.113.77"})
    found = analyst.get("/api/v1/audit", params={"kind": "user", "target": name}).json()
    assert [entry["address"] for entry in found["results"]] == ["127.0.0.1"]


def test_who_would_be_locked_out_is_asked_before(own_server: Server, admin: httpx.Client) -> None:
    ask = f"{LIST}/locked_out"
    assert admin.get(ask).json()["caller"] == {"address": "127.0.0.1", "approved": False}
    token = hire(own_server, "elsewhere", {1: Role.VIEWER})
    headers = {"X-Auth-Token": token, "X-Forwarded-For": "203.0.113.9"}
    with own_server.client(**headers) as other:
        assert other.get("/api/info").is_success
        assert other.get(ask).status_code == 403

    def reported(**query: object) -> set[tuple[str, str]]:
        found = admin.get(ask, params=query).json()
        return {(one["holder"], one["last_address"]) for one in found["locked_out"]}

    someone = ("elsewhere", "203.0.113.9")
    assert wait_for(lambda: someone in reported(), True)
    one, other_id = admin.post(
        f"{LIST}/entries", json={"ipaddr": ["127.0.0.0/8", "203.0.113.0/24"]}
    ).json()["id"]
    assert someone not in reported()
    assert someone in reported(without=other_id)
    assert not admin.get(ask, params={"without": one}).json()["caller"]["approved"]
    for wrong in ("x", "0", "999999"):
        assert admin.get(ask, params={"without": wrong}).status_code == 400
