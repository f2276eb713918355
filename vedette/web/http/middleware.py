"""ASGI middleware of every request: request id, metrics, access log, security headers, body budget,
and a response for unexpected exceptions.

Metrics are labeled with the route's template instead of the path, so that ids in paths do not
create series. Paths that match no route share the label `unmatched`.
"""

import asyncio
import re
import secrets
import time
from typing import Any, Final

import structlog
from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vedette.limits import BODIES_IN_FLIGHT_BYTES_MAX, Limit
from vedette.web.http.bodies.body_budget import BodyBudget, BodyLease
from vedette.web.http.bodies.compression import Compressor, is_accepted, vary
from vedette.web.http.error_responses import unexpected_answer
from vedette.web.http.request_path import SENT_METHOD

ANSWER_PIECE_BYTES: Limit[int] = 256 * 1024
"""Bytes of a response that are encrypted and sent before the event loop does other work: half a
millisecond. Sending 16 MB in one step took 30 to 60 ms."""

UNKNOWN_PATH_LOGGED_CHARS: Limit[int] = 16
"""Characters that the log shows of a path without a route: enough to recognize a scanner, and less
than half of any secret."""


log = structlog.get_logger("vedette.access")

REQUEST_ID_HEADER: Final = "x-request-id"

CLOSES_CONNECTION: Final = "vedette.closes_connection"
"""Key in the ASGI scope of a function that returns whether a response that starts now closes the
connection, because the body has not been read (`bootstrap/http_protocol.py`)."""

ROUTINE: Final = frozenset(
    {
        "/sensor/v1/checkin",
        "/sensor/v1/events",
        "/osquery/config",
        "/osquery/log",
        "/osquery/distributed/read",
        "/osquery/distributed/write",
    }
)
"""Routes whose successful requests are logged at `debug`, because a fleet sends hundreds per
second."""

_USABLE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

_UNMATCHED: Final = "unmatched"

_SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

_SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)


class HttpMetrics:
    """Metrics of HTTP requests."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route")
        self.requests = Counter(
            "vedette_http_requests",
            "HTTP requests.",
            (*labels, "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "vedette_http_request_seconds",
            "Time from the request headers to the end of the response.",
            labels,
            buckets=_SECONDS,
            registry=registry,
        )
        self.in_progress = Gauge(
            "vedette_http_requests_in_progress",
            "HTTP requests in progress.",
            registry=registry,
        )


class RequestMiddleware:
    """The middleware of an application. Its requests share the budget `bodies`."""

    def __init__(
        self, app: ASGIApp, metrics: HttpMetrics, bodies: BodyBudget | None = None
    ) -> None:
        self.app = app
        self.metrics = metrics
        self.bodies = bodies or BodyBudget(BODIES_IN_FLIGHT_BYTES_MAX)
        self.compressor = Compressor()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, send, self.compressor)
        with self.metrics.in_progress.track_inprogress():
            lease = scope["state"]["body_lease"] = BodyLease(self.bodies)
            try:
                await self._guarded(exchange, receive)
            finally:
                lease.release()
        self._account(exchange)

    async def _guarded(self, exchange: "_Exchange", receive: Receive) -> None:
        try:
            await self.app(exchange.scope, receive, exchange.send)
        except ClientDisconnect:
            exchange.status = exchange.status or 499
        except Exception as error:  # noqa: BLE001 - the last place that can answer
            answer = unexpected_answer(Request(exchange.scope), error, exchange.request_id)
            if exchange.status == 0:
                await answer(exchange.scope, receive, exchange.send)

    def _account(self, exchange: "_Exchange") -> None:
        elapsed_s = time.perf_counter() - exchange.began
        method = exchange.scope.get(SENT_METHOD, exchange.scope["method"])
        route = getattr(exchange.scope.get("route"), "path", _UNMATCHED)
        self.metrics.requests.labels(method, route, str(exchange.status)).inc()
        self.metrics.seconds.labels(method, route).observe(elapsed_s)
        principal = exchange.scope["state"].get("principal")
        log_line = log.debug if exchange.status < 400 and route in ROUTINE else log.info
        log_line(
            "request",
            method=method,
            path=_shown_path(exchange.scope["path"], route),
            status=exchange.status,
            elapsed_ms=round(elapsed_s * 1_000, 1),
            answer_bytes=exchange.answer_bytes,
            caller=getattr(principal, "name", ""),
            client=(exchange.scope.get("client") or ("",))[0],
        )


def _shown_path(path: str, route: str) -> str:
    """Returns the path for the log. A path without a route is truncated, because a mistyped address
    may contain a secret."""
    if route != _UNMATCHED or len(path) <= UNKNOWN_PATH_LOGGED_CHARS:
        return path
    return path[:UNKNOWN_PATH_LOGGED_CHARS] + "…"


class _Exchange:
    """A request with the status and size of its response."""

    def __init__(self, scope: Scope, send: Send, compressor: Compressor) -> None:
        self.scope = scope
        self._compressor = compressor
        self._waiting: Message | None = None
        """Start of a response whose headers depend on its body."""
        self.began = time.perf_counter()
        self.status = 0
        self.answer_bytes = 0
        self.request_id = _request_id(scope)
        self._send = send
        scope.setdefault("state", {})["request_id"] = self.request_id
        # Each request runs in its own task, so only its log lines carry the id.
        structlog.contextvars.bind_contextvars(request_id=self.request_id)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self._headers(message.get("headers", ()))
            if vary(self.scope, message) and is_accepted(self.scope):
                self._waiting = message
                return
        elif message["type"] == "http.response.body":
            if self._waiting is not None:
                start, self._waiting = self._waiting, None
                message = await self._compressor.body_of(start, message)
                await self._send(start)
            body = message.get("body", b"")
            self.answer_bytes += len(body)
            if len(body) > ANSWER_PIECE_BYTES:
                message = {**message, "body": await self._send_all_but_the_end(memoryview(body))}
        await self._send(message)

    async def _send_all_but_the_end(self, body: memoryview) -> memoryview:
        """Sends a large body in pieces, with other work of the event loop in between. Returns the
        last piece, which the caller sends."""
        while len(body) > ANSWER_PIECE_BYTES:
            piece, body = body[:ANSWER_PIECE_BYTES], body[ANSWER_PIECE_BYTES:]
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
        return body

    def _headers(self, given: Any) -> list[tuple[bytes, bytes]]:
        headers = list(given)
        names = {name.lower() for name, _ in headers}
        headers += [(name, value) for name, value in _SECURITY_HEADERS if name not in names]
        headers.append((REQUEST_ID_HEADER.encode(), self.request_id.encode()))
        closes_connection = self.scope.get(CLOSES_CONNECTION)
        if closes_connection is not None and closes_connection():
            headers.append((b"connection", b"close"))
        return headers


def _request_id(scope: Scope) -> str:
    """Returns the request id from the proxy if it is safe to log, otherwise a new id."""
    for name, value in scope["headers"]:
        if name == REQUEST_ID_HEADER.encode():
            text = value.decode("latin-1")
            return text if _USABLE_ID.fullmatch(text) else _new_id()
    return _new_id()


def _new_id() -> str:
    return secrets.token_hex(8)
