"""Mail: one message with a text and an HTML part, about one or more detections.

Messages to one person that wait at the same time become one mail (`mail_digest_s`). At the time of
sending, the user must be allowed to see the host's group, and the mail goes to the address of the
account. All contents are untrusted: in headers control characters are replaced, so that a title
cannot add a header; in HTML everything is escaped; the only link leads to this server.
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

from vedette.limits import Limit
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

MAIL_MESSAGE_ID_CHARS_MAX: Limit[int] = 100
"""Characters of the part of a Message-ID that identifies the message; a header line has 998."""

MAIL_CONNECT_S: Limit[int] = 10
"""Timeout (s) for connecting to the mail server, and for one response."""

MAIL_TOTAL_S: Limit[int] = 30
"""Time limit (s) for one mail, for servers that send one byte at a time. A stopping server waits
that long for current sending."""

MAIL_DETECTIONS_MAX: Limit[int] = 50
"""Detections in one mail; nobody reads more."""


_PERMANENT: Final = range(500, 600)
_OF_LOGIN: Final = frozenset({530, 534, 535, 538})
"""Permanent codes that concern the client, not the message."""

Recipient = Callable[[Notice], str]
"""Maps a notice to its reader's address; "" if the user may not see its host, is disabled or
deleted, or has no address."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """Address and credentials of the mail server. `ca` None: the system's certificates."""

    host: str
    port: int
    security: str
    username: str
    password: str
    sender: str
    ca: Path | None = None
    public_url: str = ""
    templates: Path | None = None
    """Folder with the operator's templates."""


def mail_server(settings: Settings) -> MailServer:
    """Returns the mail server of the settings."""
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
        """Sends one mail for the first message and directly following ones to the same address.
        Raises TargetError, RefusedError, UnwantedError."""
        to = self._address(envelopes[0])
        if not to:
            raise UnwantedError(
                "the user cannot see the host, is disabled, or has no email address"
            )
        together = list(takewhile(lambda one: self._address(one) == to, envelopes))
        notices = [one.notice for one in together]
        deliver(self._server, compose(self._server, to, notices, together[0].key))
        return len(together)

    def _address(self, envelope: Envelope) -> str:
        return self._recipient(envelope.notice)


def compose(
    server: MailServer, to: str, notices: Sequence[Notice], key: str, now_us: int = 0
) -> EmailMessage:
    """Builds the mail. Raises RefusedError for an invalid address, TargetError for a template that
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
        raise RefusedError(f"{to[:80]!r} is not an email address: {error}") from None
    moment_us = now_us or max(one.created_us for one in notices)
    message["Date"] = format_datetime(datetime.fromtimestamp(moment_us / 1_000_000, UTC))
    # Identical in every attempt, so that mail programs can deduplicate.
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
    """Delivers a mail to the server. Raises TargetError, and RefusedError if the server rejects
    this mail or address."""
    if not server.host:
        raise TargetError("no mail server configured: set smtp_host")
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
    """Returns the URL of the alert; "" without an alert or without a public URL of this server."""
    if not public_url or not notice.has_alert:
        return ""
    return f"{public_url.rstrip('/')}/ui/alerts?d=alert:{quote(notice.id, safe='')}"


def facts(notice: Notice) -> list[tuple[str, str]]:
    """Returns (label, text) pairs for readers; omits empty texts."""
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
    """Returns the facts that templates may use."""
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
        # Raises if the server does not offer it, so that nothing is sent unencrypted.
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
