"""Documents are fetched within bounds, from nowhere that the server must not reach."""

import gzip
import os
import socket
import time
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.support.code_signing import Identity, identity
from tests.support.feed_server import FeedServer, feed_server, redirect, send
from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Fetcher, FetchRules, Source
from vedette.notify.egress import EgressPolicy

BODY = b'{"reports": []}'
LOOPBACK = EgressPolicy.of(["127.0.0.1"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedServer]:
    with feed_server(tmp_path_factory.mktemp("feed-server")) as running:
        yield running


def rules(server: FeedServer, **changes: Any) -> FetchRules:
    members: dict[str, Any] = {
        "files": Path("/nonexistent"),
        "egress": LOOPBACK,
        "ca_file": server.certificate,
        "seconds_max": 20.0,
    }
    return FetchRules(**members | changes)


def fetched(source: Source, with_rules: FetchRules) -> bytes:
    with Fetcher(with_rules).open(source) as document:
        return b"".join(document.chunks)


def test_a_document_comes_over_https_with_its_certificate_checked(server: FeedServer) -> None:
    url = server.publish("/plain", BODY)
    assert fetched(Source(url), rules(server)) == BODY
    with pytest.raises(FeedUnreachableError, match="certificate verify failed"):
        fetched(Source(url), rules(server, ca_file=None))
    assert fetched(Source(url, is_checked=False), rules(server, ca_file=None)) == BODY


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:1/",
        "https://localhost:1/",
        "http://[::1]:1/",
        "http://[::ffff:127.0.0.1]:1/",
        "http://2130706433:1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0.0.0.0:1/",
    ],
)
def test_what_points_inside_is_refused(server: FeedServer, target: str) -> None:
    with pytest.raises(FeedUnreachableError, match="egress_allow"):
        fetched(Source(target), rules(server, egress=EgressPolicy()))


@pytest.mark.parametrize(
    "target", ["https://169.254.169.254/", "https://[::1]:1/", "file:///etc/passwd", "ftp://a/b"]
)
def test_a_redirect_is_checked_like_the_first_url(server: FeedServer, target: str) -> None:
    url = server.answer("/away", redirect(target))
    with pytest.raises(FeedUnreachableError):
        fetched(Source(url), rules(server))


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "file:/etc/passwd",
        "FILE:///etc/passwd",
        "file:",
        "ftp://a/b",
        "gopher://a/",
        "unix:/run/x",
        "data:,x",
        "javascript:1",
        "http://[::1",
        "http://a:b/",
        "http://a:99999/",
        "http://xn--/",
        "http:\\\\a",
        "?" + "a" * 70_000,
        "\xff\xfe",
        "",
    ],
)
def test_a_redirect_leads_to_http_or_is_an_error_of_the_feed(tmp_path: Path, target: str) -> None:
    with feed_server(tmp_path, tls=False) as plain:
        url = plain.answer("/away", redirect(target))
        with pytest.raises(FeedUnreachableError):
            fetched(Source(url), FetchRules(Path("/"), LOOPBACK, seconds_max=20.0))


def test_a_redirect_may_not_leave_tls_and_does_not_go_on_for_ever(server: FeedServer) -> None:
    url = server.answer("/plainly", redirect("http://127.0.0.1:1/"))
    with pytest.raises(FeedUnreachableError, match="without TLS"):
        fetched(Source(url), rules(server))
    url = server.answer("/circle", redirect("/circle"))
    with pytest.raises(FeedUnreachableError, match="redirects"):
        fetched(Source(url), rules(server))


def test_a_redirect_to_another_server_gets_no_credentials(
    server: FeedServer, tmp_path: Path
) -> None:
    with feed_server(tmp_path, tls=False) as other:
        other.answers["/begin"] = redirect(f"{server.publish('/end', BODY)}")
        source = Source(f"{other.url}/begin", username="ann", password="secret")
        assert fetched(source, rules(server)) == BODY
        headers = other.asked[-1][1]
        assert b64decode(headers["authorization"].split()[1]) == b"ann:secret"
        assert "authorization" not in server.asked[-1][1]


def test_a_name_that_resolves_otherwise_the_second_time_gains_nothing(
    server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.publish("/rebound", BODY)
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    answers = iter(["192.0.2.1", "127.0.0.1", "127.0.0.1"])
    real = socket.getaddrinfo

    def rebinding(host: Any, *arguments: Any, **named: Any) -> Any:
        if host != "rebinding.example":
            return real(host, *arguments, **named)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr("vedette.feeds.fetch.FEED_CONNECT_S", 0.3)
    monkeypatch.setattr(
        "vedette.feeds.fetch._TIMEOUT", {"connect": 0.3, "read": 1, "write": 1, "pool": 1}
    )
    source = Source(f"https://rebinding.example:{port}/rebound")
    with pytest.raises(FeedUnreachableError):
        fetched(source, rules(server, egress=EgressPolicy()))
    assert next(answers) == "127.0.0.1", "it was resolved once"
    with pytest.raises(FeedUnreachableError, match="egress_allow"):
        fetched(source, rules(server, egress=EgressPolicy()))


def endless(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(10 * 2**30))
    request.end_headers()
    piece = b'{"id": "x"},' * 5000
    while True:
        request.wfile.write(piece)


def test_ten_gigabytes_are_given_up_at_the_bound(server: FeedServer) -> None:
    url = server.answer("/endless", endless)
    with Fetcher(rules(server, bytes_max=3_000_000)).open(Source(url)) as document:
        chunks = document.chunks
        size = sum(map(len, islice(chunks, 40)))
        assert size <= 3_000_000
        with pytest.raises(FeedUnreachableError, match="feed_bytes_max"):
            list(chunks)


def test_a_bomb_of_compression_is_given_up_at_the_bound(server: FeedServer) -> None:
    bomb = gzip.compress(bytes(64 * 2**20))

    def compressed(request: BaseHTTPRequestHandler) -> None:
        send(request, bomb, Content_Encoding="gzip")

    url = server.answer("/bomb", compressed)
    with pytest.raises(FeedUnreachableError, match="feed_bytes_max"):
        fetched(Source(url), rules(server, bytes_max=1_000_000))
    plain = server.answer(
        "/gzip", lambda request: send(request, gzip.compress(BODY), Content_Encoding="gzip")
    )
    assert fetched(Source(plain), rules(server)) == BODY


def drip(request: BaseHTTPRequestHandler) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(1000):
        request.wfile.write(bytes([byte]))
        time.sleep(0.05)


def test_a_server_that_speaks_slowly_is_given_up_in_time(server: FeedServer) -> None:
    url = server.answer("/drip", drip)
    began = time.monotonic()
    with pytest.raises(FeedUnreachableError, match=r"too long|timed out"):
        fetched(Source(url), rules(server, seconds_max=1.0))
    assert time.monotonic() - began < 3


def breaking(request: BaseHTTPRequestHandler) -> None:
    """Breaks off in the middle, and serves the rest on demand."""
    whole = BODY * 1000
    wanted = request.headers.get("Range")
    start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
    if wanted:
        assert request.headers["If-Range"] == '"v1"'
        request.send_response(206)
        request.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
    else:
        request.send_response(200)
    request.send_header("ETag", '"v1"')
    request.send_header("Content-Length", str(len(whole) - start))
    request.end_headers()
    request.wfile.write(whole[start : start + 6000])
    request.wfile.flush()
    request.connection.shutdown(socket.SHUT_RDWR)


def test_a_broken_transfer_is_resumed_where_it_ended(server: FeedServer) -> None:
    url = server.answer("/breaks", breaking)
    assert fetched(Source(url), rules(server)) == BODY * 1000


def test_a_document_that_did_not_change_is_not_sent_again(server: FeedServer) -> None:
    def versioned(request: BaseHTTPRequestHandler) -> None:
        same = request.headers.get("If-None-Match") == '"v7"'
        send(request, b"" if same else BODY, status=304 if same else 200, ETag='"v7"')

    url = server.answer("/versioned", versioned)
    fetcher = Fetcher(rules(server))
    with fetcher.open(Source(url)) as document:
        assert (document.etag, document.is_unchanged) == ('"v7"', False)
    with fetcher.open(Source(url), etag='"v7"') as document:
        assert document.is_unchanged
        assert list(document.chunks) == []


def test_files_are_confined_to_one_directory(server: FeedServer, tmp_path: Path) -> None:
    root, outside = tmp_path / "feeds", tmp_path / "secret.json"
    (root / "inner").mkdir(parents=True)
    outside.write_bytes(b"secret")
    (root / "inner" / "feed.json").write_bytes(BODY)
    (root / "link.json").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    within = rules(server, files=root)
    assert fetched(Source((root / "inner" / "feed.json").as_uri()), within) == BODY
    for name in (
        f"{root}/../secret.json",
        f"{root}/%2e%2e/secret.json",
        f"{root}/link.json",
        f"{root}/folder/secret.json",
        f"{root}/pipe",
        f"{root}/inner",
        f"{root}",
        f"{root}/missing",
        f"{root}/a%00b",
        "/etc/passwd",
    ):
        with pytest.raises(FeedUnreachableError):
            fetched(Source(f"file://{name}"), within)
    with pytest.raises(FeedUnreachableError):
        fetched(Source(f"file://elsewhere{root}/inner/feed.json"), within)


def test_an_answer_that_is_none_says_so(server: FeedServer) -> None:
    with pytest.raises(FeedUnreachableError, match="404"):
        fetched(Source(server.url + "/nothing"), rules(server))
    with pytest.raises(FeedUnreachableError, match="ssl_client_crt"):
        fetched(
            Source(server.publish("/plain", BODY), certificate="no PEM", key="none"),
            rules(server),
        )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return identity(tmp_path_factory.mktemp("authority"), "Readers")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, authority: Identity) -> Iterator[FeedServer]:
    """A server that asks who its readers are."""
    folder = tmp_path_factory.mktemp("closed")
    with feed_server(folder, clients_of=authority.chain) as running:
        running.publish("/plain", BODY)
        yield running


def as_reader(url: str, who: Identity, **more: Any) -> Source:
    return Source(url, certificate=who.chain.read_text(), key=who.key_file.read_text(), **more)


def test_a_publisher_that_asks_for_a_certificate_gets_that_of_the_feed(
    closed: FeedServer, authority: Identity, tmp_path: Path
) -> None:
    client = ExtendedKeyUsageOID.CLIENT_AUTH
    known = identity(tmp_path, "known", authority, usage=client)
    url = f"{closed.url}/plain"
    assert fetched(as_reader(url, known), rules(closed)) == BODY
    expired = identity(tmp_path, "expired", authority, usage=client, days=(-10, -1))
    for stranger in (
        Source(url),
        as_reader(url, identity(tmp_path, "stranger", usage=client)),
        as_reader(url, expired),
    ):
        asked = len(closed.asked)
        with pytest.raises(FeedUnreachableError):
            fetched(stranger, rules(closed))
        assert len(closed.asked) == asked
    mixed = Source(url, certificate=known.chain.read_text(), key=expired.key_file.read_text())
    with pytest.raises(FeedUnreachableError, match="ssl_client_crt") as refused:
        fetched(mixed, rules(closed))
    assert "PRIVATE KEY" not in str(refused.value)


def test_a_redirect_to_another_server_gets_no_certificate(
    closed: FeedServer, authority: Identity, tmp_path: Path
) -> None:
    known = identity(tmp_path, "known", authority, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    with feed_server(tmp_path, tls=False) as other:
        other.answers["/begin"] = redirect(f"{closed.url}/plain")
        asked = len(closed.asked)
        with pytest.raises(FeedUnreachableError):
            fetched(as_reader(f"{other.url}/begin", known), rules(closed))
        assert len(closed.asked) == asked
