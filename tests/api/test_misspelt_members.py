"""A member that no route knows is refused with its name: a misspelt one must not pass for one that
is not given, least of all `dry_run`."""

from typing import Any

import httpx
import pytest

BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/alerts", {"query": "title:none", "requested_status": "Resolved"}),
    ("POST", "/api/v1/alert/suppression", {"query": "title:none"}),
    ("POST", "/api/v1/approvedlist/entries", {"ipaddr": "192.0.2.1"}),
    ("PATCH", "/api/v1/approvedlist/enabled", {"state": False}),
    ("POST", "/api/v1/hostalias", {"alias": "a.example", "hostname": "b.example"}),
    ("POST", "/api/v1/livequery", {"sensor_ids": [1], "sql": "select 1"}),
    ("POST", "/api/v1/license", {"license": "none"}),
    ("POST", "/api/v1/outbox/retry", {"target": "none"}),
    ("POST", "/api/v1/outbox/discard", {"ids": [1]}),
    ("POST", "/api/v1/threat_report", {"query": "q=", "updates": {"is_ignored": True}}),
    ("POST", "/api/v1/token", {"name": "n"}),
    ("POST", "/api/v1/user", {"username": "misspelt"}),
    ("POST", "/api/v1/team", {"name": "misspelt"}),
    ("POST", "/api/v1/group", {"name": "misspelt"}),
    ("POST", "/api/v1/site", {"name": "misspelt"}),
    ("POST", "/api/v1/watchlist", {"name": "w", "search_query": "q=process_name:x.exe"}),
    ("POST", "/api/v1/banning/blacklist", {"md5hash": "00" * 16}),
    ("PUT", "/api/v1/sensor", {"ids": [1], "notes": "n"}),
    ("POST", "/api/v1/saved_search", {"name": "n", "view": "process"}),
]


@pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=[one[1] for one in BODIES])
def test_a_member_that_is_not_known_is_refused_by_its_name(
    analyst: httpx.Client, method: str, path: str, body: dict[str, Any]
) -> None:
    answer = analyst.request(method, path, json=body | {"dry_rum": True})
    assert answer.status_code == 400
    assert "dry_rum" in answer.json()["message"]


@pytest.mark.parametrize("pair", [("alert_ids", "ids"), ("notes", "comment")])
def test_two_names_of_one_member_do_not_stand_together(
    analyst: httpx.Client, pair: tuple[str, str]
) -> None:
    value: Any = ["0" * 32] if "ids" in pair else "n"
    body = {"requested_status": "Resolved", "query": "title:none", **dict.fromkeys(pair, value)}
    answer = analyst.post("/api/v1/alerts", json=body)
    assert answer.status_code == 400
    assert pair[0] in answer.json()["message"]


@pytest.mark.parametrize("number", ["-1", "1" + "0" * 20, "1_000", "1e3", "\u0663"])
def test_a_place_beyond_all_results_is_refused_with_its_bounds(
    analyst: httpx.Client, number: str
) -> None:
    answer = analyst.get("/api/v1/process", params={"q": "a", "start": number})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("start: ")
    assert "negative" not in answer.json()["message"]
