"""Recognition of pasted values, completions, stored user data and the pulse, over HTTPS."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire, open_group
from tests.support.sysmon import Story
from vedette.model.principal import Role


@pytest.fixture(scope="module")
def stranger(server: Server) -> Iterator[httpx.Client]:
    """An analyst of a group without hosts."""
    group_id, _ = open_group(server, "empty for lookups")
    token = hire(server, "lou", {group_id: Role.ANALYST})
    with server.client(**{"X-Auth-Token": token}) as client:
        yield client


def looked_up(client: httpx.Client, value: str) -> dict[str, Any]:
    answer = client.get("/api/v1/lookup", params={"value": value})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(
    ("value", "kind", "meant"),
    [
        ("AB" * 16, "md5", "ab" * 16),
        (" " + "cd" * 32 + " ", "sha256", "cd" * 32),
        ("10.1.2.3", "ip", "10.1.2.3"),
        ("10[.]1[.]2[.]3", "ip", "10.1.2.3"),
        ("2001:DB8::1", "ip", "2001:db8::1"),
        ("10.0.0.0/8", "network", "10.0.0.0/8"),
        ("Evil.Example", "domain", "evil.example"),
        ("hxxp://evil[.]example/a?b=c", "domain", "evil.example"),
        ("C:\\Windows\\cmd.exe", "path", "C:\\Windows\\cmd.exe"),
        ("/usr/bin/ssh", "path", "/usr/bin/ssh"),
        ("cmd.exe", "name", "cmd.exe"),
        ("00000001-0000-1234-01db-000000000000", "process", "00000001-0000-1234-01db-000000000000"),
        ('"><img src=x onerror=alert(1)>', "name", "><img src=x onerror=alert(1)>"),
        ("field:(", "name", "field:("),
        ("\u202egpj.exe", "name", "\u202egpj.exe"),
    ],
)
def test_a_value_is_recognised(analyst: httpx.Client, value: str, kind: str, meant: str) -> None:
    found = looked_up(analyst, value)
    assert (found["kind"], found["value"]) == (kind, meant)


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("j.ostrow", ["domain", "host", "user"]),
        ("dora", ["name", "host", "user"]),
        ("setup.zip", ["name", "domain", "user"]),
        ("ACME\\j.ostrow", ["path", "user"]),
        ("C:\\Windows\\cmd.exe", ["path"]),
        ("dora@acme.example", ["name", "host", "user"]),
        ("10.1.2.3", ["ip", "host"]),
        ("10.0.0.0/8", ["network"]),
        ("ab" * 16, ["md5", "ja3", "ja3s"]),
        ("field:(", ["name"]),
    ],
)
def test_every_type_that_fits_is_looked_up(
    analyst: httpx.Client, value: str, kinds: list[str]
) -> None:
    assert [one["kind"] for one in looked_up(analyst, value)["meanings"]] == kinds


def test_a_user_name_with_a_dot_is_found_and_each_count_is_that_of_its_search(
    analyst: httpx.Client, server: Server
) -> None:
    _, secret = open_group(server, "dotted users")
    host, name = "dot-1.example", "j.ostrow"
    start = {
        "UtcTime": "2021-03-04 05:06:07.000",
        "ProcessGuid": "{6f1c2a3b-8498-695b-0100-0000000d0700}",
        "ProcessId": "4242",
        "Image": "C:\\Windows\\System32\\whoami.exe",
        "CommandLine": "whoami",
        "User": f"ACME\\{name}",
    }
    record = {
        "winlog": {
            "channel": "Microsoft-Windows-Sysmon/Operational",
            "provider_name": "Microsoft-Windows-Sysmon",
            "event_id": "1",
            "record_id": 1,
            "computer_name": host,
            "event_data": start,
        },
        "@timestamp": "2021-03-04T05:06:07.000Z",
    }
    with server.client(Authorization=f"Bearer {secret}") as sender:
        sender.post("/api/v1/ingest", json=record).raise_for_status()

    found = looked_up(analyst, name)

    assert found["kind"] == "user"
    assert found["first_seen"].startswith("2021-03-04")
    counts = {one["query"]: one["processes"] for one in found["meanings"]}
    for query, processes in {**counts, found["query"]: found["processes"]}.items():
        params = {"q": query, "svc.group": "id", "rows": 0, "cb.group": "id"}
        assert analyst.get("/api/v1/process", params=params).json()["total_results"] == processes
    assert counts[f'username:"{name}"'] == 1


def test_a_program_is_counted_for_those_who_see_its_host(
    analyst: httpx.Client, stranger: httpx.Client, sent_story: Story
) -> None:
    query = {"q": f"hostname:{sent_story.host.name}", "rows": 50}
    rows = analyst.get("/api/v1/process", params=query).json()["results"]
    row = next(one for one in rows if one["process_md5"])
    found = looked_up(analyst, row["process_md5"])
    assert found["processes"] >= 1
    assert found["host_count"] >= 1
    assert found["first_seen"] <= found["last_seen"]
    assert found["newest"] is not None
    hidden = looked_up(stranger, row["process_md5"])
    assert (hidden["processes"], hidden["hosts"], hidden["newest"]) == (0, [], None)
    host = looked_up(analyst, sent_story.host.name)
    assert sent_story.host.name in [one["name"] for one in host["targets"]]
    assert looked_up(stranger, sent_story.host.name)["targets"] == []
    one = looked_up(analyst, row["id"])
    assert (one["kind"], one["processes"] >= 1) == ("process", True)


def test_a_banned_hash_says_so(analyst: httpx.Client) -> None:
    md5 = "0b" * 16
    analyst.post("/api/v1/banning/bannedlist", json={"md5hash": md5, "text": "a test"})
    found = looked_up(analyst, md5)
    assert (found["banned"], found["ban_text"]) == (True, "a test")


@pytest.mark.parametrize("value", ["", "   ", "x" * 1_025])
def test_a_value_of_no_length_or_too_much_is_refused(analyst: httpx.Client, value: str) -> None:
    assert analyst.get("/api/v1/lookup", params={"value": value}).status_code == 400


def suggested(client: httpx.Client, **params: Any) -> list[str]:
    answer = client.get("/api/v1/query/suggest", params=params)
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()]


def test_fields_and_values_complete_a_query(
    analyst: httpx.Client, stranger: httpx.Client, sent_story: Story
) -> None:
    assert "hostname:" in suggested(analyst, q="-hostn")
    assert "status:" in suggested(analyst, index="alert", q="stat")
    assert suggested(analyst, q="process_name:cmd.exe hostn", at=3)[0].startswith("pro")
    begun = f"hostname:{sent_story.host.name[:4]}"
    assert any(sent_story.host.name in text for text in suggested(analyst, q=begun))
    assert suggested(stranger, q=begun) == []
    assert suggested(analyst, q='hostname:"a*') == []
    assert analyst.get("/api/v1/query/suggest", params={"index": "x"}).status_code == 400
    names = {one["name"]: one for one in analyst.get("/api/v1/fields").json()}
    assert names["cmdline"]["meaning"]


def test_preferences_are_the_users_own(analyst: httpx.Client, stranger: httpx.Client) -> None:
    wanted = {"theme": "dark", "columns": {"process": ["start", "hostname"]}, "keys": False}
    assert stranger.put("/api/v1/me/preferences", json=wanted).json() == wanted
    assert stranger.get("/api/v1/me/preferences").json() == wanted
    assert analyst.get("/api/v1/me/preferences").json() != wanted
    assert stranger.put("/api/v1/me/preferences", json={"a": "x" * 20_000}).status_code == 400
    assert stranger.put("/api/v1/me/preferences", json=[1]).status_code == 400


def test_searches_are_shared_only_when_their_author_says_so(
    analyst: httpx.Client, stranger: httpx.Client
) -> None:
    def names(client: httpx.Client) -> set[str]:
        return {one["name"] for one in client.get("/api/v1/saved_search").json()}

    base = {"view": "process", "params": "q=cmd.exe&t=-24h"}
    mine = stranger.post("/api/v1/saved_search", json=base | {"name": "<b>mine"}).json()
    stranger.post("/api/v1/saved_search", json=base | {"name": "ours", "shared": True})
    assert {"<b>mine", "ours"} <= names(stranger)
    assert "ours" in names(analyst)
    assert "<b>mine" not in names(analyst)
    assert analyst.delete(f"/api/v1/saved_search/{mine['id']}").status_code == 404
    assert stranger.delete(f"/api/v1/saved_search/{mine['id']}").is_success
    assert "<b>mine" not in names(stranger)
    for bad in ({"name": ""}, {"view": "../x"}, {"params": "x" * 70_000}, {"other": 1}):
        body = base | {"name": "x"} | bad
        assert stranger.post("/api/v1/saved_search", json=body).status_code == 400, bad


def test_a_link_keeps_a_view_of_any_length(analyst: httpx.Client, stranger: httpx.Client) -> None:
    params = "q=" + "x" * 45_000
    made = analyst.post("/api/v1/permalink", json={"view": "process", "params": params}).json()
    assert stranger.get(f"/api/v1/permalink/{made['id']}").json()["params"] == params
    assert stranger.get("/api/v1/permalink/nothing").status_code == 404


def test_who_exports_what_is_in_the_audit_log(
    analyst: httpx.Client, stranger: httpx.Client
) -> None:
    body = {"view": "process", "params": "q=exported", "format": "csv", "rows": 7}
    assert stranger.post("/api/v1/export", json=body).json() == {"result": "success"}
    for bad in ({"format": "xml"}, {"rows": "x"}, {"rows": -1}, {"view": "../x"}, {"rwos": 1}):
        assert stranger.post("/api/v1/export", json=body | bad).status_code == 400, bad
    me = stranger.get("/api/v1/session").json()["username"]
    asked = {"author": me, "kind": "export"}
    (noted,) = analyst.get("/api/v1/audit", params=asked).json()["results"]
    assert (noted["action"], noted["target"]) == ("read", "process")
    assert noted["after"] == {"params": "q=exported", "format": "csv", "rows": 7}


def test_the_pulse_is_304_while_nothing_changed(stranger: httpx.Client) -> None:
    first = stranger.get("/api/v1/pulse")
    assert first.json()["open_alerts"] == 0
    assert first.json()["store_accepts"] is True
    again = stranger.get("/api/v1/pulse", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
