"""Mail to a real mail server: encrypted, escaped, one for many, and what a bad server costs."""

import time
from collections.abc import Sequence
from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.receivers import (
    Mailbox,
    hanging_server,
    mail_server,
    make_certificate,
)
from vedette.notify import mail
from vedette.notify.delivery import Envelope, RefusedError, TargetError, UnwantedError
from vedette.notify.mail import MailSender, MailServer
from vedette.notify.notice import Notice

NOW_US = 1_700_000_000_000_000


def server_at(port: int, security: str = "none", ca: Path | None = None, **more: str) -> MailServer:
    login = {"username": "", "password": ""} | more
    return MailServer(
        "localhost",
        port,
        security,
        login["username"],
        login["password"],
        "vedette@edr.example",
        ca,
        "https://edr.example",
    )


def envelope(number: int = 1, title: str = "Encoded PowerShell", user_id: int = 1) -> Envelope:
    notice = Notice(
        id=f"{number:032x}",
        recipient_id=user_id,
        has_alert=True,
        source_kind="rule",
        source_id="4d2a",
        title=title,
        hostname="pc.corp",
        severity=80,
        created_us=NOW_US,
        time_us=NOW_US,
        cmdline="powershell -enc <AAAA> & more",
    )
    return Envelope(number, f"{number}:7", notice, 7, NOW_US)


def send(server: MailServer, envelopes: Sequence[Envelope], to: str = "ann@corp.example") -> int:
    addresses = {1: to, 2: "bob@corp.example"}
    return MailSender(server, lambda notice: addresses[notice.recipient_id]).send(envelopes)


def parsed(box: Mailbox) -> EmailMessage:
    message = message_from_bytes(box.mails[-1], policy=SMTP)  # type: ignore[type-var]
    assert isinstance(message, EmailMessage)
    return message


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    text = body.get_content()
    assert isinstance(text, str)
    return text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("mail"))


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_mail_goes_out_encrypted_with_a_login(certificate: Path, security: str) -> None:
    with mail_server(certificate, tls=security == "tls", login=True) as box:
        server = server_at(box.port, security, certificate, username="vedette", password="right")
        assert send(server, [envelope()]) == 1
    message = parsed(box)
    assert box.logins == [(b"vedette", b"right")]
    assert box.recipients == ["ann@corp.example"]
    assert message["Subject"] == "[Vedette] Encoded PowerShell on pc.corp"
    assert message["From"] == "Vedette <vedette@edr.example>"
    assert message["Message-ID"] == "<1-7@edr.example>"
    assert "Command line: powershell -enc <AAAA> & more" in part(message, "plain")
    assert "https://edr.example/ui/alerts?d=alert:" in part(message, "plain")
    assert "powershell -enc &lt;AAAA&gt; &amp; more" in part(message, "html")


def test_nothing_is_said_to_a_server_without_the_encryption_that_is_wanted() -> None:
    with mail_server() as box:
        with pytest.raises(TargetError, match="STARTTLS"):
            send(server_at(box.port, "starttls"), [envelope()])
        assert box.mails == []


def test_a_certificate_that_nobody_trusts_is_refused(certificate: Path) -> None:
    with mail_server(certificate) as box, pytest.raises(TargetError, match="certificate"):
        send(server_at(box.port, "starttls"), [envelope()])
    assert box.mails == []


def test_a_title_adds_no_header_and_no_markup() -> None:
    title = 'x\r\nBcc: all@corp.example\r\n\r\n<script>alert(1)</script>\u202e"'
    with mail_server() as box:
        send(server_at(box.port), [envelope(title=title)])
    message = parsed(box)
    assert message["Bcc"] is None
    assert box.recipients == ["ann@corp.example"]
    assert message["Subject"].strip().startswith("[Vedette] x  Bcc: all@corp.example")
    assert "<script>" not in part(message, "html")
    assert "\u202e" not in part(message, "html")


def test_an_operators_templates_come_first_and_escape_what_hosts_say(tmp_path: Path) -> None:
    (tmp_path / "mail_subject.txt").write_text("$level\n$title ($hostname) for $$5\n")
    (tmp_path / "mail_section.html").write_text("<h1>$hostname: $title</h1>$rows$link")
    with mail_server() as box:
        hostile = [envelope(title="<b>x</b>\r\nBcc: a@b.example")]
        send(replace(server_at(box.port), templates=tmp_path), hostile)
    message = parsed(box)
    assert message["Bcc"] is None
    assert message["Subject"].endswith("<b>x</b>  Bcc: a@b.example (pc.corp) for $5")
    body = part(message, "html")
    assert "<h1>pc.corp: &lt;b&gt;x&lt;/b&gt;" in body
    assert "<!doctype html>" in body, "the others are those that come with the server"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mail_row.html", "$colour", "unknown placeholder 'colour'"),
        ("mail.html", "100$", "Invalid placeholder"),
        ("mail_section.html", "x" * 70_000, "more than"),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_named(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    with mail_server() as box:
        with pytest.raises(TargetError, match=f"{name}: .*{said}"):
            send(replace(server_at(box.port), templates=tmp_path), [envelope()])
        assert box.mails == []


@pytest.mark.parametrize("to", ["ann@corp.example\r\nBcc: x@y.example", "no address", "a@b, c@d"])
def test_an_address_that_is_none_is_refused(to: str) -> None:
    with mail_server() as box, pytest.raises(RefusedError):
        send(server_at(box.port), [envelope()], to)
    assert box.mails == []


def test_those_that_wait_for_one_person_are_one_mail() -> None:
    envelopes = [envelope(1), envelope(2), envelope(3, user_id=2), envelope(4)]
    with mail_server() as box:
        assert send(server_at(box.port), envelopes) == 2
        assert send(server_at(box.port), envelopes[2:]) == 1
    assert len(box.mails) == 2
    message = message_from_bytes(box.mails[0], policy=SMTP)  # type: ignore[type-var]
    assert message["Subject"] == "[Vedette] Encoded PowerShell on pc.corp and 1 more"


def test_a_user_who_may_not_see_the_host_gets_nothing() -> None:
    with mail_server() as box, pytest.raises(UnwantedError):
        send(server_at(box.port), [envelope()], "")
    assert box.mails == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [("550 no such user", RefusedError), ("450 come back later", TargetError)],
)
def test_a_permanent_refusal_is_of_the_mail_and_any_other_of_the_server(
    answer: str, error: type[Exception]
) -> None:
    with mail_server() as box:
        box.refuse["ann@corp.example"] = answer
        with pytest.raises(error, match=answer):
            send(server_at(box.port), [envelope()])


def test_a_wrong_password_is_the_servers_failure_and_not_the_mails(certificate: Path) -> None:
    with mail_server(certificate, login=True) as box:
        server = server_at(box.port, "starttls", certificate, username="v", password="wrong")
        with pytest.raises(TargetError, match="535"):
            send(server, [envelope()])


def test_a_server_that_is_down_is_named() -> None:
    port = free_port()
    with pytest.raises(TargetError, match=f"localhost:{port}"):
        send(server_at(port), [envelope()])


def test_a_server_that_hangs_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "MAIL_CONNECT_S", 0.3)
    started = time.monotonic()
    with hanging_server() as port, pytest.raises(TargetError, match="timed out"):
        send(server_at(port), [envelope()])
    assert time.monotonic() - started < 5
