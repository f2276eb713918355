"""Mail: one message with a text and an HTML part, of one detection or of many.

Messages to one person that wait at the same time become one mail (`mail_digest_s`). Whoever sees
the host's group at the moment of sending gets the mail, at the address of their account then.

Everything in it is foreign text: in headers control characters are replaced, so that a title cannot
add a header; in HTML all of it is escaped; there is no link but the one to this server.
"""

import smtplib
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from itertools import takewhile
from pathlib import Path
from typing import Final
from urllib.parse import quote

from vedette.limits import (
    MAIL_CONNECT_S,
    MAIL_DETECTIONS_MAX,
    MAIL_MESSAGE_ID_CHARS_MAX,
    MAIL_TOTAL_S,
)
from vedette.notify.delivery import (
    Envelope,
    RefusedError,
    TargetError,
    UnwantedError,
    time_bound,
)
from vedette.notify.mail_page import TEMPLATES, MailPage, one_line
from vedette.notify.notice import Notice
from vedette.settings import Settings

_PERMANENT: Final = range(500, 600)
_OF_LOGIN: Final = frozenset({530, 534, 535, 538})
"""Codes in which the server means this client and not the message."""

Recipient = Callable[[Notice], str]
"""From a notice to the address of its reader, "" where they may not see its host, are disabled,
gone or have no address."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail goes, and how. `ca` None: the system's certificates."""

    host: str
    port: int
    security: str
    username: str
    password: str
    sender: str
    ca: Path | None = None
    public_url: str = ""
    templates: Path | None = None
    """Folder with templates of the operator."""


def mail_server(settings: Settings) -> MailServer:
    """As the settings name it."""
    return MailServer(
        settings.smtp_host,
        settings.smtp_port,
        settings.smtp_security,
        settings.smtp_username,
        settings.smtp_password,
        settings.smtp_from,
        settings.smtp_ca,
        settings.public_url,
        settings.data / TEMPLATES,
    )


class MailSender:
    """Sends to one mail server."""

    batch = MAIL_DETECTIONS_MAX

    def __init__(self, server: MailServer, recipient: Recipient) -> None:
        self._server = server
        self._recipient = recipient

    def send(self, envelopes: Sequence[Envelope]) -> int:
        """One mail of the first and of those right behind it that go to the same address. Raises
        TargetError, RefusedError, UnwantedError."""
        to = self._address(envelopes[0])
        if not to:
            raise UnwantedError("the user may not see the host, is disabled or has no address")
        together = list(takewhile(lambda one: self._address(one) == to, envelopes))
        notices = [one.notice for one in together]
        deliver(self._server, compose(self._server, to, notices, together[0].key))
        return len(together)

    def _address(self, envelope: Envelope) -> str:
        return self._recipient(envelope.notice)


def compose(
    server: MailServer, to: str, notices: Sequence[Notice], key: str, now_us: int = 0
) -> EmailMessage:
    """The mail. Raises RefusedError for an address that is none, TargetError for a template that
    cannot be filled in."""
    message = EmailMessage(policy=SMTP_POLICY)
    page = MailPage(server.templates)
    more = f" and {len(notices) - 1} more" if len(notices) > 1 else ""
    subject = page.subject(_values(notices[0])) + more
    message["Subject"] = subject
    try:
        message["From"] = Address("Vedette", addr_spec=server.sender)
        message["To"] = Address(addr_spec=to)
    except (ValueError, IndexError) as error:
        raise RefusedError(f"{to[:80]!r} is no mail address: {error}") from None
    moment_us = now_us or max(one.created_us for one in notices)
    message["Date"] = format_datetime(datetime.fromtimestamp(moment_us / 1_000_000, UTC))
    # The same in every attempt, so that readers which know it show one mail.
    message["Message-ID"] = f"<{_message_id(key)}@{_domain(server.sender)}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n".join(_text(server, one) for one in notices) + "\n")
    sections = [
        page.section(_values(one), facts(one), alert_link(server.public_url, one))
        for one in notices
    ]
    message.add_alternative(page.page(subject, sections), subtype="html")
    return message


def deliver(server: MailServer, message: EmailMessage) -> None:
    """Hand a mail to the server. Raises TargetError, and RefusedError where the server does not
    take this mail or this address."""
    if not server.host:
        raise TargetError("there is no mail server: set smtp_host")
    place = f"{server.host}:{server.port}"
    try:
        with _session(server) as session, time_bound(lambda: session.sock, MAIL_TOTAL_S):
            _greet(server, session)
            session.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        code, text = next(iter(error.recipients.values()))
        raise _failure(place, code, text) from None
    except smtplib.SMTPResponseException as error:
        raise _failure(place, error.smtp_code, error.smtp_error) from None
    except smtplib.SMTPException as error:
        raise TargetError(f"{place}: {error}") from None
    except (OSError, ValueError) as error:
        raise TargetError(f"{place}: {error}") from None


def alert_link(public_url: str, notice: Notice) -> str:
    """Where the alert is seen; "" without an alert or an address of this server."""
    if not public_url or not notice.has_alert:
        return ""
    return f"{public_url.rstrip('/')}/ui/alerts?d=alert:{quote(notice.id, safe='')}"


def facts(notice: Notice) -> list[tuple[str, str]]:
    """What a reader wants to know, as labels with texts that are not empty."""
    happened = datetime.fromtimestamp(notice.time_us / 1_000_000, UTC) if notice.time_us else None
    found = [
        ("Severity", " ".join(filter(None, (str(notice.severity), notice.level)))),
        ("Host", notice.hostname),
        ("Group", notice.group),
        ("User", notice.username),
        ("Time", happened.strftime("%Y-%m-%d %H:%M:%S UTC") if happened else ""),
        ("Process", notice.process_path or notice.process_name),
        ("Command line", notice.cmdline),
        ("Parent", notice.parent_name),
        ("MD5", notice.md5),
        ("SHA-256", notice.sha256),
        ("Indicator", f"{notice.ioc_type} {notice.ioc_value}".strip()),
        ("Source", f"{notice.source_kind} {notice.source_name or notice.source_id}".strip()),
        ("Techniques", ", ".join(notice.techniques)),
        ("Events", str(notice.count) if notice.count > 1 else ""),
        *((f"Matched {name}", value) for name, value in notice.matched.items()),
    ]
    return [(label, text) for label, text in found if text]


def _values(notice: Notice) -> dict[str, str]:
    """What templates may show of a notice."""
    return {
        "title": notice.title,
        "description": notice.description,
        "hostname": notice.hostname or "the server",
        "group": notice.group,
        "username": notice.username,
        "severity": str(notice.severity),
        "level": notice.level,
        "process_name": notice.process_name,
        "cmdline": notice.cmdline,
        "source_kind": notice.source_kind,
        "source_name": notice.source_name,
        "tags": ", ".join(notice.tags),
        "techniques": ", ".join(notice.techniques),
    }


def _session(server: MailServer) -> smtplib.SMTP:
    if server.security == "tls":
        context = _context(server)
        return smtplib.SMTP_SSL(server.host, server.port, timeout=MAIL_CONNECT_S, context=context)
    return smtplib.SMTP(server.host, server.port, timeout=MAIL_CONNECT_S)


def _greet(server: MailServer, session: smtplib.SMTP) -> None:
    session.ehlo_or_helo_if_needed()
    if server.security == "starttls":
        # Raises where the server does not offer it: nothing goes out unencrypted.
        session.starttls(context=_context(server))
        session.ehlo()
    if server.username:
        session.login(server.username, server.password)


def _context(server: MailServer) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(server.ca) if server.ca else None)


def _failure(place: str, code: int, text: bytes | str) -> TargetError | RefusedError:
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if code in _PERMANENT and code not in _OF_LOGIN:
        return RefusedError(f"{place}: {code} {said}")
    return TargetError(f"{place}: {code} {said}")


def _text(server: MailServer, notice: Notice) -> str:
    link = alert_link(server.public_url, notice)
    lines = [one_line(text) for text in (notice.title, notice.description) if text]
    lines += [f"  {one_line(label)}: {one_line(text)}" for label, text in facts(notice)]
    return "\n".join([*lines, *([f"  {link}"] if link else [])])


def _message_id(key: str) -> str:
    own = "".join(one if one.isascii() and one.isalnum() else "-" for one in key)
    return own[:MAIL_MESSAGE_ID_CHARS_MAX]


def _domain(sender: str) -> str:
    domain = sender.rpartition("@")[2]
    return (
        domain
        if domain.isascii() and domain.replace(".", "").replace("-", "").isalnum()
        else "vedette"
    )
