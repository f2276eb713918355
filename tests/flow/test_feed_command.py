"""`vedette feed` on a running server, and what it found in the telemetry that came in."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from tests.support.cbfeeds_rules import check_cbfeeds
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import Story, story
from vedette.cli.main import app

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = pytest.mark.filterwarnings("ignore")

AMSI = "ab" * 16
"""A module that the story's program loads."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as opened:
        yield opened


def run(server: Server, *words: str) -> Result:
    place = [] if words[0] == "validate" else ["--data", str(server.data)]
    return CliRunner().invoke(app, ["feed", *words, *place])


def a_report(name: str, **members: Any) -> dict[str, Any]:
    known = {"id": name, "title": name, "link": "", "timestamp": 1_700_000_000, "score": 60}
    return known | members


@pytest.fixture(scope="module")
def feed(server: Server) -> str:
    """A file of a feed in the directory of feeds."""
    query = {"index_type": "events", "search_query": ["q=process_name%3Anever.exe"]}
    reports = [
        a_report(
            "module",
            link="https://intel.example/m",
            iocs={"md5": [AMSI.upper()]},
            tags=["t-1", "ok"],
        ),
        a_report("net", iocs={"ipv4": ["198.51.100.0/24", "203.0.113.77"]}, description="d"),
        a_report("asked", iocs={"query": query}),
        a_report("broken", score="x", iocs={"md5": [AMSI]}),
    ]
    info = {"name": "local", "display_name": "Local", "provider_url": "https://intel.example/"}
    folder = server.data / "feeds"
    folder.mkdir(exist_ok=True)
    path = folder / "local.json"
    path.write_text(json.dumps({"feedinfo": info, "reports": reports}))
    return path.as_uri()


@pytest.fixture(scope="module")
def added(server: Server, client: httpx.Client, feed: str) -> dict[str, Any]:
    made = run(server, "add", feed)
    assert made.exit_code == 0, made.output
    feed_id = int(re.findall(r"\d+", made.output)[0])
    assert run(server, "sync", "LOCAL", "--full").exit_code == 0
    path = f"/api/v1/feed/{feed_id}"

    def counts() -> tuple[int, int]:
        one = client.get(path).json()
        return one["report_count"], len(one["errors"])

    assert wait_for(counts, (3, 1)) == (3, 1)
    return dict(client.get(path).json())


def test_a_feed_is_listed_with_how_it_went(server: Server, added: dict[str, Any]) -> None:
    found = json.loads(run(server, "list", "--json").output)
    assert [(one["name"], one["report_count"], one["ioc_count"]) for one in found] == [
        ("local", 3, 4)
    ]
    assert "1 errors" in run(server, "list").output
    assert added["errors"][0]["place"].startswith("reports[3] at byte ")


def test_an_export_follows_the_public_rules(
    server: Server, added: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "out.json"
    done = run(server, "export", "local", "-o", str(file))
    assert done.exit_code == 0, done.output
    document = json.loads(file.read_text())
    check_cbfeeds(document)
    assert {one["id"] for one in document["reports"]} == {"module", "net", "asked"}
    again = run(server, "validate", str(file))
    assert (again.exit_code, again.output) == (0, "cbfeeds: 3 reports, 3 indicators\n")


def test_a_document_is_validated_with_places(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"reports": [a_report("x", iocs={"md5": ["zz"]})]}))
    done = run(server, "validate", str(file))
    assert done.exit_code == 2
    assert "reports[0] at byte 13" in done.output
    assert run(server, "validate", str(tmp_path / "none")).exit_code == 2
    assert run(server, "sync", "nothing").exit_code == 2


def test_what_comes_in_is_found_by_its_indicators(
    server: Server, client: httpx.Client, added: dict[str, Any]
) -> None:
    switched = client.put(f"/api/v1/feed/{added['id']}/action_type/alert", json={"enabled": True})
    assert switched.status_code == 200, switched.text
    tale = sent(server)
    query = {"q": f"hostname:{tale.host.name} alliance_score_local:[50 TO *]"}

    def found() -> int:
        return int(client.get("/api/v1/process", params=query).json()["total_results"])

    assert wait_for(lambda: found() > 0, True)
    hit = client.get("/api/v1/process", params=query).json()["results"][0]
    assert (hit["alliance_score_local"], hit["alliance_data_local"]) == (60, ["module"])
    assert hit["alliance_link_local"] == "https://intel.example/m"
    assert hit["alliance_updated_local"].startswith("2023-11-14T22:13:20")
    analysed = client.get(f"/api/v6/process/{hit['id']}/1/bulk").json()
    assert analysed["alliance_hits"]["local"]["hits"][0]["ioc_value"] == AMSI
    hits = client.get(f"/api/v1/process/{hit['id']}/0/threat_intel_hits").json()
    assert hits["alliance_hits"]["local"]["score"] == 60
    binaries = client.get("/api/v1/binary", params={"q": "alliance_score_local:*"}).json()
    assert [one["md5"] for one in binaries["results"]] == [AMSI.upper()]


def sent(server: Server) -> Story:
    tale = story("feed-host.corp.example")
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=tale.records).status_code == 200
    return tale
