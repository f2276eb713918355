"""HTTP client that posts `_bulk` bodies over one keep-alive connection, as shippers do.

The response lists the outcome of every event. The client counts outcomes in the text without
parsing it, because it is long and repetitive. 429 and 503 are not errors: the client waits and
sends the same body again.
"""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from vedette.errors import BadRequestError, UnauthorizedError, UnavailableError

_PATH = "/_bulk?filter_path=errors,items.*.error,items.*.status"
_RETRY_S_MAX = 10.0
_ATTEMPTS_MAX = 60
"""Maximum failed attempts for one body."""

_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Target:
    """Destination of the posts. `ca` is a certificate to trust; without it, `insecure` trusts any
    certificate."""

    url: str
    token: str
    ca: Path | None = None
    insecure: bool = False

    def connection(self) -> HTTPConnection:
        """Opens a connection. Raises BadRequestError for a URL that is neither http nor https."""
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "http":
            return HTTPConnection(host, port, timeout=_TIMEOUT_S)
        if parts.scheme != "https":
            raise BadRequestError(f"not an http or https URL: {self.url}")
        context = tls_context(self.ca, insecure=self.insecure)
        return HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)


def tls_context(ca: Path | None, *, insecure: bool = False) -> ssl.SSLContext:
    """Returns a context that trusts the certificate `ca` (None: the system's certificates), or any
    certificate if `insecure`. A server's own certificate may lack some of its addresses, so with
    `ca` the host name is not checked."""
    context = ssl.create_default_context(cafile=ca)
    if insecure or ca is not None:
        context.check_hostname = False
    if insecure:
        context.verify_mode = ssl.CERT_NONE
    return context


@dataclass(frozen=True, slots=True)
class Delivery:
    """The outcome of one body."""

    stored: int
    """Number of events newly stored."""
    known: int
    """Number of events already stored, or not kept by the server's settings."""
    refused: int
    """Number of events that the server rejected."""
    waits: int
    """Number of 429 and 503 responses and broken connections."""
    seconds: float
    """Seconds from the first byte sent to the acknowledging response."""

    @property
    def acknowledged(self) -> int:
        return self.stored + self.known


class BulkConnection:
    """Posts bodies one after the other. Not thread-safe."""

    def __init__(self, target: Target, pause: Callable[[float], None] = time.sleep) -> None:
        self._target = target
        self._pause = pause
        self._connection = target.connection()
        self._headers = {
            "Authorization": f"Bearer {target.token}",
            "Content-Type": "application/x-ndjson",
        }

    def deliver(self, body: bytes | bytearray, encoding: str = "") -> Delivery:
        """Posts a body until it is acknowledged; `encoding` is its Content-Encoding, if any. Raises
        UnauthorizedError for a refused token, BadRequestError for any other 4xx, and
        UnavailableError if the server does not answer or refuses for too long."""
        for attempt in range(_ATTEMPTS_MAX):
            begin = time.perf_counter()
            try:
                response, answer = self._post(body, encoding)
            except (HTTPException, OSError):
                self._reconnect()
                self._pause(min(0.2 * (attempt + 1), _RETRY_S_MAX))
                continue
            if response.status == 200:
                return _counted(answer, attempt, time.perf_counter() - begin)
            if response.status not in (429, 502, 503, 504):
                raise _refusal(response.status, answer)
            self._pause(_retry_s(response))
        raise UnavailableError(f"{self._target.url} took nothing in {_ATTEMPTS_MAX} attempts")

    def close(self) -> None:
        self._connection.close()

    def _post(self, body: bytes | bytearray, encoding: str) -> tuple[HTTPResponse, bytes]:
        headers = self._headers | ({"Content-Encoding": encoding} if encoding else {})
        self._connection.request("POST", _PATH, body=body, headers=headers)
        response = self._connection.getresponse()
        return response, response.read()

    def _reconnect(self) -> None:
        self._connection.close()
        self._connection = self._target.connection()


def _counted(answer: bytes, waits: int, seconds: float) -> Delivery:
    items = answer.count(b'"status":')
    stored = answer.count(b'"status":201')
    known = answer.count(b'"status":200') + answer.count(b'"status":409')
    return Delivery(stored, known, items - stored - known, waits, seconds)


def _refusal(status: int, answer: bytes) -> Exception:
    text = f"the server answered {status}: {answer[:200].decode(errors='replace')}"
    return UnauthorizedError(text) if status in (401, 403) else BadRequestError(text)


def _retry_s(response: HTTPResponse) -> float:
    try:
        return min(float(response.headers.get("Retry-After", "1")), _RETRY_S_MAX)
    except ValueError:
        return 1.0
