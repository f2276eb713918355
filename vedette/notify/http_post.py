"""One HTTP POST of a JSON body to an address that somebody wrote into a form.

Goes through the guard of `egress.py`, follows no redirect, reads little of the answer, and ends
within `POST_TOTAL_S` whatever the receiver does.
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
from vedette.limits import (
    POST_ANSWER_BYTES,
    POST_CONNECT_S,
    POST_TOTAL_S,
    URL_CHARS_MAX,
)
from vedette.notify.delivery import RefusedError, TargetError, time_bound
from vedette.notify.egress import EgressError, EgressPolicy, connect

_REFUSED: Final = frozenset({400, 413, 415, 422})
"""Answers about what was sent; any other failure is one of the target, which somebody mends."""

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class PostRules:
    """How receivers are reached. `ca`: further certificates than the system's, PEM."""

    egress: EgressPolicy
    ca: Path | None = None


def checked_url(text: object, name: str = "url") -> str:
    """A URL that can be posted to. Raises BadRequestError."""
    if not isinstance(text, str) or len(text) > URL_CHARS_MAX:
        raise BadRequestError(f"{name}: must be a text of at most {URL_CHARS_MAX} characters")
    if any(not "!" <= one <= "~" for one in text):
        raise BadRequestError(f"{name}: has blanks or characters that a URL does not have")
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or "@" in parts.netloc:
        raise BadRequestError(f"{name}: must be https://HOST/PATH, without a user")
    return text


def place_of(url: str) -> str:
    """Scheme, host and port of a URL: what may be shown of it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The beginning of an answer."""

    status: int
    said: bytes
    headers: Mapping[str, str]
    """By name in lower case."""

    @property
    def wanted_pause_s(self) -> float:
        """What the receiver asks to wait (`Retry-After`), 0 if nothing."""
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
    """One request, over in `seconds` (None: `POST_TOTAL_S`). Raises TargetError where there is no
    whole answer."""
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
    """Returns when the receiver has answered 2xx. Raises TargetError, RefusedError."""
    headers = {"Content-Type": "application/json", **headers}
    answer = exchange("POST", url, body, headers, rules, is_verified=is_verified)
    _judge(place_of(url), answer)


def _connection(
    parts: SplitResult, rules: PostRules, is_verified: bool
) -> http.client.HTTPConnection:
    """A connection whose socket goes to an address that was judged; TLS has not begun yet."""
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
    """The receiver's wish: seconds, or a date that counts from its own."""
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after[:9])
    try:
        wanted = parsedate_to_datetime(retry_after) - parsedate_to_datetime(date)
        return max(0.0, wanted.total_seconds())
    except (ValueError, TypeError):
        return 0.0
