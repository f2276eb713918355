"""A time that nobody knows is null or missing, never the year 1970."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.test_alerts import RULE, hit
from tests.support.cloud import ORG
from tests.support.one_of_each import named, processes
from tests.support.served import Server, open_group, wait_for
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

SKIPPED = ("/metrics", "/docs", "/openapi", "/_", "/{index}", "/.well-known", "/healthz")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        _, secret = open_group(server, "Reach")
        with server.client(Authorization=f"Bearer {secret}") as client:
            records = story("reach.example").records
            assert client.post("/api/v1/ingest", json=records).status_code == 200
        found = processes(server)
        undated = hit(found[0], RULE, "undated", time_us=0)
        return [*(hit(row, RULE, "why it fired") for row in found), undated]

    with alerted_server(tmp_path_factory.mktemp("times"), detect) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


@pytest.fixture(scope="module")
def paths(server: Server, client: httpx.Client) -> dict[str, str]:
    """Every GET route of the document whose parameters name something that there is, with the
    address to get."""
    names = named(server) | {"org_key": ORG}
    added = client.post("/api/v1/binary/file", content=os.urandom(500)).json()
    names["md5"] = added["md5"]
    alert = client.get("/api/v2/alert", params={"rows": 1}).json()["results"][0]["unique_id"]
    values = {
        **{"process_id": names["process"], "segment_id": "0", "version": "4"},
        **{"alert_id": alert, "sensor_id": names["sensor"], "device_id": names["sensor"]},
        **{"watchlist_id": names["watchlist"], "rule_id": names["rule"]},
        **{"filter_id": names["filter"], "group_id": "1", "username": "admin"},
        **{"org_key": ORG, "md5": names["md5"], "site_id": "1"},
    }
    document: dict[str, Any] = client.get("/openapi.json").json()
    found = {}
    for path, methods in document["paths"].items():
        if "get" not in methods or path.startswith(SKIPPED):
            continue
        address = path
        for name, value in values.items():
            address = address.replace(f"{{{name}}}", value)
        if "{" not in address:
            found[path] = address
    return found


def test_no_answer_speaks_of_1970(client: httpx.Client, paths: dict[str, str]) -> None:
    read, wrong = 0, {}
    for path, address in paths.items():
        answer = client.get(address, params={"rows": 100} if "search" not in path else None)
        if answer.status_code != 200 or "json" not in answer.headers.get("content-type", ""):
            continue
        read += 1
        text = json.dumps(answer.json())
        if "1970-01-01" in text:
            at = text.index("1970-01-01")
            wrong[path] = text[max(0, at - 60) : at + 20]
    assert wrong == {}
    assert read > 80


def test_an_added_file_is_there_at_once_and_nobody_saw_it(client: httpx.Client) -> None:
    content = os.urandom(600)
    added = client.post("/api/v1/binary/file", params={"name": "x.bin"}, content=content).json()
    for digest in (added["md5"], added["sha256"]):
        answer = client.get(f"/api/v1/binary/{digest}/summary")
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert (body["last_seen"], body["host_count"]) == (None, 0)
        assert (body["orig_mod_len"], body["copied_mod_len"]) == (600, 600)
        found = client.get("/api/v1/binary", params={"q": f"md5:{added['md5']}"}).json()
        assert found["total_results"] == 1
        assert client.get(f"/api/v1/binary/{digest}").status_code == 200
        assert client.get(f"/api/v1/binary/{digest}/icon").status_code == 200
        assert client.get(f"/api/v1/binary/{digest}/usage").status_code == 200


def test_a_file_that_was_read_keeps_what_was_read_when_it_is_added_again(
    client: httpx.Client,
) -> None:
    content = Path("/bin/true").read_bytes()
    added = client.post("/api/v1/binary/file", content=content).json()
    path = f"/api/v1/binary/{added['md5']}/summary"
    shown = wait_for(lambda: client.get(path).json().get("image_format"), "elf", 120)
    assert shown == "elf"
    before = client.get(path).json()
    client.post("/api/v1/binary/file", content=content)
    after = client.get(path).json()
    for one in (before, after):
        one.pop("server_added_timestamp"), one.pop("timestamp")
    assert after == before


def test_binaries_are_sorted_by_the_bytes_that_can_be_downloaded(client: httpx.Client) -> None:
    sizes = (70, 900, 410)
    for size in sizes:
        assert client.post("/api/v1/binary/file", content=os.urandom(size)).is_success

    def lengths(sort: str, **more: str) -> list[int]:
        asked = {"q": "", "rows": "50", "sort": sort, **more}
        answer = client.get("/api/v1/binary", params=asked)
        assert answer.status_code == 200, answer.text
        return [one["copied_mod_len"] for one in answer.json()["results"]]

    falling = lengths("copied_mod_len desc")
    assert falling == sorted(falling, reverse=True)
    assert set(sizes) < set(falling)
    assert 0 in falling
    assert lengths("copied_mod_len asc") == sorted(falling)
    assert lengths("copied_mod_len desc,md5 asc") == falling
    assert lengths("copied_mod_len desc", rows="2", start="1") == falling[1:3]
