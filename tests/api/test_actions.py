"""Actions of sources over HTTP: whose they are, what is shown, what old clients send."""

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role

HOOK = "https://hooks.example/services/T0/secret-path"


@pytest.fixture(scope="module")
def base(analyst: httpx.Client) -> str:
    body = {"name": "of actions", "search_query": "q=process_name:x.exe", "index_type": "events"}
    made = analyst.post("/api/v1/watchlist", json=body)
    assert made.status_code == 200, made.text
    return f"/api/v1/watchlist/{made.json()['id']}"


@pytest.fixture(scope="module")
def other(server: Server) -> Iterator[httpx.Client]:
    """An analyst of one group."""
    group, _ = open_group(server, "of an analyst of actions")
    token = hire(server, "action-analyst", {group: Role.ANALYST})
    with server.client(**{"X-Auth-Token": token}) as client:
        yield client


@pytest.fixture(scope="module")
def viewer(server: Server) -> Iterator[httpx.Client]:
    group, _ = open_group(server, "of a viewer of actions")
    token = hire(server, "action-viewer", {group: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        yield client


def states(client: httpx.Client, base: str) -> dict[str, bool]:
    found = client.get(f"{base}/action_type").json()
    return {one["action_type"]: one["enabled"] for one in found}


def put(client: httpx.Client, base: str, action: str, **body: object) -> httpx.Response:
    return client.put(f"{base}/action_type/{action}", json=body)


def stored(client: httpx.Client, base: str) -> list[dict[str, object]]:
    found = client.get(f"{base}/action").json()
    assert isinstance(found, list)
    return found


def test_all_actions_are_listed_and_off(analyst: httpx.Client, base: str) -> None:
    assert states(analyst, base) == dict.fromkeys(("email", "syslog", "http", "alert"), False)


def test_an_action_is_switched_and_read(analyst: httpx.Client, base: str) -> None:
    for action in ("syslog", "alert"):
        assert put(analyst, base, action, enabled=True).json() == {"result": "success"}
        assert analyst.get(f"{base}/action_type/{action}").json() == {"enabled": True}
        assert put(analyst, base, action, enabled=False).status_code == 200
        assert analyst.get(f"{base}/action_type/{action}").json() == {"enabled": False}


def test_mail_is_of_the_user_who_switches_it(
    analyst: httpx.Client, other: httpx.Client, base: str
) -> None:
    assert put(other, base, "email", enabled=True).status_code == 200
    assert states(other, base)["email"] is True
    assert states(analyst, base)["email"] is False
    put(other, base, "email", enabled=False)
    assert states(other, base)["email"] is False


def test_a_viewer_reads_the_list_and_nothing_else(viewer: httpx.Client, base: str) -> None:
    assert len(states(viewer, base)) == 4
    assert viewer.get(f"{base}/action_type/alert").status_code == 403
    assert put(viewer, base, "alert", enabled=True).status_code == 403
    assert viewer.post(f"{base}/action", json={"action_type": 3}).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("action_type/alert", {"enabled": True, "url": HOOK}, 400),
        ("action_type/pager", {"enabled": True}, 404),
        ("action_type/http", {"enabled": True}, 400),
        ("action_type/http", {"enabled": True, "url": "file:///etc/passwd"}, 400),
        ("action_type/http", {"enabled": True, "url": HOOK, "template": "../x"}, 400),
        ("action_type/http", {"enabled": True, "url": HOOK, "params": {"a": 1}}, 400),
        ("action_type/http", {"enabled": True, "url": HOOK, "authorization": "a\r\nb: c"}, 400),
    ],
)
def test_a_bad_switch_is_refused(
    analyst: httpx.Client, base: str, path: str, body: object, status: int
) -> None:
    assert analyst.put(f"{base}/{path}", json=body).status_code == status


@pytest.mark.parametrize("kind", ["watchlist", "feed", "sigma"])
@pytest.mark.parametrize("source_id", ["999999999", "x", "-1", "9" * 40])
def test_what_does_not_exist_has_no_actions(
    analyst: httpx.Client, kind: str, source_id: str
) -> None:
    path = f"/api/v1/{kind}/{source_id}"
    assert analyst.get(f"{path}/action_type").status_code == 404
    assert put(analyst, path, "alert", enabled=True).status_code == 404
    assert analyst.get(f"{path}/action").status_code == 404


def test_what_a_webhook_leads_to_is_never_shown(analyst: httpx.Client, base: str) -> None:
    hook = {"url": HOOK, "secret": "whsec", "authorization": "Bearer t", "template": "slack"}
    assert put(analyst, base, "http", enabled=True, **hook).status_code == 200
    (action,) = [one for one in stored(analyst, base) if one["action_type"] == 2]
    text = json.dumps(action)
    assert not any(secret in text for secret in ("secret-path", "whsec", "Bearer"))
    data = json.loads(str(action["action_data"]))
    assert data["url"] == "https://hooks.example/***"
    assert (data["secret_set"], data["authorization_set"]) == (True, True)
    # A record that comes back as it was shown changes nothing.
    path = f"{base}/action/{action['id']}"
    assert analyst.put(path, json=action).json() == {"result": "success"}
    assert stored(analyst, base) == [action]
    # Another host gets no keys of this one.
    moved = json.dumps({"url": "https://elsewhere.example/x"})
    assert analyst.put(path, json={"action_data": moved}).status_code == 200
    data = json.loads(analyst.get(path).json()["action_data"])
    assert (data["url"], data["secret_set"], data["authorization_set"]) == (
        "https://elsewhere.example/***",
        False,
        False,
    )
    assert analyst.delete(path).json() == {"result": "success"}
    assert analyst.get(path).status_code == 404


def test_a_webhook_of_the_administrator_is_not_led_elsewhere(
    analyst: httpx.Client, other: httpx.Client, base: str
) -> None:
    put(analyst, base, "http", enabled=True, url=HOOK)
    (mine,) = stored(other, base)
    moved = {"action_data": json.dumps({"url": "https://evil.example/"})}
    assert other.put(f"{base}/action/{mine['id']}", json=moved).status_code == 403
    # Their own is one more, which nobody but them and administrators sees.
    assert put(other, base, "http", enabled=True, url="https://own.example/").status_code == 200
    assert next(one["id"] for one in stored(analyst, base)) == mine["id"]
    assert len(stored(analyst, base)) == 2
    for one in stored(analyst, base):
        assert analyst.delete(f"{base}/action/{one['id']}").status_code == 200


def test_old_clients_add_change_and_delete_actions_by_number(
    analyst: httpx.Client, base: str
) -> None:
    new = {"action_type": 3, "action_data": "", "watchlist_id": 1, "group_id": 1}
    made = analyst.post(f"{base}/action", json=new).json()
    assert list(made) == ["action_id"]
    assert analyst.post(f"{base}/action", json=new).json() == made
    (action,) = stored(analyst, base)
    source_id = int(base.rsplit("/", 1)[1])
    assert (action["id"], action["action_type"]) == (made["action_id"], 3)
    assert (action["watchlist_id"], action["group_id"]) == (source_id, source_id)
    assert states(analyst, base)["alert"] is True
    path = f"{base}/action/{made['action_id']}"
    assert analyst.put(path, json={"enabled": False}).json() == {"result": "success"}
    assert states(analyst, base)["alert"] is False
    assert analyst.delete(path).json() == {"result": "success"}
    assert analyst.delete(path).status_code == 404


def test_only_administrators_send_mail_to_others(
    analyst: httpx.Client, other: httpx.Client, base: str
) -> None:
    theirs = analyst.get("/api/user/action-analyst").json()["id"]
    for_all = {"action_type": 0, "action_data": json.dumps({"email_recipients": [1, theirs]})}
    assert other.post(f"{base}/action", json=for_all).status_code == 403
    made = analyst.post(f"{base}/action", json=for_all).json()["action_id"]
    assert states(analyst, base)["email"] is True
    # One who wants none any more takes themselves off, the others stay.
    put(analyst, base, "email", enabled=False)
    assert states(analyst, base)["email"] is False
    data = json.loads(analyst.get(f"{base}/action/{made}").json()["action_data"])
    assert data == {"email_recipients": [theirs]}
    # Its readers see it; whom else it goes to is not theirs to say.
    path = f"{base}/action/{made}"
    assert other.get(path).status_code == 200
    for call in (other.delete(path), other.put(path, json={"enabled": False})):
        assert call.status_code == 403
    assert analyst.delete(f"{base}/action/{made}").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"action_type": 4},
        {"action_type": True},
        {"action_type": "3"},
        {"action_type": 0, "action_data": "{"},
        {"action_type": 0, "action_data": "[]"},
        {"action_type": 0, "action_data": {"email_recipients": "all"}},
        {"action_type": 0, "action_data": {"email_recipients": [1 << 40]}},
        {"action_type": 2, "action_data": "x" * 30_000},
    ],
)
def test_a_bad_old_action_is_refused(analyst: httpx.Client, base: str, body: object) -> None:
    assert analyst.post(f"{base}/action", json=body).status_code == 400


def test_what_holds_for_all_sources_is_the_administrators(
    analyst: httpx.Client, other: httpx.Client
) -> None:
    every = "/api/v1/sigma/*"
    assert put(other, every, "syslog", enabled=True).status_code == 403
    assert put(other, every, "email", enabled=True).status_code == 200
    assert put(analyst, every, "syslog", enabled=True).status_code == 200
    assert states(analyst, every) == {
        "email": False,
        "syslog": True,
        "http": False,
        "alert": True,
    }
    put(analyst, every, "syslog", enabled=False)
    put(other, every, "email", enabled=False)


def test_actions_move_with_the_query_of_a_watchlist(analyst: httpx.Client) -> None:
    body = {"name": "moving", "search_query": "q=process_name:a.exe", "index_type": "events"}
    old = analyst.post("/api/v1/watchlist", json=body).json()["id"]
    put(analyst, f"/api/v1/watchlist/{old}", "alert", enabled=True)
    changed = {**body, "search_query": "q=process_name:b.exe"}
    new = analyst.put(f"/api/v1/watchlist/{old}", json=changed).json()["id"]
    assert new != old
    assert states(analyst, f"/api/v1/watchlist/{new}")["alert"] is True
    assert states(analyst, f"/api/v1/watchlist/{old}")["alert"] is True
