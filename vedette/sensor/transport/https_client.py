"""HTTPS client: a connection per thread, with one request at a time.

Trust in the server is based only on the CA file of the settings, or on the fingerprint of its
certificate. A request without a response, or with response 429 or 5xx, raises
`ServerUnavailableError` with the pause that the server requested.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import random
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import SENSOR_VERSION
from ..limits import ANSWER_BYTES_MAX, BACK_OFF_S_MAX, REQUEST_S, RESPONSE_CHUNK_BYTES
from ..settings import Settings

_RETRY_STATUSES = frozenset({429, 500, 502, 503, 504})


class ServerUnavailableError(Exception):
    """Raised without a response, or if the server requests a retry. `retry_after_s` is 0 if it
    named no pause."""

    def __init__(self, text: str, retry_after_s: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Response:
    """A response with a status below 500. `body` is {} unless the content is a JSON object."""

    status: int
    body: dict[str, Any]
    content: bytes = b""


class BackOff:
    """Exponential back-off with jitter, never shorter than the server requests."""

    def __init__(self, first_s: float = 1.0, most_s: float = BACK_OFF_S_MAX) -> None:
        self._first_s, self._most_s = first_s, most_s
        self._next_s = first_s

    def succeeded(self) -> None:
        self._next_s = self._first_s

    def pause_s(self, retry_after_s: float = 0.0) -> float:
        """Returns the next pause (s); random, so that the sensors of a fleet do not reconnect at
        the same time."""
        pause = self._next_s * (0.5 + random.random() / 2)  # noqa: S311 - no secret
        self._next_s = min(self._most_s, self._next_s * 2)
        return min(self._most_s, max(pause, retry_after_s))


class _Connection(http.client.HTTPSConnection):
    """Connects to given addresses if there are some, else to those of the host name. The
    certificate is checked against the host name in both cases."""

    def __init__(
        self, server: tuple[str, int], context: ssl.SSLContext, addresses: list[tuple[str, int]]
    ) -> None:
        super().__init__(*server, timeout=REQUEST_S, context=context)
        self._tls, self._addresses = context, addresses or [server]

    def connect(self) -> None:
        """Raises the OSError of the last address that was tried."""
        failure = OSError("no address")
        for address in self._addresses:
            try:
                plain = socket.create_connection(address, REQUEST_S)
            except OSError as error:
                failure = error
                continue
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
            except OSError as error:
                plain.close()
                failure = error
                continue
            return
        raise failure


class Client:
    """A connection for a single thread. Reconnects automatically."""

    def __init__(
        self,
        settings: Settings,
        addresses: Callable[[], list[tuple[str, int]]] = list,
    ) -> None:
        """`addresses` returns where to connect instead of resolving the server's name, or []: an
        isolated host may be unable to resolve names. Raises OSError if the CA file cannot be
        read."""
        self._settings, self._addresses = settings, addresses
        self._context = _context(settings)
        self._connection: _Connection | None = None
        self._peer: tuple[str, int] | None = None

    @property
    def peer(self) -> tuple[str, int] | None:
        """IP address and port of the server on the last verified connection."""
        return self._peer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def post(self, path: str, body: dict[str, Any], credential: str = "") -> Response:
        content = gzip.compress(json.dumps(body).encode(), 1)
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return self.request("POST", path, content, headers, credential)

    def request(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
        credential: str = "",
        bytes_max: int = ANSWER_BYTES_MAX,
    ) -> Response:
        """Sends a request. Raises ServerUnavailableError without a response, and for 429 and
        5xx."""
        sent = {"User-Agent": f"vedette-sensor/{SENSOR_VERSION}", **(headers or {})}
        if credential:
            sent["Authorization"] = f"Sensor {credential}"
        was_open = self._connection is not None
        try:
            try:
                response = self._send(method, path, content, sent)
            except (ConnectionError, http.client.BadStatusLine):
                if not was_open:
                    raise
                self.close()  # the server closed an idle connection
                response = self._send(method, path, content, sent)
            received = _read(response, bytes_max)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ServerUnavailableError(str(error) or type(error).__name__) from error
        if response.status in _RETRY_STATUSES:
            raise ServerUnavailableError(
                f"the server answers {response.status}", _retry_after(response)
            )
        return Response(response.status, _object(received), received)

    def _send(
        self, method: str, path: str, content: bytes, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        connection = self._connected()
        connection.request(method, self._settings.prefix + path, content or None, headers)
        return connection.getresponse()

    def _connected(self) -> http.client.HTTPSConnection:
        if self._connection is None or self._connection.sock is None:
            self._connection = _Connection(self._settings.server, self._context, self._addresses())
            self._connection.connect()
            self._check_fingerprint(self._connection)
            ip, port = self._connection.sock.getpeername()[:2]
            self._peer = str(ip).partition("%")[0], int(port)
        return self._connection

    def _check_fingerprint(self, connection: http.client.HTTPSConnection) -> None:
        wanted = self._settings.server_fingerprint
        if not wanted:
            return
        assert isinstance(connection.sock, ssl.SSLSocket)
        certificate = connection.sock.getpeercert(binary_form=True) or b""
        if hashlib.sha256(certificate).hexdigest() != wanted:
            raise ssl.SSLError("the server's certificate has another fingerprint")


def _context(settings: Settings) -> ssl.SSLContext:
    if settings.server_fingerprint and not settings.ca_pem_file:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # the fingerprint identifies the server
        context.verify_mode = ssl.CERT_NONE
        return context
    return ssl.create_default_context(cafile=settings.ca_pem_file or None)


def _read(response: http.client.HTTPResponse, bytes_max: int) -> bytes:
    parts, size = [], 0
    while chunk := response.read(RESPONSE_CHUNK_BYTES):
        size += len(chunk)
        if size > bytes_max:
            raise http.client.HTTPException("the answer is too large")
        parts.append(chunk)
    return b"".join(parts)


def _retry_after(response: http.client.HTTPResponse) -> float:
    text = response.getheader("Retry-After") or ""
    return float(text) if text.isdecimal() else 0.0


def _object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
