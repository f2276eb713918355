"""Health, metrics, the description of the API, and the page that shows it."""

import hashlib
import re
from pathlib import Path

import httpx
import pytest

from tests.support.served import Server
from vedette.web.server import docs_routes


def test_the_server_lives_and_is_ready(server: Server) -> None:
    with server.client() as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        ready = client.get("/readyz")
    assert ready.json() == {
        "ready": True,
        "checks": {
            "intake": "ok",
            "store": "ok",
            "state": "ok",
            "disk": "ok",
            "clock": "ok",
            "parts": "ok",
        },
    }


def test_metrics_count_requests_by_the_template_of_their_route(analyst: httpx.Client) -> None:
    analyst.get("/api/v1/process/00000001-0000-0000-0000-000000000000/1")
    text = analyst.get("/metrics").text
    wanted = (
        'vedette_http_requests_total{method="GET",'
        'route="/api/v1/process/{process_id}/{segment_id}",status="404"}'
    )
    assert wanted in text
    assert "vedette_http_request_seconds_bucket" in text


def test_info_has_what_clients_need_to_start(analyst: httpx.Client) -> None:
    body = analyst.get("/api/info").json()
    assert re.fullmatch(r"\d+(\.\d+)+", body["version"])
    assert (body["cblrEnabled"], body["banningEnabled"]) == (False, True)


def test_a_browser_at_the_root_is_sent_to_the_pages(server: Server) -> None:
    with server.client(Accept="text/html,application/xhtml+xml") as client:
        answer = client.get("/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")


def test_the_docs_page_needs_nothing_from_elsewhere(server: Server) -> None:
    with server.client() as client:
        for name in ("", "/docs.css", "/rapidoc-min.js"):
            answer = client.get(f"/docs{name}")
            assert answer.status_code == 200
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            if name != "/rapidoc-min.js":
                assert not re.search(r"https?://|<script>|\son\w+=|\sstyle=", answer.text)


def test_vendored_files_are_those_that_their_list_names() -> None:
    folder = Path(docs_routes.__file__).parent / "viewer"
    listed = re.findall(
        r"\| `([^`]+)` \| `([0-9a-f]{64})` \|", (folder / "VENDORED.md").read_text()
    )
    own = {"docs.html", "docs.css", "VENDORED.md"}
    assert {name for name, _ in listed} == {one.name for one in folder.iterdir()} - own
    for name, sha256 in listed:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize("name", ["docs.py", "..%2Fapp.py", "nothing.js"])
def test_no_other_file_is_served(server: Server, name: str) -> None:
    with server.client() as client:
        assert client.get(f"/docs/{name}").status_code == 404


def test_the_description_is_openapi_3_1(server: Server) -> None:
    with server.client() as client:
        body = client.get("/openapi.json").json()
    assert body["openapi"].startswith("3.1")
    assert "/api/v1/process" in body["paths"]
    assert "422" not in str(body["paths"])


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("DELETE", "/api/v1/process", 405, "method_not_allowed"),
        ("PATCH", "/_bulk", 405, "method_not_allowed"),
    ],
)
def test_unknown_paths_and_methods_are_answered_in_json(
    analyst: httpx.Client, method: str, path: str, status: int, reason: str
) -> None:
    answer = analyst.request(method, path)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


def test_every_answer_carries_a_request_id_and_is_not_stored(analyst: httpx.Client) -> None:
    answer = analyst.get("/api/info")
    assert answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
