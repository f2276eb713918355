"""The audit log has each change of detection policy over HTTP once, with its author."""

import secrets
import uuid
from typing import Any

import httpx
import pytest

from vedette import limits
from vedette.record.objects.ingress_filter import INGRESS_IDS_MAX

RULE = """
title: audited
id: {id}
status: test
level: high
logsource: {{category: process_creation, product: windows}}
detection:
  selection: {{Image|endswith: '\\{named}.exe'}}
  condition: selection
"""


@pytest.fixture
def named() -> str:
    """A name that no other test uses."""
    return "audited" + secrets.token_hex(6)


def entries(analyst: httpx.Client, kind: str, target: str) -> list[dict[str, Any]]:
    """The entries of an object, the oldest first."""
    asked = {"kind": kind, "target": target, "rows": 1_000}
    found: list[dict[str, Any]] = analyst.get("/api/v1/audit", params=asked).json()["results"]
    return found[::-1]


def done(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def lives(analyst: httpx.Client, path: str, made: dict[str, Any], changed: dict[str, Any]) -> int:
    """Adds an object, changes it and deletes it; its id."""
    number: int = done(analyst.post(path, json=made))["id"]
    done(analyst.put(f"{path}/{number}", json=changed))
    done(analyst.delete(f"{path}/{number}"))
    return number


def actions_of(found: list[dict[str, Any]]) -> list[str]:
    return [one["action"] for one in found]


def test_a_watchlist_and_its_action(analyst: httpx.Client, named: str) -> None:
    body = {"name": named, "search_query": "q=process_name:x.exe", "index_type": "events"}
    number = done(analyst.post("/api/v1/watchlist", json=body))["id"]
    path = f"/api/v1/watchlist/{number}"
    done(analyst.put(f"{path}/action_type/alert", json={"enabled": True}))
    done(analyst.put(path, json=body | {"description": "why"}))
    done(analyst.delete(path))
    mine = [
        one for one in entries(analyst, "watchlist", str(number)) if one["target"] == str(number)
    ]
    assert actions_of(mine)[-3:] == ["create", "change", "delete"]
    assert mine[-1]["before"]["name"] == named
    switched = entries(analyst, "action", f"watchlist/{number}/")
    assert actions_of(switched) == ["create", "delete"]
    assert {one["author_kind"] for one in (*mine[-3:], *switched)} == {"user"}
    assert all(one["author"] and one["address"] and one["request_id"] for one in mine[-3:])


def test_a_feed(analyst: httpx.Client, named: str) -> None:
    url = "https://feed.example/feed.json"
    made = {"name": named, "feed_url": url, "password": "marked-secret", "enabled": False}
    lives(analyst, "/api/v1/feed", made, {"display_name": "other"})
    found = entries(analyst, "feed", named)
    assert actions_of(found) == ["create", "change", "delete"]
    assert "marked-secret" not in str(found)


def test_a_sigma_rule(analyst: httpx.Client, named: str) -> None:
    rule_id = str(uuid.uuid4())
    text = RULE.format(id=rule_id, named=named)
    done(analyst.post("/api/v1/sigma", json={"text": text}))
    done(analyst.put(f"/api/v1/sigma/{rule_id}", json={"enabled": False}))
    done(analyst.delete(f"/api/v1/sigma/{rule_id}"))
    found = entries(analyst, "sigma rule", rule_id)
    assert actions_of(found) == ["create", "change", "delete"]


def test_a_suppression(analyst: httpx.Client, named: str) -> None:
    made = {"name": named, "query": "process_name:never-seen.exe"}
    lives(analyst, "/api/v1/alert/suppression", made, {"enabled": False})
    assert actions_of(entries(analyst, "suppression", named)) == ["create", "change", "delete"]


def test_a_response_policy(analyst: httpx.Client, named: str) -> None:
    made = {"name": named, "action": "isolate"}
    lives(analyst, "/api/v1/response_policy", made, {"hour_max": 2})
    assert actions_of(entries(analyst, "response policy", named)) == ["create", "change", "delete"]


def test_a_refused_change_is_not_in_it(analyst: httpx.Client, named: str) -> None:
    body = {"name": named, "search_query": "q=process_name:(", "index_type": "events"}
    assert analyst.post("/api/v1/watchlist", json=body).status_code == 400
    twice = {"name": named, "action": "isolate"}
    number = done(analyst.post("/api/v1/response_policy", json=twice))["id"]
    assert analyst.post("/api/v1/response_policy", json=twice).status_code == 409
    done(analyst.delete(f"/api/v1/response_policy/{number}"))
    assert actions_of(entries(analyst, "response policy", named)) == ["create", "delete"]


BLIND = [{"kind": "rule", "id": "r-1", "name": "Shells"}, {"kind": "watchlist", "id": "7"}]


def test_what_goes_blind_with_a_filter_and_was_accepted(analyst: httpx.Client, named: str) -> None:
    base = "/api/v1/ingress_approvedlist"
    made = {"id": named, "path_filters": ["/opt/x"], "accepted_blind": BLIND}
    done(analyst.post(base, params={"dry_run": "true"}, json=made))
    done(analyst.post(base, json=[made, {"id": f"{named}-b", "path_filters": ["/y"]}]))
    done(analyst.put(f"{base}/{named}", json={"path_filters": ["/z"], "accepted_blind": BLIND[1:]}))
    done(analyst.put(f"{base}/{named}", json={"path_filters": ["/z"], "accepted_blind": BLIND}))
    done(analyst.put(base, json=[{"id": named, "enabled": False}]))
    found = entries(analyst, "ingress filter", named)
    mine = [one for one in found if one["target"] == named]
    assert actions_of(mine) == ["create", "change", "change"]  # nothing changed in between
    accepted = [one["after"].get("accepted_blind") for one in mine]
    assert accepted == [BLIND, BLIND[1:], None]
    assert all("accepted_blind" not in one["after"] for one in found if one not in mine)
    assert "accepted_blind" not in done(analyst.get(f"{base}/{named}"))


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        [1],
        [{}],
        [{"kind": "rule"}],
        [{"kind": "other", "id": "x"}],
        [{"kind": "rule", "id": ""}],
        [{"kind": "rule", "id": 1}],
        [BLIND[0] | {"hits": 1}],
        [{"kind": "rule", "id": "x", "name": "x" * (limits.MEMBER_CHARS_MAX + 1)}],
        [{"kind": "rule", "id": "x"}] * (INGRESS_IDS_MAX + 1),
    ],
    ids=lambda wrong: str(wrong)[:40],
)
def test_what_is_accepted_and_cannot_be_read_is_400(
    analyst: httpx.Client, named: str, wrong: Any
) -> None:
    body = {"id": named, "path_filters": ["/opt/x"], "accepted_blind": wrong}
    answer = analyst.post("/api/v1/ingress_approvedlist", json=body)
    assert answer.status_code == 400
    assert "accepted_blind" in answer.json()["message"]
    assert not entries(analyst, "ingress filter", named)
