"""Sends one HTTP request to a URL that a user entered.

Connects through the guard in `egress.py`, follows no redirect, reads little of the response, and
ends within `POST_TOTAL_S` whatever the receiver does.
"""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.notify.delivery import RefusedError, TargetError, time_bound
from vedette.notify.egress import EgressError, EgressPolicy, connect

POST_CONNECT_S: Limit[int] = 10
"""Timeout (s) for connecting to a receiver, and for one read."""

POST_TOTAL_S: Limit[int] = 20
"""Time limit (s) for one POST, for receivers that send one byte at a time."""

POST_ANSWER_BYTES: Limit[int] = 1_024
"""Bytes read of a response, which are shown as the error."""

URL_CHARS_MAX: Limit[int] = 2_000
"""Characters of a webhook's URL."""


_REFUSED: Final = frozenset({400, 413, 415, 422})
"""Status codes that reject the content; any other failure concerns the target, and retrying may
help."""

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class PostRules:
    """Rules for reaching receivers. `ca`: PEM file with certificates in addition to the
    system's."""

    egress: EgressPolicy
    ca: Path | None = None


def checked_url(text: object, name: str = "url") -> str:
    """Validates a URL for posting. Raises BadRequestError."""
    if not isinstance(text, str) or len(text) > URL_CHARS_MAX:
        raise BadRequestError(f"{name}: must be a string of at most {URL_CHARS_MAX} characters")
    if any(not "!" <= one <= "~" for one in text):
        raise BadRequestError(
            f"{name}: contains whitespace or characters that are invalid in a URL"
        )
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or "@" in parts.netloc:
        raise BadRequestError(f"{name}: must be https://HOST/PATH, without a user")
    return text


def place_of(url: str) -> str:
    """Returns scheme, host and port of a URL, which may be shown."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The beginning of a response."""

    status: int
    said: bytes
    headers: Mapping[str, str]
    """Header values by name, in lower case."""

    @property
    def wanted_pause_s(self) -> float:
        """Pause (s) that the receiver requests (`Retry-After`); 0 for none."""
        return _seconds(self.headers.get("retry-after", ""), self.headers.get("date", ""))


def exchange(
    method: str,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    rules: PostRules,
    *,
    is_verified: bool = True,
    seconds: float | None = None,
    answer_bytes: int = POST_ANSWER_BYTES,
) -> Answer:
    """Sends one request within `seconds` (None: `POST_TOTAL_S`). Raises TargetError without a
    complete response."""
    parts = urlsplit(url)
    place = place_of(url)
    try:
        connection = _connection(parts, rules, is_verified)
        try:
            with time_bound(lambda: connection.sock, POST_TOTAL_S if seconds is None else seconds):
                if isinstance(connection.sock, ssl.SSLSocket):
                    connection.sock.do_handshake()
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request(method, path, body, dict(headers))
                with connection.getresponse() as answer:  # may outlive the connection
                    said = answer.read(answer_bytes)
        finally:
            connection.close()
    except EgressError as error:
        raise TargetError(error.message) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TargetError(f"{place}: {error or type(error).__name__}") from None
    found = {name.lower(): text for name, text in answer.getheaders()}
    return Answer(answer.status, said, found)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    rules: PostRules,
    *,
    is_verified: bool = True,
) -> None:
    """Posts a body; returns after a 2xx response. Raises TargetError, RefusedError."""
    headers = {"Content-Type": "application/json", **headers}
    answer = exchange("POST", url, body, headers, rules, is_verified=is_verified)
    _judge(place_of(url), answer)


def _connection(
    parts: SplitResult, rules: PostRules, is_verified: bool
) -> http.client.HTTPConnection:
    """Returns a connection to a checked address; TLS has not begun yet."""
    assert parts.hostname is not None
    port = parts.port or _PORTS[parts.scheme]
    connection = http.client.HTTPConnection(parts.hostname, port, timeout=POST_CONNECT_S)
    plain = connect(parts.hostname, port, POST_CONNECT_S, rules.egress)
    try:
        plain.settimeout(POST_CONNECT_S)
        if parts.scheme == "https":
            plain = _context(rules, is_verified).wrap_socket(
                plain, server_hostname=parts.hostname, do_handshake_on_connect=False
            )
    except BaseException:
        plain.close()
        raise
    connection.sock = plain
    return connection


def _context(rules: PostRules, is_verified: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if rules.ca is not None:
        context.load_verify_locations(str(rules.ca))
    if not is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _judge(place: str, answer: Answer) -> None:
    status = answer.status
    if 200 <= status < 300:
        return
    text = answer.said.decode("utf-8", "replace").strip()
    message = f"{place}: HTTP {status} {text}".strip()
    if status in _REFUSED:
        raise RefusedError(message)
    if 300 <= status < 400:
        raise TargetError(f"{place}: HTTP {status}: redirects are not followed")
    raise TargetError(message, answer.wanted_pause_s)


def _seconds(retry_after: str, date: str) -> float:
    """Returns the requested pause (s): given in seconds, or as a date relative to the receiver's
    clock."""
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after[:9])
    try:
        wanted = parsedate_to_datetime(retry_after) - parsedate_to_datetime(date)
        return max(0.0, wanted.total_seconds())
    except (ValueError, TypeError):
        return 0.0
