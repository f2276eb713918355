"""A TAXII server is read from any of its URLs, page by page, with credentials for itself only."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract.feeds.publisher import NOW_US
from tests.support.feed_server import FeedServer, feed_server, send
from vedette.clock import DrivenClock
from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Fetcher, FetchRules, Source
from vedette.feeds.schedule import Schedule
from vedette.feeds.synchronise import Parts
from vedette.feeds.taxii import Reader
from vedette.notify.egress import EgressPolicy
from vedette.record.objects.feed import Feed
from vedette.state.db.database import Database
from vedette.state.db.sealing import open_sealing
from vedette.state.jobs.leases import Leases
from vedette.state.policy import feeds
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.threat.reports import reports_after

TAXII = "application/taxii+json;version=2.1"


def indicator(number: int) -> dict[str, str]:
    return {
        "type": "indicator",
        "id": f"indicator--{number}",
        "pattern": f"[domain-name:value = 'c{number}.evil.example']",
        "modified": "2026-01-02T03:04:05Z",
    }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FeedServer]:
    with feed_server(tmp_path) as running:
        answers = {
            "/taxii2/": {"title": "t", "api_roots": [f"{running.url}/root/", "/other/"]},
            "/root/": {"title": "r", "versions": [TAXII], "max_content_length": 1},
            "/root/collections/": {
                "collections": [
                    {"id": "open", "title": "o", "can_read": True, "can_write": False},
                    {"id": "shut", "title": "s", "can_read": False, "can_write": False},
                ]
            },
            "/root/collections/open/": {"id": "open", "title": "o", "can_read": True},
            "/other/collections/": {"collections": []},
        }
        for path, body in answers.items():
            running.publish(path, json.dumps(body).encode(), TAXII)
        running.answer("/root/collections/open/objects/", pages)
        yield running


@pytest.mark.parametrize("root", ["file:///", "file:", "http://[", "ftp://a/", "http://xn--/", 7])
def test_an_api_root_leads_to_http_or_is_an_error_of_the_feed(tmp_path: Path, root: object) -> None:
    (tmp_path / "collections").mkdir()
    (tmp_path / "collections" / "x").write_text("{}")
    with feed_server(tmp_path, tls=False) as running:
        body = json.dumps({"title": "t", "api_roots": [root]}).encode()
        source = Source(running.publish("/taxii2/", body, TAXII))
        fetcher = Fetcher(FetchRules(tmp_path, EgressPolicy.of(["127.0.0.1"]), seconds_max=20.0))
        with pytest.raises(FeedUnreachableError), fetcher.open(source) as document:
            list(Reader(fetcher, source).items(document.chunks))


def pages(request: BaseHTTPRequestHandler) -> None:
    """Three pages of two objects."""
    query = parse_qs(urlsplit(request.path).query)
    page = int(query.get("next", ["0"])[0])
    body = {
        "more": page < 2,
        "next": str(page + 1),
        "objects": [indicator(2 * page), indicator(2 * page + 1)],
    }
    send(request, json.dumps(body).encode(), TAXII)


@pytest.mark.parametrize(
    "path",
    [
        "/taxii2/",
        "/root/",
        "/root/collections/",
        "/root/collections/open/",
        "/root/collections/open/objects/",
    ],
)
def test_every_readable_object_arrives(
    server: FeedServer, engine: ClickHouseEngine, database: Database, tmp_path: Path, path: str
) -> None:
    done = synchronised(server, engine, database, tmp_path, path)
    assert (done.last_error, done.format, done.reports_changed) == ("", "taxii", 6)
    found = reports_after(engine, done.id, "", 10)
    assert [row["domain"] for row in found] == [[f"c{n}.evil.example"] for n in range(6)]
    assert all("authorization" in headers for _, headers in server.asked)
    assert not [path for path, _ in server.asked if "shut" in path]


def test_a_server_without_indicators_is_a_problem(
    server: FeedServer, engine: ClickHouseEngine, database: Database, tmp_path: Path
) -> None:
    done = synchronised(server, engine, database, tmp_path, "/other/collections/")
    assert "read as taxii and has no indicators" in done.last_error
    assert (done.errors, done.failures) == (1, 0)


def synchronised(
    server: FeedServer, engine: ClickHouseEngine, database: Database, tmp_path: Path, path: str
) -> Feed:
    """A feed at that path, after a synchronisation."""
    clock = DrivenClock(NOW_US)
    rules = FetchRules(
        tmp_path, EgressPolicy.of(["127.0.0.1"]), ca_file=server.certificate, seconds_max=30
    )
    sealing = open_sealing(tmp_path)
    parts = Parts(engine, database, sealing, Fetcher(rules), clock)
    members = {
        "name": "taxii",
        "feed_url": server.url + path,
        "enabled": True,
        "manually_added": True,
        "username": "ann",
        "password": "secret",
    }
    feed = feeds.add(database, members, sealing, NOW_US)
    assert Schedule(parts, Leases(database, clock), interval_s=60).run_due() == 1
    return feeds.get(database, feed.id)
