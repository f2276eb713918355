"""Forwarders over HTTP and by the command line: what is refused, shown, kept secret, audited, and
what arrives."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.cloud import ORG, client_of, make_app
from tests.support.commands import Ended, vedette
from tests.support.object_store import make_bucket, object_store
from tests.support.served import Server, start_server, wait_for
from tests.support.written_detections import write_detections
from vedette.model.findings.detection import Detection, Source

CONFIGS = f"/data_forwarder/v2/orgs/{ORG}/configs"
SECRET = "the-secret-of-a-bucket-0123456789"
ALERTS = 40


def detections() -> list[Detection]:
    return [
        Detection(
            source=Source("rule", f"rule-{number}"),
            source_name="Rule",
            alert_type="watchlist.hit.query.process",
            subject=f"subject {number}",
            time_us=1_700_000_000_000_000 + number,
            sensor_id=1,
            title="Rule",
            severity=90 if number % 2 else 10,
            seq=number + 1,
        )
        for number in range(ALERTS)
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("forwarding")
    flags = ("--set", "egress_allow=127.0.0.1")
    first = start_server(data, *flags)
    next(first)
    first.close()
    write_detections(data, detections())
    yield from start_server(data, *flags)


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    with object_store() as url:
        yield url


def to_directory(name: str, **members: Any) -> dict[str, Any]:
    usual = {
        "name": name,
        "types": ["alert"],
        "destination": {"kind": "directory", "path": name.replace(" ", "-")},
        "interval_s": 1,
    }
    return usual | members


def to_bucket(name: str, url: str, bucket: str, **members: Any) -> dict[str, Any]:
    destination = {
        "kind": "s3",
        "bucket": bucket,
        "endpoint": url,
        "access_key_id": "AKID",
        "secret_access_key": SECRET,
    }
    return to_directory(name, destination=destination | members)


def made(admin: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = admin.post(CONFIGS, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def stream(admin: httpx.Client, known: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = admin.get(f"{CONFIGS}/{known['id']}").json()["streams"][0]
    return found


def records_in(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in sorted(folder.rglob("*.jsonl.gz"))
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]


def test_alerts_arrive_in_a_directory_of_the_server(server: Server, admin: httpx.Client) -> None:
    known = made(admin, to_directory("all-of-them", since="1970-01-01T00:00:00Z"))
    assert wait_for(lambda: stream(admin, known)["records"], ALERTS, 60) == ALERTS
    records = records_in(server.data / "forwarded" / "all-of-them")
    assert len({one["id"] for one in records}) == len(records) == ALERTS
    shown = admin.post(
        f"/api/alerts/v7/orgs/{ORG}/alerts/_search",
        json={"rows": 1, "criteria": {"id": [records[0]["id"]]}},
    ).json()["results"]
    assert shown == [records[0]]
    state = stream(admin, known)
    assert state["state"] == "working"
    assert state["sent"]
    assert state["error"] == ""


def test_a_query_selects(server: Server, admin: httpx.Client) -> None:
    body = to_directory("worst", since="1970-01-01", query="alert_severity:[80 TO 100]")
    known = made(admin, body)
    assert wait_for(lambda: stream(admin, known)["records"], ALERTS // 2, 60) == ALERTS // 2
    records = records_in(server.data / "forwarded" / "worst")
    assert {one["severity"] for one in records} == {9}


def test_a_bucket_that_is_missing_shows_why_and_gets_all_when_it_is_there(
    admin: httpx.Client, s3_url: str
) -> None:
    known = made(admin, to_bucket("late", s3_url, "bucket-that-is-late") | {"since": "1970-01-01"})
    assert wait_for(lambda: stream(admin, known)["state"], "failing", 60) == "failing"
    failing = stream(admin, known)
    assert "404" in failing["error"]
    assert failing["failures"] >= 1
    assert failing["retry"] > failing["failed"]
    httpx.put(f"{s3_url}/bucket-that-is-late").raise_for_status()
    # A change is tried at once.
    admin.put(f"{CONFIGS}/{known['id']}", json={"enabled": True}).raise_for_status()
    assert wait_for(lambda: stream(admin, known)["records"], ALERTS, 60) == ALERTS
    assert stream(admin, known)["state"] == "working"


def test_secrets_are_not_shown_kept_readable_or_logged(
    server: Server, admin: httpx.Client, s3_url: str
) -> None:
    known = made(admin, to_bucket("secretive", s3_url, make_bucket(s3_url)))
    assert known["destination"]["access_key_id"] == "AKID"
    answers = [
        json.dumps(known),
        admin.get(CONFIGS).text,
        admin.get(f"{CONFIGS}/{known['id']}").text,
        admin.put(f"{CONFIGS}/{known['id']}", json={"name": "secretive"}).text,
        admin.post(f"{CONFIGS}/{known['id']}/healthcheck").text,
        admin.get("/api/v1/audit?rows=1000").text,
    ]
    assert all(SECRET not in text for text in answers)
    assert SECRET not in (server.data / "server.log").read_text()
    for name in ("state.db", "state.db-wal"):
        assert SECRET.encode() not in (server.data / name).read_bytes()


def test_secrets_go_to_no_other_place_than_they_were_given_for(
    admin: httpx.Client, s3_url: str
) -> None:
    bucket = make_bucket(s3_url)
    known = made(admin, to_bucket("moved", s3_url, bucket))
    path = f"{CONFIGS}/{known['id']}"
    kept = {"kind": "s3", "bucket": bucket, "endpoint": s3_url, "access_key_id": "OTHER"}
    assert admin.put(path, json={"destination": kept}).status_code == 200
    assert admin.post(f"{path}/healthcheck").json() == {"healthy": True, "error": ""}
    for change in ({"endpoint": "https://evil.example"}, {"bucket": "another"}, {"region": "x"}):
        answer = admin.put(path, json={"destination": kept | change})
        assert answer.status_code == 400, change
        assert "secret_access_key" in answer.json()["message"]


def test_addresses_that_nobody_may_reach_are_refused(admin: httpx.Client) -> None:
    # Loopback but for the address that the setting allows, and a metadata service.
    for endpoint in ("http://127.0.0.2:9000", "http://169.254.169.254", "http://[::1]:9000"):
        known = made(admin, to_bucket("inward", endpoint, "bucket"))
        health = admin.post(f"{CONFIGS}/{known['id']}/healthcheck").json()
        assert health["healthy"] is False
        assert "egress_allow" in health["error"]
        assert admin.delete(f"{CONFIGS}/{known['id']}").status_code == 200


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"types": []}, "types"),
        ({"types": ["alerts"]}, "types"),
        ({"types": "alert"}, "types"),
        ({"types": [1]}, "types"),
        ({"destination": None}, "destination"),
        ({"destination": "s3"}, "destination"),
        ({"destination": {}}, "destination.kind"),
        ({"destination": {"kind": ["s3"]}}, "destination.kind"),
        ({"destination": {"kind": "directory", "path": "../up"}}, "path"),
        ({"destination": {"kind": "directory", "path": "{org}"}}, "destination.path"),
        ({"destination": {"kind": "directory", "path": 1}}, "destination.path"),
        ({"destination": {"kind": "directory", "bucket": "b"}}, "destination"),
        ({"destination": {"kind": "s3"}}, "destination.bucket"),
        ({"destination": {"kind": "s3", "bucket": "../x", "access_key_id": "a"}}, "bucket"),
        ({"destination": {"kind": "s3", "bucket": "abc", "access_key_id": "a"}}, "secret_access"),
        ({"path": "../x"}, "path"),
        ({"interval_s": 0}, "interval_s"),
        ({"interval_s": "soon"}, "interval_s"),
        ({"since": "yesterday"}, "since"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "since"),
        ({"query": "no_such_field:1"}, ""),
        ({"query": "x" * 1_000_000}, "query"),
        ({"enabled": "yes"}, "enabled"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(
    admin: httpx.Client, change: dict[str, Any], place: str
) -> None:
    answer = admin.post(CONFIGS, json=to_directory("wrong") | change)
    assert answer.status_code == 400, answer.text
    assert place in answer.json()["message"]
    assert "wrong" not in [one["name"] for one in admin.get(CONFIGS).json()["results"]]


@pytest.mark.parametrize(
    "endpoint", ["ftp://x", "http://user:pw@x", "https://x/?q=1", "x", "http://"]
)
def test_endpoints_are_plain_urls(admin: httpx.Client, endpoint: str) -> None:
    answer = admin.post(CONFIGS, json=to_bucket("wrong", endpoint, "bucket"))
    assert answer.status_code == 400
    assert "destination.endpoint" in answer.json()["message"]


def test_names_are_taken_once_and_what_is_gone_is_not_found(admin: httpx.Client) -> None:
    known = made(admin, to_directory("mine"))
    assert admin.post(CONFIGS, json=to_directory("mine")).status_code == 409
    other = made(admin, to_directory("other"))
    renamed = admin.put(f"{CONFIGS}/{other['id']}", json={"name": "mine"})
    assert renamed.status_code == 409
    assert admin.put(f"{CONFIGS}/{known['id']}", json=known).status_code == 200
    assert admin.delete(f"{CONFIGS}/{known['id']}").status_code == 200
    for answer in (
        admin.get(f"{CONFIGS}/{known['id']}"),
        admin.put(f"{CONFIGS}/{known['id']}", json={}),
        admin.delete(f"{CONFIGS}/{known['id']}"),
        admin.post(f"{CONFIGS}/{known['id']}/healthcheck"),
    ):
        assert answer.status_code == 404


def test_every_change_is_audited(admin: httpx.Client) -> None:
    known = made(admin, to_directory("watched"))
    admin.put(f"{CONFIGS}/{known['id']}", json={"enabled": False}).raise_for_status()
    admin.delete(f"{CONFIGS}/{known['id']}").raise_for_status()
    entries = admin.get("/api/v1/audit?rows=1000").json()["results"]
    actions = [one["action"] for one in entries if one["target"] == "watched"]
    assert sorted(actions) == ["change", "create", "delete"]


def test_apps_need_the_permission_of_each_route(server: Server, admin: httpx.Client) -> None:
    known = made(admin, to_directory("of apps"))
    one = f"{CONFIGS}/{known['id']}"
    calls = {
        "read": [("GET", CONFIGS), ("GET", one)],
        "create": [("POST", CONFIGS), ("POST", f"{one}/healthcheck")],
        "update": [("PUT", one)],
        "delete": [("DELETE", one)],
    }
    for operation in calls:
        app = make_app(server, f"forwards {operation}", f"event-forwarder.settings:{operation}")
        with client_of(server, app) as client:
            for other, routes in calls.items():
                for method, path in routes:
                    if operation == other == "delete":
                        continue
                    status = client.request(method, path, json={}).status_code
                    assert (status == 403) == (operation != other), (operation, method, path)
    bound = make_app(server, "in one group", "event-forwarder.settings:read", groups=[1])
    with client_of(server, bound) as client:
        assert client.get(CONFIGS).status_code == 403


def command(server: Server, *words: str) -> Ended:
    return vedette("forwarder", *words, "--data", server.data)


def test_the_command_line_adds_tests_lists_stops_and_deletes(
    server: Server, admin: httpx.Client, s3_url: str, tmp_path: Path
) -> None:
    bucket = make_bucket(s3_url)
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")
    members = [f"bucket={bucket}", f"endpoint={s3_url}", "access_key_id=AKID"]
    words = [word for one in members for word in ("--with", one)]
    words += ["--secret", f"secret_access_key={secret}", "--since", "1970-01-01"]
    added = command(server, "add", "typed", "--to", "s3", "--interval", "1", *words)
    assert added.returncode == 0, added.stderr
    tested = command(server, "test", "typed")
    assert tested.returncode == 0, tested.stderr
    known = next(one for one in admin.get(CONFIGS).json()["results"] if one["name"] == "typed")
    assert wait_for(lambda: stream(admin, known)["records"], ALERTS, 60) == ALERTS
    listed = command(server, "list")
    assert "typed" in listed.stdout
    assert SECRET not in listed.stdout
    assert json.loads(command(server, "list", "--json").stdout)
    assert command(server, "disable", "typed").returncode == 0
    assert admin.get(f"{CONFIGS}/{known['id']}").json()["enabled"] is False
    assert command(server, "enable", "typed").returncode == 0
    assert command(server, "delete", "typed").returncode == 0
    gone = command(server, "test", "typed")
    assert gone.returncode == 2
    assert "typed" in gone.stderr


def test_a_file_adds_and_changes_forwarders(
    server: Server, admin: httpx.Client, tmp_path: Path
) -> None:
    file = tmp_path / "forwarders.toml"
    text = """
[[forwarder]]
name = "from a file"
types = ["alert"]
since = 2026-01-01T00:00:00Z
destination = { kind = "directory", path = "filed" }
"""
    file.write_text(text)
    assert "added" in command(server, "apply", str(file)).stdout
    file.write_text(text + "query = 'alert_severity:90'\n")
    assert "changed" in command(server, "apply", str(file)).stdout
    found = [one for one in admin.get(CONFIGS).json()["results"] if one["name"] == "from a file"]
    assert [one["query"] for one in found] == ["alert_severity:90"]
    for wrong in ("[[forwarder]]\n", "forwarder = 1\n", "not toml", "[[forwarder]]\nname = 1\n"):
        file.write_text(wrong)
        assert command(server, "apply", str(file)).returncode == 2, wrong


def test_a_test_that_fails_says_why(server: Server, admin: httpx.Client) -> None:
    made(admin, to_bucket("unreachable", "http://127.0.0.1:1", "bucket"))
    tested = command(server, "test", "unreachable")
    assert tested.returncode == 2
    assert "127.0.0.1:1" in tested.stderr
