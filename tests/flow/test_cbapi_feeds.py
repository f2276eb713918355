"""Feeds and threat reports with the public client `cbapi` (docs/clients.md#requests)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.feed_server import FeedServer, feed_server
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import story

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = pytest.mark.filterwarnings("ignore")

INFO = {
    "name": "fuzzy",
    "display_name": "Fuzzy Intel",
    "provider_url": "https://intel.example/",
    "summary": "Fuzzy",
    "tech_data": "None",
    "category": "Partner",
}


def a_report(name: str, **iocs: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "title": f"FUZZYWOMBAT {name}",
        "link": f"https://intel.example/{name}",
        "timestamp": 1_700_000_000,
        "score": 75,
        "tags": ["wombat"],
        "iocs": iocs,
    }


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedServer]:
    with feed_server(tmp_path_factory.mktemp("publisher")) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, publisher: FeedServer) -> Iterator[Server]:
    """A server that may fetch from this machine."""
    data = tmp_path_factory.mktemp("server")
    yield from start_server(
        data,
        "--set",
        "egress_allow=127.0.0.1",
        "--set",
        f"feed_ca_file={publisher.certificate}",
    )


@pytest.fixture
def feed(cb: Any, publisher: FeedServer) -> Iterator[Any]:
    from cbapi.response import Feed

    reports = [
        a_report("hash-1", md5=["ab" * 16]),
        a_report("dns.2", dns=["c2.evil.example"]),
        a_report("net_3", ipv4=["198.51.100.0/24"]),
    ]
    publisher.publish("/feed", json.dumps({"feedinfo": INFO, "reports": reports}).encode())
    made = cb.create(Feed, {"feed_url": f"{publisher.url}/feed", "enabled": True})
    made.save()
    yield made
    made.delete()


def synchronised(cb: Any, feed: Any, full_sync: bool = False) -> Any:
    from cbapi.response import Feed

    feed.synchronize(full_sync)
    wait_for(lambda: cb.get_object(f"/api/v1/feed/{feed.id}")["sync_requested"], False)
    return cb.select(Feed, feed.id, force_init=True)


def test_a_feed_is_made_found_changed_and_deleted(cb: Any, feed: Any) -> None:
    from cbapi.response import Feed

    assert isinstance(feed.id, int)
    assert (feed.name, feed.display_name, feed.category) == ("fuzzy", "Fuzzy Intel", "Partner")
    assert [one.id for one in cb.select(Feed)] == [feed.id]
    assert cb.select(Feed).where("name:fuzzy").first().id == feed.id
    feed.display_name = "Renamed"
    feed.enabled = False
    feed.save()
    assert cb.select(Feed, feed.id, force_init=True).display_name == "Renamed"


def test_reports_arrive_and_are_ignored(cb: Any, feed: Any) -> None:
    from cbapi.response import ThreatReport

    synchronised(cb, feed)
    assert sorted(one.id for one in feed.reports) == ["dns.2", "hash-1", "net_3"]
    found = cb.select(ThreatReport).where("title:FUZZYWOMBAT -is_ignored:true")
    assert len(found) == 3
    one = cb.select(ThreatReport, f"{feed.id}:dns.2")
    assert one.title == "FUZZYWOMBAT dns.2"
    one.disable()
    assert len(cb.select(ThreatReport).where("is_ignored:true")) == 1
    cb.select(ThreatReport).where("feed_name:fuzzy").set_ignored()
    assert len(cb.select(ThreatReport).where("is_ignored:true")) == 3
    synchronised(cb, feed, full_sync=True)
    assert len(cb.select(ThreatReport).where("is_ignored:true")) == 3
    one.enable()
    assert len(cb.select(ThreatReport).where("is_ignored:true")) == 2


def test_a_change_of_reports_counts_what_changed_and_names_what_is_not_there(
    cb: Any, server: Server, feed: Any
) -> None:
    synchronised(cb, feed)
    ids = {str(feed.id): ["dns.2", "hash-1", "nobody's"], "2147483647": ["dns.2"]}
    missing = {str(feed.id): ["nobody's"], "2147483647": ["dns.2"]}
    url = "/api/v1/threat_report"

    def changed(ids: Any, *, ignored: bool) -> tuple[int, int, Any]:
        answer = client.post(url, json={"ids": ids, "updates": {"is_ignored": ignored}})
        assert answer.status_code == 200, answer.text
        body = answer.json()
        return body["updated"], body["unchanged"], body["not_found"]

    with server.analyst() as client:
        assert changed(ids, ignored=True) == (2, 0, missing)
        assert changed(ids, ignored=True) == (0, 2, missing)
        assert changed({str(feed.id): ["dns.2", "net_3"]}, ignored=True) == (1, 1, {})
        assert changed(ids, ignored=False) == (2, 0, missing)
        assert changed({"2147483647": ["x"]}, ignored=True) == (0, 0, {"2147483647": ["x"]})
        found = client.get(url, params={"q": f"feed_id:{feed.id} is_ignored:true"}).json()
        assert [one["id"] for one in found["results"]] == ["net_3"]
        body = {"query": f"q=feed_id:{feed.id}", "updates": {"is_ignored": True}}
        answer = client.post(url, json=body).json()
        assert (answer["updated"], answer["unchanged"], answer["not_found"]) == (2, 1, {})


def test_actions_of_a_feed_are_made_found_and_deleted(cb: Any, feed: Any) -> None:
    made = feed.create_action()
    made.type = "alert"
    made.action_data = json.dumps({"email_recipients": []})
    made.save()
    (listed,) = list(feed.actions)
    assert (listed.type, int(listed.group_id), listed.watchlist_id) == ("alert", feed.id, feed.id)
    assert listed.feed.name == "fuzzy"
    types = cb.get_object(f"/api/v1/feed/{feed.id}/action_type")
    assert {"action_type": "alert", "enabled": True} in types
    listed.delete()
    assert list(feed.actions) == []


def test_processes_and_binaries_of_a_feed_are_searched(
    cb: Any, feed: Any, server: Server, publisher: FeedServer
) -> None:
    from cbapi.response import Alert, ThreatReport

    tale = story("cbapi-feeds.corp.example")
    reports = [a_report("ran", md5=[tale.powershell.md5])]
    publisher.publish("/feed", json.dumps({"feedinfo": INFO, "reports": reports}).encode())
    action = feed.create_action()
    action.type = "alert"
    action.save()
    feed.local_rating = 4  # the client rounds
    feed.save()
    synchronised(cb, feed, full_sync=True)
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=tale.records).status_code == 200
    # The client remembers what a query counted.
    wait_for(lambda: len(feed.search_processes()) > 0, True, 60)
    found = feed.search_processes(min_score=50).first()
    assert found.process_md5 == tale.powershell.md5
    assert (found.alliance_score_fuzzy, found.alliance_data_fuzzy) == (75, ["ran"])
    assert len(feed.search_processes(min_score=76)) == 0
    assert [one.md5 for one in feed.search_binaries()] == [tale.powershell.md5.upper()]
    wait_for(lambda: len(cb.select(Alert).where(f"feed_id:{feed.id}")) > 1, True, 60)
    hits = list(cb.select(Alert).where(f"feed_id:{feed.id}"))
    assert {(one.feed_name, one.feed_rating) for one in hits} == {("fuzzy", 4)}
    types = {one.alert_type for one in hits}
    assert types == {"watchlist.hit.ingress.process", "watchlist.hit.ingress.binary"}
    assert {one.trigger_ioc["md5"] for one in hits} == {tale.powershell.md5}
    cb.select(Alert).where(f"feed_id:{feed.id}").set_ignored()
    assert [one.id for one in cb.select(ThreatReport).where("is_ignored:true")] == ["ran"]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("md5:" + "AB" * 16, ["hash-1"]),
        ("domain:evil.example", ["dns.2"]),
        ("ipaddr:198.51.0.0/16", ["net_3"]),
        ("tags:wombat score:[70 TO 80] -domain:*", ["hash-1", "net_3"]),
        ("c2.evil.example", ["dns.2"]),
        ("report_id:net_3 has_query:false", ["net_3"]),
        ("feed_category:partner update_time:[2023-01-01 TO *] title:wombat", []),
        ("is_deleted:true", []),
    ],
)
def test_reports_are_searched(
    server: Server, cb: Any, feed: Any, query: str, ids: list[str]
) -> None:
    synchronised(cb, feed)
    with server.analyst() as client:
        asked = f"({query}) feed_id:{feed.id}"
        answer = client.get("/api/v1/threat_report", params={"q": asked, "sort": "report_id asc"})
    assert answer.status_code == 200, answer.text
    assert sorted(one["id"] for one in answer.json()["results"]) == sorted(ids)


def test_facets_pages_and_highlights(server: Server, cb: Any, feed: Any) -> None:
    synchronised(cb, feed)
    with server.analyst() as client:
        params = {"q": "FUZZYWOMBAT", "facet": "true", "facet.field": ["tags", "feed_name"]}
        body = client.get("/api/v1/threat_report", params=params | {"rows": 1}).json()
        assert body["total_results"] == 3
        assert len(body["results"]) == 1
        assert body["facets"]["tags"][0] == {
            "name": "wombat",
            "value": 3,
            "percent": 100.0,
            "ratio": "100.0",
        }
        assert body["highlights"][0]["name"].startswith("PREPREPREFUZZYWOMBATPOSTPOSTPOST ")
        shown = client.get(f"/api/v1/feed/{feed.id}/report/net_3").json()
        assert shown["iocs"] == {"ipv4": ["198.51.100.0/24"]}
        listed = client.get(f"/api/v1/feed/{feed.id}/report", params={"rows": 2}).json()
        assert [one["id"] for one in listed] == ["dns.2", "hash-1"]
        after = client.get(f"/api/v1/feed/{feed.id}/report?after=hash-1").json()
        assert [one["id"] for one in after] == ["net_3"]


def test_a_disabled_feed_is_not_synchronised(cb: Any, server: Server, feed: Any) -> None:
    feed.enabled = False
    feed.save()
    with server.analyst() as client:
        answer = client.post(f"/api/v1/feed/{feed.id}/synchronize", json={"full_sync": False})
        assert answer.status_code == 409


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({}, 400, "feed_url"),
        ({"feed_url": "ftp://intel.example/feed"}, 400, "feed_url"),
        ({"feed_url": "https://ann:secret@intel.example/feed"}, 400, "credentials"),
        ({"feed_url": "file:///etc/passwd"}, 400, "feed_files"),
        ({"feed_url": "http://169.254.169.254/latest"}, 400, "egress_allow"),
        ({"feed_url": "http://[bad/feed", "name": "bad"}, 400, "feed_url"),
        ({"feed_url": "https://intel.example/", "name": "no good"}, 400, "name"),
        ({"feed_url": "https://intel.example/", "colour": "red"}, 400, "colour"),
        ({"feed_url": "https://intel.example/", "enabled": 7}, 400, "enabled"),
    ],
)
def test_what_is_no_feed_is_refused(
    server: Server, body: dict[str, Any], status: int, word: str
) -> None:
    with server.analyst() as client:
        answer = client.post("/api/v1/feed", json=body)
    assert answer.status_code == status, answer.text
    assert word in answer.text
    assert "secret" not in answer.text


def test_secrets_are_stored_sealed_never_shown_and_dropped_with_the_server(
    server: Server, publisher: FeedServer
) -> None:
    with server.analyst() as client:
        url = f"{publisher.url}/feed"
        body = {"feed_url": url, "username": "ann", "password": "hunter2", "name": "sealed"}
        made = client.post("/api/v1/feed", json=body).json()
        path = f"/api/v1/feed/{made['id']}"
        assert (made["password"], made["has_password"]) == (None, True)
        assert publisher.asked[-1][1]["authorization"].startswith("Basic ")
        same = client.put(path, json=client.get(path).json()).json()
        assert same["has_password"], "a record that is sent back changes nothing"
        moved = client.put(path, json={"feed_url": "https://other.example/feed"}).json()
        assert (moved["has_password"], moved["username"]) == (False, "ann")
        client.put(path, json={"password": "hunter2"})
        assert client.delete(path).json() == {"result": "success"}
        assert client.get(path).status_code == 404
    stored = [path for path in server.data.glob("state.db*") if b"hunter2" in path.read_bytes()]
    assert stored == []
    assert (server.data / "secrets.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"updates": {"is_ignored": True}},
        {"ids": {"1": ["a"]}, "updates": {"title": "x"}},
        {"ids": {"1": ["a"]}, "updates": {"is_ignored": "yes"}},
        {"ids": {"1": "a"}, "updates": {"is_ignored": True}},
        {"ids": {"x": ["a"]}, "updates": {"is_ignored": True}},
        {"query": "q=nofield:x", "updates": {"is_ignored": True}},
        {"query": "q=x", "ids": {"1": ["a"]}, "updates": {"is_ignored": True}},
    ],
)
def test_an_update_of_reports_that_is_none_is_refused(server: Server, body: dict[str, Any]) -> None:
    with server.analyst() as client:
        assert client.post("/api/v1/threat_report", json=body).status_code == 400
