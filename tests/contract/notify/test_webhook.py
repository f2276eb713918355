"""Webhooks to real HTTP and HTTPS servers: signed, guarded, never redirected."""

import base64
import hashlib
import hmac
import json
import socket
import time
from pathlib import Path

import pytest

from tests.support.receivers import (
    HttpReceiver,
    hanging_server,
    http_receiver,
    make_certificate,
    tcp_receiver,
)
from vedette.clock import DrivenClock
from vedette.errors import BadRequestError
from vedette.notify import http_post
from vedette.notify.app_control import AppControlSender, AppControlServer
from vedette.notify.delivery import Envelope, RefusedError, TargetError, UnwantedError
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules, checked_url
from vedette.notify.notice import Notice
from vedette.notify.webhook import Receiver, WebhookSender

NOW_US = 1_700_000_000_000_000
HERE = EgressPolicy.of(["127.0.0.1", "::1"])
ENVELOPE = Envelope(1, "d1:7", Notice(id="d1", title="Mimikatz", hostname="pc", severity=90), 7)


def sender(receiver: Receiver | None, rules: PostRules | None = None) -> WebhookSender:
    return WebhookSender(lambda _: receiver, rules or PostRules(HERE), DrivenClock(NOW_US))


def test_a_post_is_signed_as_standard_webhooks_says() -> None:
    key = b"0123456789abcdef01234567"
    secret = "whsec_" + base64.b64encode(key).decode()
    with http_receiver() as got:
        assert sender(Receiver(got.url, secret=secret)).send([ENVELOPE, ENVELOPE]) == 1
    (post,) = got.posts
    assert post.path == "/hook?key=1"
    assert post.headers["webhook-id"] == "d1:7"
    assert post.headers["webhook-timestamp"] == "1700000000"
    signed = b"d1:7.1700000000." + post.body
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert post.headers["webhook-signature"] == f"v1,{wanted}"
    assert json.loads(post.body)["title"] == "Mimikatz"


def test_a_plain_secret_and_an_authorization_are_used_as_they_are() -> None:
    with http_receiver() as got:
        sender(Receiver(got.url, secret="plain", authorization="Bearer t")).send([ENVELOPE])
    (post,) = got.posts
    digest = hmac.new(b"plain", b"d1:7.1700000000." + post.body, hashlib.sha256).digest()
    assert post.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    assert post.headers["Authorization"] == "Bearer t"


def test_a_receiver_over_https_is_checked(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with http_receiver(certificate) as got:
        with pytest.raises(TargetError, match="certificate"):
            sender(Receiver(got.url)).send([ENVELOPE])
        assert sender(Receiver(got.url), PostRules(HERE, certificate)).send([ENVELOPE]) == 1
    assert len(got.posts) == 1


def test_addresses_of_the_inside_are_not_connected_to() -> None:
    with http_receiver() as got, pytest.raises(TargetError, match="egress_allow"):
        sender(Receiver(got.url), PostRules(EgressPolicy())).send([ENVELOPE])
    assert got.posts == []


def test_a_redirect_is_not_followed() -> None:
    with http_receiver() as other, http_receiver() as got:
        got.status, got.answer_headers = 307, {"Location": other.url}
        with pytest.raises(TargetError, match="redirects"):
            sender(Receiver(got.url)).send([ENVELOPE])
    assert other.posts == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, RefusedError),
        (422, RefusedError),
        (401, TargetError),
        (404, TargetError),
        (500, TargetError),
        (503, TargetError),
    ],
)
def test_only_what_is_about_the_message_kills_it(status: int, error: type[Exception]) -> None:
    with http_receiver() as got:
        got.status = status
        with pytest.raises(error, match=f"HTTP {status} no such channel"):
            sender(Receiver(got.url)).send([ENVELOPE])


@pytest.mark.parametrize(
    ("wish", "seconds"), [("120", 120), ("-5", 0), ("soon", 0), ("9" * 99, 999_999_999)]
)
def test_a_receiver_says_when_to_come_back(wish: str, seconds: float) -> None:
    with http_receiver() as got:
        got.status, got.answer_headers = 429, {"Retry-After": wish}
        with pytest.raises(TargetError) as error:
            sender(Receiver(got.url)).send([ENVELOPE])
    assert error.value.after_s == seconds


def test_what_hangs_or_drips_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_post, "POST_CONNECT_S", 0.4)
    monkeypatch.setattr(http_post, "POST_TOTAL_S", 1.0)

    def drip(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 ")
        for _ in range(100):
            connection.sendall(b"y")
            time.sleep(0.1)

    for server in (hanging_server(), tcp_receiver(drip)):
        for scheme in ("http", "https"):
            started = time.monotonic()
            with (
                server if scheme == "http" else hanging_server() as port,
                pytest.raises(TargetError),
            ):
                sender(Receiver(f"{scheme}://127.0.0.1:{port}/")).send([ENVELOPE])
            assert time.monotonic() - started < 4


def test_a_huge_answer_is_not_read() -> None:
    def flood(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 999999999\r\n\r\n")
        while True:
            connection.sendall(b"z" * 65_536)

    with tcp_receiver(flood) as port, pytest.raises(TargetError) as error:
        sender(Receiver(f"http://127.0.0.1:{port}/")).send([ENVELOPE])
    assert len(str(error.value)) < 1_200


def test_an_action_that_is_gone_wants_no_message() -> None:
    with pytest.raises(UnwantedError):
        sender(None).send([ENVELOPE])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/",
        "https://",
        "https://u:p@x/",
        "https://x/a b",
        "https://x/\r\nHost: y",
        "x",
        "https://x:99999/",
        "https://[::1/",
        5,
        None,
        "https://x/" + "a" * 3_000,
    ],
)
def test_what_is_no_url_of_a_receiver_is_refused(url: object) -> None:
    with pytest.raises(BadRequestError):
        checked_url(url)


def app_control(
    got: HttpReceiver, *, is_verified: bool, is_exporting: bool = True
) -> AppControlSender:
    server = AppControlServer(f"localhost:{got.port}", is_verified, "token", is_exporting)
    return AppControlSender(lambda: server, PostRules(HERE), DrivenClock(NOW_US))


def test_hits_are_exported_over_https_with_the_token(tmp_path: Path) -> None:
    with http_receiver(make_certificate(tmp_path)) as got:
        with pytest.raises(TargetError, match="certificate"):
            app_control(got, is_verified=True).send([ENVELOPE])
        assert app_control(got, is_verified=False).send([ENVELOPE]) == 1
        with pytest.raises(UnwantedError):
            app_control(got, is_verified=False, is_exporting=False).send([ENVELOPE])
    (post,) = got.posts
    assert (post.path, post.headers["X-Auth-Token"]) == ("/api/watchlist_hit", "token")
    assert json.loads(post.body)["id"] == "d1"
