"""Watchlists over HTTP: records, ids, who may, validation, previews, and hits on what arrives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.served import Server, hire, open_group, start_server, wait_for
from tests.support.sysmon import Story, story
from vedette.model.principal import Role

BASE = "/api/v1/watchlist"
TIMEOUT_S = 40.0


def save(client: httpx.Client, query: str = "process_name:x.exe", **members: Any) -> httpx.Response:
    body = {"name": "a watch", "search_query": query, "index_type": "events", **members}
    return client.post(BASE, json=body)


def made(client: httpx.Client, query: str = "process_name:x.exe", **members: Any) -> str:
    answer = save(client, query, **members)
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["id"]
    return found


def test_a_record_has_every_member_with_its_type(analyst: httpx.Client) -> None:
    watched = made(analyst, "cb.urlver=1&q=process_name%3Anotepad.exe", description="why")
    assert isinstance(watched, str)
    record = analyst.get(f"{BASE}/{watched}").json()
    assert record["search_query"] == "cb.urlver=1&q=process_name%3Anotepad.exe"
    assert (record["id"], record["description"]) == (watched, "why")
    assert (record["enabled"], record["readonly"], record["from_alliance"]) == (True, False, False)
    assert (record["total_hits"], record["total_tags"], record["last_hit_count"]) == ("0", "0", 0)
    assert record["last_hit"] is None
    assert (record["group_id"], record["last_execution_result"]) == (-1, 0)
    assert isinstance(record["last_execution_time_ms"], str)
    assert record["date_added"].endswith("Z")
    assert record["search_timestamp"] is None  # not searched yet
    listed = analyst.get(BASE).json()
    assert watched in [one["id"] for one in listed]


@pytest.mark.parametrize("place", ["query", "body", "body as text"])
def test_the_caller_may_choose_the_id(analyst: httpx.Client, place: str) -> None:
    number = {"query": 40_001, "body": 40_002, "body as text": 40_003}[place]
    body: dict[str, Any] = {"name": "n", "search_query": "q=cmd.exe", "index_type": "events"}
    if place == "query":
        answer = analyst.post(BASE, params={"id": number}, json=body)
    else:
        chosen = str(number) if place == "body as text" else number
        answer = analyst.post(BASE, json={**body, "id": chosen})
    assert answer.json()["id"] == str(number)
    assert analyst.post(BASE, params={"id": number}, json=body).status_code == 409
    assert analyst.delete(f"{BASE}/{number}").json() == {"result": "success"}
    assert analyst.post(BASE, params={"id": number}, json=body).json()["id"] == str(number)


def test_another_query_gives_another_id_and_the_old_one_leads_there(analyst: httpx.Client) -> None:
    old = made(analyst)
    record = analyst.get(f"{BASE}/{old}").json()
    same = analyst.put(f"{BASE}/{old}", json={**record, "name": "renamed"}).json()
    assert (same["id"], same["name"], same["result"]) == (old, "renamed", "success")
    changed = analyst.put(f"{BASE}/{old}", json={**record, "search_query": "q=other.exe"}).json()
    assert int(changed["id"]) == int(old) + 1
    again = analyst.get(f"{BASE}/{old}").json()
    assert again["id"] == changed["id"]
    assert [one["id"] for one in again["history"]] == [old, changed["id"]]
    assert again["history"][0]["search_query"] == "process_name:x.exe"
    third = analyst.put(f"{BASE}/{old}", json={"search_query": "q=third.exe"}).json()
    assert int(third["id"]) == int(old) + 2
    analyst.delete(f"{BASE}/{old}")
    for gone in (old, changed["id"], third["id"]):
        assert analyst.get(f"{BASE}/{gone}").status_code == 404


def test_an_id_in_between_is_not_taken_from_another(analyst: httpx.Client) -> None:
    first, second = made(analyst), made(analyst)
    assert int(second) == int(first) + 1
    changed = analyst.put(f"{BASE}/{first}", json={"search_query": "q=y.exe"}).json()["id"]
    assert changed not in (first, second)
    assert analyst.get(f"{BASE}/{second}").json()["id"] == second


def test_actions_move_with_the_query(analyst: httpx.Client, server: Server) -> None:
    giver, taker = made(analyst), made(analyst)
    answer = analyst.put(
        f"{BASE}/{taker}",
        json={"search_query": "q=z.exe", "move_actions_from_watchlist_id": giver},
    )
    assert answer.status_code == 200
    unknown = analyst.put(
        f"{BASE}/{taker}",
        json={"search_query": "q=zz.exe", "move_actions_from_watchlist_id": 1_900_000_000},
    )
    assert unknown.status_code == 404


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"search_query": "q=process_name%3A(a"}, ""),
        ({"search_query": "nofield:x"}, "nofield"),
        ({"search_query": "q=*"}, "matches everything"),
        ({"search_query": "q=*:*"}, "matches everything"),
        ({"search_query": "-cmdline:'"}, "matches everything"),
        ({"search_query": "process_id:*"}, "matches everything"),
        ({"search_query": "q=-prevalence_pair:2"}, "a watchlist cannot test"),
        ({"search_query": "q=prevalence_cmdline:1"}, "a watchlist cannot test"),
        ({"search_query": ""}, "search_query"),
        ({"search_query": "start:yesterday"}, "not a date"),
        ({"search_query": "x\x00y"}, "null byte"),
        ({"search_query": 7}, "search_query"),
        ({"search_query": "a" * 300_000}, "characters"),
        ({"index_type": "files"}, "index_type"),
        ({"index_type": None}, "index_type"),
        ({"name": ""}, "name"),
        ({"name": "n" * 300}, "name"),
        ({"enabled": "yes"}, "enabled"),
        ({"id": "x"}, "id"),
        ({"id": 0}, "id"),
        ({"id": 2**40}, "id"),
        ({"id": 2**31 - 2}, "id: must be at most"),
        ({"group_id": 999_999}, "group"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_saved_says_why(
    analyst: httpx.Client, members: dict[str, Any], text: str
) -> None:
    count = len(analyst.get(BASE).json())
    answer = (
        save(analyst, **{"query": "q=fine.exe", **members})
        if "search_query" not in members
        else analyst.post(BASE, json={"name": "n", "index_type": "events", **members})
    )
    assert answer.status_code in (400, 404), answer.text
    assert text in answer.text
    assert len(analyst.get(BASE).json()) == count


def test_a_broken_query_names_the_place(analyst: httpx.Client) -> None:
    answer = save(analyst, "q=" + quote("process_name:cmd.exe nofield:x"))
    assert answer.status_code == 400
    assert answer.json()["start"] == len("process_name:cmd.exe ")
    watched = made(analyst)
    broken = analyst.put(f"{BASE}/{watched}", json={"search_query": "path:[a TO b]"})
    assert broken.status_code == 400
    assert analyst.get(f"{BASE}/{watched}").json()["id"] == watched


@pytest.mark.parametrize(("name", "status"), [("bad_id", 400), ("-1", 404), ("9" * 30, 400)])
def test_unknown_ids(analyst: httpx.Client, name: str, status: int) -> None:
    assert analyst.get(f"{BASE}/{name}").status_code == status
    assert analyst.delete(f"{BASE}/{name}").status_code == status


def test_groups_and_roles(server: Server, analyst: httpx.Client) -> None:
    group, _ = open_group(server, "watch-group")
    everywhere = made(analyst)
    inside = made(analyst, group_id=group)
    frozen = made(analyst, group_id=group, readonly=True)
    token = hire(server, "watch-analyst", {group: Role.ANALYST})
    with server.client(**{"X-Auth-Token": token}) as mine:
        assert mine.get(f"{BASE}/{inside}").status_code == 200
        assert save(mine).status_code == 403
        own = made(mine, group_id=group)
        assert mine.put(f"{BASE}/{own}", json={"enabled": False}).status_code == 200
        assert mine.put(f"{BASE}/{own}", json={"group_id": -1}).status_code == 403
        assert mine.put(f"{BASE}/{everywhere}", json={"enabled": False}).status_code == 403
        assert mine.delete(f"{BASE}/{everywhere}").status_code == 403
        assert mine.put(f"{BASE}/{frozen}", json={"name": "n"}).status_code == 403
        assert mine.delete(f"{BASE}/{frozen}").status_code == 403
    other = hire(server, "watch-other", {1: Role.ANALYST})
    with server.client(**{"X-Auth-Token": other}) as theirs:
        assert theirs.get(f"{BASE}/{inside}").status_code == 404
        assert theirs.delete(f"{BASE}/{inside}").status_code == 404
        ids = [one["id"] for one in theirs.get(BASE).json()]
        assert everywhere in ids
        assert inside not in ids
    viewer = hire(server, "watch-viewer", {group: Role.VIEWER})
    with server.client(**{"X-Auth-Token": viewer}) as seen:
        assert seen.get(f"{BASE}/{inside}").status_code == 200
        assert save(seen, group_id=group).status_code == 403


def test_a_hit_is_searched_shown_and_counted(
    server: Server, analyst: httpx.Client, sent_story: Story
) -> None:
    """The stored past first, then what arrives."""
    host = f"hostname:{sent_story.host.name}"
    watched = made(analyst, f"cb.q.process_name=powershell.exe&q={host}")
    tagged = {"q": f"watchlist_{watched}:*"}
    wait_for(
        lambda: analyst.get("/api/v1/process", params=tagged).json()["total_results"] > 0,
        True,
        TIMEOUT_S,
    )
    (row,) = analyst.get("/api/v1/process", params=tagged).json()["results"]
    assert row["process_name"].lower() == "powershell.exe"
    assert [one["wid"] for one in row["watchlists"]] == [watched]
    page = analyst.get("/ui/process", params={"q": f"watchlist_{watched}:*", "t": "all"}).text
    assert f"; watchlists: {watched}" in page
    assert 'class="num c-hits" data-label="hits"' in page
    path = f"/api/v1/process/{row['id']}/0"
    shown = analyst.get(path).json()["process"]
    assert shown["watchlists"] == row["watchlists"]
    record = analyst.get(f"{BASE}/{watched}").json()
    assert int(record["total_tags"]) == 1
    assert record["last_hit"]
    explained = analyst.get("/api/v1/query/explain", params=tagged).json()
    assert explained["terms"][0]["segments"] == 1
    assert explained["terms"][0]["reads"] == "index"
    both = {"q": f"{host} -watchlist_{watched}:*", "svc.comprehensive_search": "true"}
    names = [
        one["process_name"] for one in analyst.get("/api/v1/process", params=both).json()["results"]
    ]
    assert "powershell.exe" not in names
    later = story("watch-later.corp.example")
    live = made(analyst, f"hostname:{later.host.name} process_name:powershell.exe")
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=later.records).status_code == 200
    reported = wait_for(lambda: analyst.get(f"{BASE}/{live}").json()["total_tags"], "1", TIMEOUT_S)
    assert reported == "1"


def test_what_a_watchlist_hit_by_day_and_its_queries_are_told(
    server: Server, analyst: httpx.Client, sent_story: Story
) -> None:
    query = f"hostname:{sent_story.host.name} process_name:powershell.exe"
    watched = made(analyst, query)
    wait_for(lambda: analyst.get(f"{BASE}/{watched}").json()["total_tags"], "1", TIMEOUT_S)
    stats = analyst.get(f"{BASE}/{watched}/stats").json()
    assert (len(stats["hits_per_hour"]), len(stats["hits_per_day"])) == (24, 7)
    assert sum(stats["hits_per_day"]) == 1
    assert stats["fields_never_seen"] == []
    assert analyst.get("/ui/watchlists").text.count("Hits (7 days)") >= 1
    changed = analyst.put(f"{BASE}/{watched}", json={"search_query": f"{query} cmdline:x"}).json()
    versions = analyst.get(f"{BASE}/{changed['id']}/versions").json()
    assert [one["id"] for one in versions] == [watched, changed["id"]]
    assert versions[0]["until"]
    assert versions[1]["until"] is None
    group, _ = open_group(server, "stats-group")
    blind = hire(server, "stats-nobody", {group: Role.VIEWER})
    with server.client(**{"X-Auth-Token": blind}) as theirs:
        again = analyst.put(f"{BASE}/{changed['id']}", json={"search_query": query}).json()["id"]
        wait_for(lambda: analyst.get(f"{BASE}/{again}").json()["total_tags"], "1", TIMEOUT_S)
        nothing = theirs.get(f"{BASE}/{again}/stats").json()
        assert nothing["hits_per_day"] == [0] * 7
        assert nothing["total_hits"] == "0"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    """With one story, and nothing that other tests stored."""
    for started in start_server(tmp_path / "fresh"):
        with started.sender() as sender:
            sender.post("/api/v1/ingest", json=story("fresh.example").records).raise_for_status()
        yield started


def test_a_field_that_nothing_stored_has_is_named(fresh: Server) -> None:
    with fresh.analyst() as analyst:
        check_silent(fresh, analyst)


def check_silent(server: Server, analyst: httpx.Client) -> None:
    query = "hostname:fresh.example (crossproc_name:x.exe OR netconn_count:[5 TO *])"
    watched = made(analyst, f"{query} -alliance_score_x:5 comms_ip:10.9.9.9")
    silent = analyst.get(f"{BASE}/{watched}/stats").json()["fields_never_seen"]
    asked = {"q": f"{silent[0]}:*"} if silent else {}
    assert silent
    assert analyst.get("/api/v1/process", params=asked).json()["total_results"] == 0
    assert f"{silent[0]} never seen" in analyst.get("/ui/watchlists").text
    assert "netconn_count" not in silent
    group, _ = open_group(server, "silent-group")
    blind = hire(server, "silent-nobody", {group: Role.VIEWER})
    with server.client(**{"X-Auth-Token": blind}) as theirs:
        assert theirs.get(f"{BASE}/{watched}/stats").json()["fields_never_seen"] == []


def test_a_preview_offers_values_to_leave_out(analyst: httpx.Client, sent_story: Story) -> None:
    query = f"cb.q.hostname={sent_story.host.name}"
    body = {"search_query": query, "from": "-7d"}
    found = analyst.post(f"{BASE}/preview", json=body).json()
    assert 0 < len(found["top_values"]) <= 5
    for one in found["top_values"]:
        assert 0 < one["hits"] < found["total_hits"]
        left = analyst.post(f"{BASE}/preview", json=body | {"search_query": one["search_query"]})
        assert left.json()["total_hits"] == found["total_hits"] - one["hits"], one


def test_a_watched_binary_says_so(analyst: httpx.Client, sent_story: Story) -> None:
    md5 = sent_story.powershell.md5
    watched = made(analyst, f"md5:{md5}", index_type="modules")
    wait_for(
        lambda: analyst.get("/api/v1/binary", params={"q": f"watchlist_{watched}:*"}).json()[
            "total_results"
        ],
        1,
        TIMEOUT_S,
    )
    summary = analyst.get(f"/api/v1/binary/{md5}/summary").json()
    assert watched in [one["wid"] for one in summary["watchlists"]]
    analyst.delete(f"{BASE}/{watched}")
    assert analyst.get(f"{BASE}/{watched}").status_code == 404


def test_a_preview_says_what_to_expect(
    server: Server, analyst: httpx.Client, sent_story: Story
) -> None:
    query = f"hostname:{sent_story.host.name}"
    found = analyst.post(f"{BASE}/preview", json={"search_query": query, "from": "-7d"}).json()
    searched = analyst.get("/api/v1/process", params={"q": query}).json()
    assert found["total_hits"] == searched["total_results"] > 1
    assert sum(one["hits"] for one in found["hits_per_day"]) == found["total_hits"]
    assert [one["hostname"] for one in found["hosts"]] == [sent_story.host.name]
    assert found["total_hosts"] == 1
    assert 0 < found["expected_alerts"] <= found["total_hits"]
    assert {one["id"] for one in found["samples"]} <= {one["id"] for one in searched["results"]}
    assert found["incomplete_results"] is False
    modules = {"search_query": f"md5:{sent_story.powershell.md5}", "index_type": "modules"}
    binaries = analyst.post(f"{BASE}/preview", json=modules).json()
    assert binaries["total_hits"] == 1
    assert binaries["samples"][0]["md5"] == sent_story.powershell.md5.upper()
    group, _ = open_group(server, "preview-group")
    blind = hire(server, "preview-nobody", {group: Role.ANALYST})
    with server.client(**{"X-Auth-Token": blind}) as theirs:
        for body in ({"search_query": query, "from": "-7d"}, modules):
            nothing = theirs.post(f"{BASE}/preview", json=body).json()
            assert (nothing["total_hits"], nothing["samples"], nothing["hosts"]) == (0, [], [])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"search_query": "nofield:x"},
        {"search_query": "q=a", "index_type": "files"},
        {"search_query": "q=a", "index_type": 1},
        {"search_query": "q=a.exe", "from": "2030-01-01", "to": "2020-01-01"},
        {"search_query": "q=a.exe", "from": "soon"},
        {"search_query": "q=a.exe", "from": 7},
    ],
)
def test_a_preview_that_cannot_be_read_is_refused(
    analyst: httpx.Client, body: dict[str, Any]
) -> None:
    assert analyst.post(f"{BASE}/preview", json=body).status_code == 400


def test_a_filter_that_would_hide_hits_names_the_watchlist(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    tale = story("watch-filter.corp.example")
    assert sender.post("/api/v1/ingest", json=tale.records).status_code == 200
    host = f"hostname:{tale.host.name}"
    whole = made(analyst, f"{host} cmdline:SQBFAFgA", name="by command line")
    file = made(analyst, f"{host} filemod:up.exe", name="by file")
    for watched in (whole, file):
        tagged = {"q": f"watchlist_{watched}:*"}
        wait_for(
            lambda tagged=tagged: analyst.get("/api/v1/process", params=tagged).json()[  # type: ignore[misc]
                "total_results"
            ],
            1,
            TIMEOUT_S,
        )
    meant = {"cmdline_filters": [f"SQBFAFgA {tale.host.name}"]}

    def blinded(**members: Any) -> dict[str, int]:
        body = [{"id": "blind", **meant, **members}]
        answer = analyst.post("/api/v1/ingress_approvedlist", params={"dry_run": "true"}, json=body)
        assert answer.status_code == 200, answer.text
        return {one["id"]: one["hits"] for one in answer.json()["blinded"]}

    assert blinded(filter_all_events=True) == {whole: 1, file: 1}
    assert blinded(filter_all_events=False, filemod_filters=["up.exe"]) == {file: 1}
    assert blinded(filter_all_events=False, filemod_filters=["other.exe"]) == {}
