"""HEAD, trailing slashes and compression: the forms in which clients send and read the same."""

import gzip
import json
import re
import zlib

import httpx
import pytest
import zstandard

from tests.support.raw_stream import answer_to
from tests.support.served import Server
from vedette import limits
from vedette.web.app import ROUTERS

GETS = sorted(
    {
        re.sub(r"\{[^}]*\}", "1", getattr(route, "path", ""))
        for router in ROUTERS
        for route in router.routes
        if "GET" in getattr(route, "methods", ()) and getattr(route, "path", "") != "/{index}"
    }
)
"""Every path that GET reads, each parameter with the value 1."""


def test_head_is_answered_on_every_path_that_get_reads(server: Server) -> None:
    wrong = {}
    with server.analyst() as client:
        for path in GETS:
            read, headed = client.get(path), client.head(path)
            same = (read.status_code, read.headers.get("content-type"))
            if (headed.status_code, headed.headers.get("content-type")) != same or headed.content:
                wrong[path] = (read.status_code, headed.status_code)
    assert wrong == {}


def test_head_announces_the_length_of_the_answer(analyst: httpx.Client) -> None:
    for path in ("/healthz", "/openapi.json", "/api/v1/fields", "/ui/sign-in"):
        read, headed = analyst.get(path), analyst.head(path)
        assert headed.headers["content-length"] == read.headers["content-length"], path


def test_head_needs_what_get_needs(server: Server) -> None:
    with server.client() as nobody:
        assert nobody.head("/healthz").status_code == 200
        assert nobody.head("/api/v1/process").status_code == 401
    with server.client(**{"X-Auth-Token": server.ingest_token}) as sender:
        assert sender.head("/api/v1/process").status_code == 403


def test_head_still_finds_every_index_for_senders(sender: httpx.Client) -> None:
    assert sender.head("/filebeat-1").status_code == 200
    assert sender.get("/filebeat-1").status_code == 404


def test_a_body_never_follows_the_answer_to_head(server: Server) -> None:
    sent = b"HEAD %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    for path in (b"/healthz", b"/openapi.json", b"/ui/sign-in", b"/no/such/path"):
        assert answer_to(server, sent % path).partition(b"\r\n\r\n")[2] == b""


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("HEAD", "/healthz", 200),
        ("GET", "/api/info", 200),
        ("GET", "/api/v1/process", 200),
        ("POST", "/api/v1/process", 200),
        ("GET", "/api/v1/sensor", 200),
        ("GET", "/api/v1/binary/" + "0" * 32 + "/summary", 404),
        ("GET", "/api/group", 200),
    ],
)
def test_a_trailing_slash_is_ignored(
    analyst: httpx.Client, method: str, path: str, status: int
) -> None:
    sent = {"json": {"rows": 0}} if method == "POST" else {}
    for one in (path, path + "/"):
        answer = analyst.request(method, one, **sent)  # type: ignore[arg-type]
        assert (answer.status_code, answer.is_redirect) == (status, False)


def test_a_body_is_read_behind_a_trailing_slash(sender: httpx.Client) -> None:
    answer = sender.post("/api/v1/ingest/", json=[{"nothing": "known"}])
    assert answer.json()["rejected"] == 1
    lines = b'{"create":{}}\n{"nothing":"known"}\n'
    headers = {"Content-Type": "application/x-ndjson"}
    assert len(sender.post("/_bulk/", content=lines, headers=headers).json()["items"]) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/v1/sensor/"),
        ("PUT", "/api/v1/sigma/"),
        ("POST", "/api/v2/alert/"),
        ("DELETE", "/api/v1/session/"),
    ],
)
def test_an_empty_id_of_one_object_does_not_become_all_objects(
    analyst: httpx.Client, method: str, path: str
) -> None:
    assert analyst.request(method, path, json={}).status_code in (404, 405)


def test_an_encoded_slash_at_the_end_belongs_to_the_name(analyst: httpx.Client) -> None:
    assert analyst.get("/api/v1/process%2F").status_code == 404


def read(client: httpx.Client, path: str, encoding: str, **headers: str) -> httpx.Response:
    return client.get(path, headers={"Accept-Encoding": encoding, **headers})


@pytest.mark.parametrize(
    ("encoding", "is_compressed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5, br", True),
        ("*", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, identity", False),
        ("x-gzip", False),
        ("", False),
    ],
)
def test_a_large_json_answer_is_compressed_for_who_accepts_it(
    analyst: httpx.Client, encoding: str, is_compressed: bool
) -> None:
    plain = read(analyst, "/openapi.json", "identity")
    answer = read(analyst, "/openapi.json", encoding)
    assert (answer.headers.get("content-encoding") == "gzip") is is_compressed
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.content == plain.content
    assert (int(answer.headers["content-length"]) < len(plain.content) // 2) is is_compressed


def test_small_answers_and_other_types_are_not_compressed(analyst: httpx.Client) -> None:
    for path in ("/healthz", "/api/info", "/metrics", "/ui/sign-in"):
        assert "content-encoding" not in read(analyst, path, "gzip").headers


def test_a_large_page_is_compressed_for_who_accepts_it(analyst: httpx.Client) -> None:
    plain, answer = (read(analyst, "/ui/settings", one) for one in ("identity", "gzip"))
    assert "content-encoding" not in plain.headers
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(answer.content) // 2
    for page in (plain, answer):
        assert {"Accept-Encoding", "Cookie"} <= set(page.headers["vary"].split(", "))
        assert "etag" not in page.headers


@pytest.fixture(
    params=["/docs", "/docs/rapidoc-min.js", "app.js", "console.css", "icons.svg"],
    ids=lambda path: path,
)
def static_path(request: pytest.FixtureRequest, analyst: httpx.Client) -> str:
    """Where a static file is served."""
    if request.param.startswith("/"):
        return request.param
    folder = re.search(r"/ui/static/[0-9a-f]+/", analyst.get("/ui/me").text)
    return f"{folder[0]}{request.param}"


def test_a_static_file_is_compressed_for_every_client_that_accepts_it(
    analyst: httpx.Client, static_path: str
) -> None:
    other_site = {"Cookie": "a=b", "Sec-Fetch-Site": "cross-site"}
    plain = read(analyst, static_path, "identity")
    answer = read(analyst, static_path, "br, gzip", **other_site)
    assert "content-encoding" not in plain.headers
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.content == plain.content
    assert int(answer.headers["content-length"]) < len(plain.content)
    assert answer.headers["content-type"] == plain.headers["content-type"]
    assert {one.headers["vary"] for one in (plain, answer)} == {"Accept-Encoding"}


def test_a_static_file_that_a_client_has_is_not_sent_again(
    analyst: httpx.Client, static_path: str
) -> None:
    tags = {one: read(analyst, static_path, one).headers["etag"] for one in ("identity", "gzip")}
    assert tags["identity"] != tags["gzip"]
    for encoding, tag in tags.items():
        for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            answer = read(analyst, static_path, encoding, **{"If-None-Match": sent})
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["etag"] == tag
            assert "content-length" not in answer.headers
        for sent in ('"other"', ""):
            answer = read(analyst, static_path, encoding, **{"If-None-Match": sent})
            assert answer.status_code == 200


def test_head_of_a_compressed_answer_has_its_length(analyst: httpx.Client) -> None:
    headers = {"Accept-Encoding": "gzip"}
    headed = analyst.head("/openapi.json", headers=headers)
    assert headed.headers["content-encoding"] == "gzip"
    answer = analyst.get("/openapi.json", headers=headers)
    assert headed.headers["content-length"] == answer.headers["content-length"]


def test_an_answer_that_another_site_asks_for_with_a_cookie_is_not_compressed(
    analyst: httpx.Client,
) -> None:
    cookie = {"Cookie": "anything=1"}
    for site, is_compressed in (("same-origin", True), ("same-site", False), ("cross-site", False)):
        answer = read(analyst, "/openapi.json", "gzip", **cookie, **{"Sec-Fetch-Site": site})
        assert ("content-encoding" in answer.headers) is is_compressed
    assert "content-encoding" not in read(analyst, "/openapi.json", "gzip", **cookie).headers


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd", "GZIP"])
def test_a_json_body_may_be_compressed(analyst: httpx.Client, encoding: str) -> None:
    body = json.dumps({"q": ["process_name:nothing.exe"], "rows": 0}).encode()
    content = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.ZstdCompressor().compress,
    }[encoding.lower()](body)
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    answer = analyst.post("/api/v1/process", content=content, headers=headers)
    assert (answer.status_code, answer.json()["total_results"]) == (200, 0)


BOMB = gzip.compress(b" " * (64 << 20), 9)

JSON_PATHS = (
    "/api/v1/process",
    "/api/v1/alerts",
    "/api/v1/watchlist",
    "/api/group",
    "/api/v1/sigma",
)


@pytest.mark.parametrize("path", JSON_PATHS)
def test_a_bomb_in_a_json_body_is_413(analyst: httpx.Client, path: str) -> None:
    assert len(BOMB) < limits.REQUEST_BODY_BYTES_MAX
    for bomb in (BOMB, gzip.compress(b" " * (limits.REQUEST_BODY_BYTES_MAX + 1), 9)):
        answer = analyst.post(path, content=bomb, headers={"Content-Encoding": "gzip"})
        assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")
    within = gzip.compress(b" " * limits.REQUEST_BODY_BYTES_MAX, 9)
    answer = analyst.post(path, content=within, headers={"Content-Encoding": "gzip"})
    assert answer.status_code != 413


@pytest.mark.parametrize(
    ("content", "encoding", "reason"),
    [
        (b"{}", "gzip", "bad_compression"),
        (gzip.compress(b'{"rows": 0}')[:-4], "gzip", "bad_compression"),
        (b"{}", "br", "bad_encoding"),
        (gzip.compress(gzip.compress(b"{}")), "gzip, gzip", "bad_encoding"),
    ],
    ids=["damaged", "truncated", "unknown", "twice"],
)
def test_a_body_that_cannot_be_inflated_is_400(
    analyst: httpx.Client, content: bytes, encoding: str, reason: str
) -> None:
    headers = {"Content-Encoding": encoding}
    answer = analyst.post("/api/v1/process", content=content, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (400, reason)
