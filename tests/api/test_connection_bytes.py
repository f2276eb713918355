"""Every byte that a connection may send: each part of a request that never ends is cut off after a
fixed number of bytes, fields after the head are refused, and framing has one meaning."""

import json
from collections.abc import Iterator

import pytest

from tests.support.raw_stream import (
    answer_to,
    plain_stream,
    raw_stream,
    rest_of,
    statuses_of,
    taken_of,
)
from tests.support.served import Server, hire, start_server, state_of, wait_for
from vedette import limits
from vedette.bootstrap.acceptor import PLAIN_IGNORED_BYTES_MAX
from vedette.model.principal import Role
from vedette.state.accounts.sign_in import SIGN_INS_OF_ADDRESS_MAX
from vedette.state.policy import approved_addresses

MIB = 1 << 20
BYTES_MAX = 48 * MIB
"""The largest number of bytes that an endless part sends; the second run sends twice as many."""

SLACK_BYTES = 24 * MIB
"""Buffers of both sides, and what the server reads before it notices a limit under load."""

CHUNKED = b"POST /osquery/config HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
BODY_4_MIB = b"%x\r\n%s\r\n" % (4 * MIB, b"{" * (4 * MIB))
FINAL = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
ANNOUNCED = b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: 9999999999\r\n\r\n"

ENDLESS = {
    "request line": (b"GET /", b"a"),
    "empty lines before a request": (b"", b"\r\n"),
    "empty lines after a request": (b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", b"\r\n"),
    "header name": (b"GET / HTTP/1.1\r\n", b"a"),
    "header value": (b"GET / HTTP/1.1\r\na: ", b"a"),
    "header lines": (b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
    "chunk size": (CHUNKED, b"0"),
    "chunk extension": (CHUNKED + b"1;", b"a"),
    "chunk extensions": (CHUNKED, b"1;" + b"a" * 4_096 + b"\r\nx\r\n"),
    "chunks of one byte": (CHUNKED, b"1\r\nx\r\n"),
    "trailer name": (CHUNKED + b"0\r\n", b"a"),
    "trailer value": (CHUNKED + b"0\r\na: ", b"a"),
    "trailer fields": (CHUNKED + b"0\r\n", b"a: b\r\n"),
    "trailer after a body": (CHUNKED + BODY_4_MIB + b"0\r\na: ", b"a"),
    "body after 401": (ANNOUNCED % b"/api/v1/ingest", b"{"),
    "body after 404": (ANNOUNCED % b"/no/where/at/all", b"{"),
    "body after 413": (ANNOUNCED % b"/sensor/v1/enrol", b"{"),
    "chunks after 401": (
        CHUNKED.replace(b"/osquery/config", b"/_bulk"),
        b"400\r\n%b\r\n" % bytes(1024),
    ),
    "data after the last request": (FINAL, b"a"),
    "requests after the last one": (FINAL, FINAL),
    "data after a refusal": (b"GET\r\n\r\n", b"a"),
    "pipelined requests": (b"", b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n"),
    "data after an upgrade": (
        b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"\x81\xfe",
    ),
}


@pytest.mark.parametrize("part", ENDLESS)
def test_a_part_that_never_ends_is_cut_off_after_the_same_bytes_and_work(
    server: Server, part: str
) -> None:
    begin, filler = ENDLESS[part]
    once = taken_of(server, begin, filler, BYTES_MAX)
    twice = taken_of(server, begin, filler, 2 * BYTES_MAX)
    assert once.is_closed
    assert twice.is_closed
    bound = limits.IGNORED_AFTER_ANSWER_BYTES_MAX + SLACK_BYTES
    assert max(once.byte_count, twice.byte_count) < bound
    assert twice.cpu_s < 2 * once.cpu_s + 2
    with server.client() as client:
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("begin", "filler"),
    [
        (b"GET / HTTP/1.1\r\n", b"a"),
        (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
        (b"", b"\x16\x03\x01\x40\x00" + bytes(16_384)),
        (b"", b"\x16\x03\x01\x00\x00"),
    ],
)
def test_what_is_no_tls_is_cut_off_too(server: Server, begin: bytes, filler: bytes) -> None:
    taken = taken_of(server, begin, filler, BYTES_MAX, plain_stream)
    assert taken.is_closed
    assert taken.byte_count < PLAIN_IGNORED_BYTES_MAX + SLACK_BYTES
    assert taken.cpu_s < 2


TRAILED = (
    b"POST /osquery/config HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    b"2\r\n{}\r\n0\r\n%s\r\n\r\n"
)


@pytest.mark.parametrize(
    "field", [b"x-checksum: 1", b"content-length: 5", b"x-auth-token: 1", b"transfer-encoding: a"]
)
def test_a_trailer_field_is_400_and_ends_the_connection(server: Server, field: bytes) -> None:
    answer = answer_to(server, TRAILED % field + FINAL)
    assert statuses_of(answer) == [400]
    assert b"connection: close" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["reason"] == "bad_request"


def test_a_trailer_that_comes_later_is_400_too(server: Server) -> None:
    head, _, trailer = (TRAILED % b"x-checksum: 1").partition(b"0\r\n")
    with raw_stream(server) as stream:
        stream.sendall(head)
        stream.sendall(b"0\r\n" + trailer)
        assert statuses_of(rest_of(stream)) in ([400], [401])


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    flags = ("--set", "trusted_proxies=127.0.0.1")
    yield from start_server(tmp_path_factory.mktemp("trailers"), *flags)


def chunked(method: str, path: str, body: bytes, trailer: str, **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n{lines}\r\n"
    chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return head.encode() + chunk + f"0\r\n{trailer}\r\n\r\n".encode()


def test_a_trailer_does_not_say_where_a_caller_comes_from(proxied: Server) -> None:
    token = hire(proxied, "remote", {1: Role.VIEWER})
    with proxied.analyst() as admin:
        added = admin.post("/api/v1/approvedlist/entries", json={"ipaddr": "192.0.2.1"})
        assert added.status_code == 200, added.text
        with state_of(proxied) as database:
            approved_addresses.enable(database, True)
        forwarded = {"x_auth_token": token, "x_forwarded_for": "203.0.113.9"}
        plain = chunked("GET", "/api/v1/process", b"", "", **forwarded)[:-2]
        trailed = chunked("GET", "/api/v1/process", b"", "X-Forwarded-For: 192.0.2.1", **forwarded)
        try:
            seen = wait_for(lambda: statuses_of(answer_to(proxied, plain, FINAL)), [403, 200], 30)
            assert seen == [403, 200]
            assert statuses_of(answer_to(proxied, trailed)) in ([400], [403])
        finally:
            with state_of(proxied) as database:
                approved_addresses.enable(database, False)


def test_a_trailer_does_not_say_who_a_caller_is(proxied: Server) -> None:
    sent = chunked("GET", "/api/info", b"", f"X-Auth-Token: {proxied.token}", x_auth_token="0" * 40)
    assert statuses_of(answer_to(proxied, sent)) in ([400], [401])
    sent = chunked("GET", "/api/info", b"", f"X-Auth-Token: {proxied.token}")
    assert statuses_of(answer_to(proxied, sent)) in ([400], [401])


def test_trailers_do_not_lift_the_limit_of_sign_ins(proxied: Server) -> None:
    body = json.dumps({"username": "nobody", "password": "guess"}).encode()
    headers = {"content_type": "application/json", "origin": proxied.url}
    trailed = [
        chunked("POST", "/api/v1/session", body, f"X-Forwarded-For: 198.51.100.{n}", **headers)
        for n in range(SIGN_INS_OF_ADDRESS_MAX + 5)
    ]
    assert {tuple(statuses_of(answer_to(proxied, one))) for one in trailed} == {(400,)}


FRAMED = {
    "two lengths": (b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}", 400),
    "two lengths in one field": (b"content-length: 2, 2\r\n\r\n{}", 400),
    "a signed length": (b"content-length: +2\r\n\r\n{}", 400),
    "a length and chunks": (
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks and a length": (
        b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks twice": (b"transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "another coding": (b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
    "two codings": (b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
    "a folded field": (b"x: a\r\n b\r\ncontent-length: 2\r\n\r\n{}", 400),
    "a space before the colon": (b"x : a\r\ncontent-length: 2\r\n\r\n{}", 400),
    "a bare line feed": (b"x: a\ncontent-length: 2\r\n\r\n{}", 400),
    "a bare carriage return": (b"x: a\rcontent-length: 2\r\n\r\n{}", 400),
    "a NUL": (b"x: a\0b\r\ncontent-length: 2\r\n\r\n{}", 400),
    "bare line feeds in chunks": (b"transfer-encoding: chunked\r\n\r\n2\n{}\n0\n\n", 400),
    "a chunk that is too long": (b"transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk size that overflows": (
        b"transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}",
        400,
    ),
}


@pytest.mark.parametrize("case", FRAMED)
def test_a_request_with_two_meanings_is_refused_and_nothing_after_it_is_served(
    server: Server, case: str
) -> None:
    fields, status = FRAMED[case]
    sent = b"POST /osquery/config HTTP/1.1\r\nhost: x\r\n" + fields + FINAL
    answer = answer_to(server, sent)
    assert statuses_of(answer) == [status]
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["message"]


@pytest.mark.parametrize(
    ("line", "fields", "status"),
    [
        (b"POST /osquery/config HTTP/1.0", b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET /healthz HTTP/2.0", b"\r\n", 400),
        (b"GET /healthz HTTP/0.9", b"\r\n", 400),
        (b"GET /healthz HTTP/1.2", b"\r\n", 400),
        (b"CONNECT x:1 HTTP/1.1", b"\r\n", 400),
    ],
)
def test_another_version_or_form_of_http_is_refused(
    server: Server, line: bytes, fields: bytes, status: int
) -> None:
    sent = line + b"\r\nhost: x\r\n" + fields + FINAL
    assert statuses_of(answer_to(server, sent)) == [status]


def test_an_upgrade_is_ignored_and_the_next_request_served(server: Server) -> None:
    for protocol in (b"websocket", b"h2c"):
        fields = b"host: x\r\nconnection: upgrade\r\nupgrade: %s\r\n\r\n" % protocol
        upgrade = b"GET /healthz HTTP/1.1\r\n" + fields
        assert statuses_of(answer_to(server, upgrade + FINAL)) == [200, 200]
        assert statuses_of(answer_to(server, upgrade, FINAL)) == [200, 200]


@pytest.mark.parametrize("body", [b"content-length: %d\r\n\r\n%s", b"transfer-encoding: chunked"])
def test_the_body_of_an_upgrade_is_not_the_next_request(server: Server, body: bytes) -> None:
    head = b"POST /osquery/config HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n"
    if b"%d" in body:
        rest = body % (len(FINAL), FINAL)
    else:
        rest = body + b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(FINAL), FINAL)
    assert statuses_of(answer_to(server, head + rest)) == [400]
    assert statuses_of(answer_to(server, head, rest)) == [400]


def test_a_body_that_waits_for_100_is_asked_for_only_where_it_is_read(server: Server) -> None:
    head = b"POST %s HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    answer = answer_to(server, head % b"/nowhere")
    assert statuses_of(answer) == [405]
    assert b"connection: close" in answer  # the body may follow or not
    with raw_stream(server) as stream:
        stream.sendall(head % b"/osquery/config")
        assert statuses_of(stream.recv(4_096)) == [100]
        stream.sendall(b"{}" + FINAL)
        assert statuses_of(rest_of(stream)) == [200, 200]
    old = b"POST /osquery/config HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}"
    assert statuses_of(answer_to(server, old))[:1] != [100]


def test_a_small_body_after_its_answer_leaves_the_connection_open(server: Server) -> None:
    sent = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n\r\n"
    with raw_stream(server) as stream:
        stream.sendall(sent)
        assert b"connection: close" not in stream.recv(4_096)
        stream.sendall(bytes(20_000) + FINAL)
        assert statuses_of(rest_of(stream)) == [200]


def test_an_answer_before_a_large_body_is_read_by_who_sends_it_all_first(server: Server) -> None:
    sent = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (12 * MIB)
    answer = answer_to(server, sent, bytes(12 * MIB))
    assert statuses_of(answer) == [405]
    assert b"connection: close" in answer


def test_chunks_of_a_few_bytes_are_a_body_like_any_other(server: Server) -> None:
    pieces = b"".join(
        b"%x\r\n%s\r\n" % (len(one), one) for one in (b'{"node_key": ', b'"1:x"', b"}")
    )
    sent = CHUNKED + pieces + b"0\r\n\r\n" + FINAL
    assert statuses_of(answer_to(server, sent)) == [200, 200]
