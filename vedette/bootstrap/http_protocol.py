"""uvicorn's HTTP protocol with limits on size, time and number.

- Size: httptools accepts request lines, headers, chunk framing and trailers of any length, and
  refuses request lines over 64 KiB, which queries generated from Sigma rules exceed. Here every
  byte of a connection counts against a budget (`connection`): 414 or 431 for a head, 400 for chunk
  framing, an aborted connection for data after a response.
- Meaning: a field after the body is a trailer, which is refused and never becomes a header.
  Requests that two servers could delimit differently are refused as well. After a refusal nothing
  is parsed.
- Time: an incomplete head is answered with 408. A body slower than `BODY_BYTES_A_SECOND_MIN`, or a
  response that the client does not read, ends the connection. uvicorn itself only limits the pause
  between two requests.
- Number: above the limit of connections, the longest idle one is closed. If none is idle, the new
  connection is *reserved*: it serves one health check or check-in, and answers 503 to anything
  else.
"""

import asyncio
from enum import Enum, auto
from functools import partial
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vedette.bootstrap.connection.byte_budget import BodyBudget, HeadBudget, IgnoredBudget
from vedette.bootstrap.connection.request_framing import HttpRefusal, framing_refusal, is_body_small
from vedette.bootstrap.connection.socket_budget import ClosingWatch
from vedette.bootstrap.descriptors import socket_limits
from vedette.limits import REQUEST_LINE_BYTES_MAX, Limit
from vedette.web.http.middleware import CLOSES_CONNECTION

HEADERS_MAX: Limit[int] = 256
"""Headers of a request; browsers and proxies send 40. 40,000 would fit into
`REQUEST_LINE_BYTES_MAX` and block the event loop for 25 ms."""

HEAD_DEADLINE_S: Limit[float] = 30.0
"""Time (s) for a request line and headers, from the start of the connection."""

WRITE_DEADLINE_S: Limit[float] = 60.0
"""Time (s) for which a response waits for a client that reads nothing."""

CONNECTION_CHECK_S: Limit[float] = 5.0
"""Interval (s) for checking the deadlines of a connection, which may be late by this time."""

URL_PARSER_BYTES_MAX: Limit[int] = 65_535
"""Bytes of a URL that the HTTP library's URL parser accepts (16-bit lengths). The query string of a
longer URL bypasses the parser."""

PARSED_BYTES_AT_ONCE: Limit[int] = 16 * 1024
"""Bytes parsed before they count against the connection's budgets."""

PIPELINED_REQUESTS_MAX: Limit[int] = 32
"""Requests of a connection that wait for an earlier response, 4 kB each. Clients no longer
pipeline; above it the connection is closed."""


RESERVED_PATHS: Final = frozenset({b"/healthz", b"/readyz", b"/sensor/v1/checkin"})
"""Paths that reserved connections serve: health checks, and check-ins, which deliver isolation
orders."""


_TOO_MANY_CONNECTIONS: Final = HttpRefusal(503, "unavailable", "too many connections")

_TOO_MANY_PIPELINED: Final = HttpRefusal(503, "unavailable", "too many requests without an answer")


class Phase(Enum):
    """Part of a request to which the next byte of a connection belongs."""

    WAITING = auto()
    """Before the next request; nothing of it has arrived."""
    HEAD = auto()
    BODY = auto()
    """A body, its framing, or the rest of a body that is already answered."""
    OVER = auto()
    """After the last request, or after a refusal. Bytes are ignored."""


class _StopParsingError(Exception):
    """Stops parsing the received data, from within a callback of the parser."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """A connection of a client."""

    is_reserved = False
    """See the module. Set before the connection is made if it used a spare descriptor."""
    origin: tuple[str, int] | None = None
    """Client address and port from a proxy; None for those of the connection."""
    _phase = Phase.WAITING
    _has_line = False
    """Whether a byte of the request line has arrived, beyond empty lines."""
    _piece_body_bytes = 0
    """Body bytes in the piece that is being parsed."""
    _since_s = 0.0
    """Start of the connection or head, or end of the last response."""
    _write_paused_s = 0.0
    """Time since when the client reads nothing; 0 while it reads."""
    _check: asyncio.TimerHandle | None = None
    _closing: ClosingWatch | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.client = self.origin or self.client
        self._since_s = self.loop.time()
        self._head, self._ignored = HeadBudget(), IgnoredBudget()
        self._body = BodyBudget(self._since_s)
        self._check = self.loop.call_later(CONNECTION_CHECK_S, self._check_deadlines)
        allowed = socket_limits()
        if self.is_reserved or (
            len(self.connections) > allowed.connections and not self._close_an_idle_one()
        ):
            self._reserve(allowed.reserved)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.release()
        for timer in (self._check, self._closing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses in pieces, so that a budget is exceeded by at most one piece."""
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        while rest:
            if self._phase is Phase.OVER:
                self._ignore(len(rest))
                return
            piece, rest = rest[:PARSED_BYTES_AT_ONCE], rest[PARSED_BYTES_AT_ONCE:]
            if self._phase is Phase.WAITING:
                self._begin_head()
            self._piece_body_bytes = 0
            self._parse(piece)
            self._count(len(piece))

    def _parse(self, piece: memoryview) -> None:
        try:
            while piece:
                try:
                    self.parser.feed_data(piece)
                    return
                except httptools.HttpParserUpgrade as upgrade:
                    piece = piece[upgrade.args[0] :]  # no upgrade is served; continue with HTTP
        except httptools.HttpParserCallbackError:
            self._refuse_if_open("the address of the request cannot be read")
        except httptools.HttpParserError as error:
            self._refuse_if_open(f"the request is not HTTP/1.1: {error}")

    def _count(self, byte_count: int) -> None:
        """Counts a parsed piece against the budget of the current phase."""
        match self._phase:
            case Phase.HEAD:
                self._head.add(byte_count)
                self._check_head()
            case Phase.BODY:
                self._body.add(byte_count, self._piece_body_bytes, self.loop.time())
                if self.cycle.response_complete:
                    self._ignore(byte_count)
                if self._body.is_over_framing:
                    self._refuse(
                        HttpRefusal(400, "bad_request", "chunk framing is larger than it may be")
                    )
            case Phase.WAITING | Phase.OVER:
                pass

    def _ignore(self, byte_count: int) -> None:
        self._ignored.add(byte_count)
        if self._ignored.is_spent:
            self.transport.abort()

    def _should_upgrade(self) -> bool:
        return False

    def on_message_begin(self) -> None:
        if self._phase is Phase.OVER:
            raise _StopParsingError
        super().on_message_begin()
        self._has_line = True
        if self._phase is not Phase.HEAD:
            self._begin_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase is not Phase.HEAD:
            self._refuse_and_stop(
                HttpRefusal(400, "bad_request", "fields after the body (trailers) are not accepted")
            )
        if len(self.headers) >= HEADERS_MAX:
            self._refuse_and_stop(
                HttpRefusal(431, "too_large", f"a request may have {HEADERS_MAX} headers")
            )
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head.release()
        version = self.parser.get_http_version()
        if self.is_reserved and self.url.partition(b"?")[0] not in RESERVED_PATHS:
            self._refuse_and_stop(_TOO_MANY_CONNECTIONS)
        is_upgrade = self.parser.should_upgrade()
        if (refusal := framing_refusal(version, self.headers, is_upgrade)) is not None:
            self._refuse_and_stop(refusal)
        if len(self.pipeline) >= PIPELINED_REQUESTS_MAX:
            self._refuse_and_stop(_TOO_MANY_PIPELINED)
        if len(self.url) <= URL_PARSER_BYTES_MAX:
            super().on_headers_complete()
        else:
            self.url, _, query = self.url.partition(b"?")
            super().on_headers_complete()
            # The application starts in the next iteration of the loop and reads this scope.
            self.scope["query_string"] = query
        scope = cast(dict[str, Any], self.scope)
        scope[CLOSES_CONNECTION] = partial(self._closes_after, scope)
        if self.is_reserved:
            self.cycle.keep_alive = False
        if version == "1.0":
            self.cycle.waiting_for_100_continue = False
        self._phase, self._body = Phase.BODY, BodyBudget(self.loop.time())

    def on_body(self, body: bytes) -> None:
        self._piece_body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_line = False
        self._phase = Phase.WAITING if self.cycle.keep_alive else Phase.OVER
        super().on_message_complete()

    def on_response_complete(self) -> None:
        now_s = self.loop.time()
        if self._phase is Phase.BODY:
            self._ignored.begin(now_s)
        else:
            self._since_s = now_s
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_closing()

    def pause_writing(self) -> None:
        self._write_paused_s = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._write_paused_s = 0.0
        super().resume_writing()

    @property
    def idle_since_s(self) -> float | None:
        """Time at which the connection became idle; None during a request."""
        is_busy = self._phase in (Phase.HEAD, Phase.BODY)
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._since_s if is_answered and not is_busy else None

    def _begin_head(self) -> None:
        self._phase, self._since_s = Phase.HEAD, self.loop.time()

    def _closes_after(self, scope: dict[str, Any]) -> bool:
        """Whether the response to a request ends the connection, because its unread body is large,
        of unknown length, or not sent yet (100-continue)."""
        if self._phase is not Phase.BODY or self.cycle.scope is not scope:
            return False
        return self.cycle.waiting_for_100_continue or not is_body_small(scope["headers"])

    def _check_deadlines(self) -> None:
        if self.transport.is_closing():
            self._watch_closing()
            return
        now_s = self.loop.time()
        if self._write_paused_s and now_s - self._write_paused_s > WRITE_DEADLINE_S:
            self.transport.abort()
        elif self._phase is Phase.BODY:
            self._check_body(now_s)
        elif self._phase is Phase.HEAD or (self._phase is Phase.WAITING and self.cycle is None):
            self._check_head_time(now_s)
        self._check = self.loop.call_later(CONNECTION_CHECK_S, self._check_deadlines)

    def _check_head_time(self, now_s: float) -> None:
        if self.flow.read_paused:
            self._since_s = now_s  # the server does not read, so the client cannot send
        elif now_s - self._since_s <= HEAD_DEADLINE_S:
            return
        elif self._has_line or self.cycle is None:
            self._refuse(HttpRefusal(408, "timeout", "the request did not come in time"))
        else:
            self.transport.close()  # empty lines after a request: no response expected

    def _check_body(self, now_s: float) -> None:
        if self.flow.read_paused:
            self._body.restart(now_s)
        elif now_s > self._body.due_s or (
            self.cycle.response_complete and self._ignored.is_overdue(now_s)
        ):
            self.transport.abort()

    def _check_head(self) -> None:
        if self._head.is_too_large:
            status, what = (431, "headers") if self._has_headers() else (414, "request line")
            self._refuse(
                HttpRefusal(
                    status,
                    "too_large",
                    f"the {what} of a request may have {REQUEST_LINE_BYTES_MAX} bytes;"
                    " POST a long query",
                )
            )
        elif self._head.is_over_share:
            self._refuse(HttpRefusal(503, "unavailable", "too many unfinished requests"))

    def _has_headers(self) -> bool:
        return self._has_line and bool(self.headers)

    def _reserve(self, reserved_max: int) -> None:
        """Makes this a reserved connection. Above the limit, closes the oldest reserved connection
        without a request."""
        self.is_reserved = True
        reserved = [
            one
            for one in self.connections
            if isinstance(one, BoundedHttpProtocol)
            and one.is_reserved
            and not one.transport.is_closing()
        ]
        if len(reserved) <= reserved_max:
            return
        waiting = [(one._since_s, id(one), one) for one in reserved if one.cycle is None]
        oldest = min(waiting)[2]  # includes this connection
        if oldest is self:
            self._refuse(_TOO_MANY_CONNECTIONS)
        else:
            oldest.transport.abort()

    def _close_an_idle_one(self) -> bool:
        """Closes the longest idle connection. Returns False if all are busy."""
        idle = [
            (since_s, id(one), one)
            for one in self.connections
            if isinstance(one, BoundedHttpProtocol)
            and one is not self
            and not one.is_reserved
            and (since_s := one.idle_since_s) is not None
            and not one.transport.is_closing()
        ]
        if not idle:
            return False
        min(idle)[2].transport.abort()
        return True

    def _refuse_if_open(self, message: str) -> None:
        if self._phase is not Phase.OVER:
            self._refuse(HttpRefusal(400, "bad_request", message))

    def _refuse_and_stop(self, refusal: HttpRefusal) -> None:
        """Refuses from within a callback of the parser."""
        self._refuse(refusal)
        raise _StopParsingError

    def _refuse(self, refusal: HttpRefusal) -> None:
        """Responds without the application, and closes. If the response to this request has begun,
        only closes; if an earlier request is being answered, closes after its response."""
        refused, self._phase = self._phase, Phase.OVER
        self._head.release()
        cycle = self.cycle
        is_earlier = cycle is not None and not cycle.response_complete
        if refused is Phase.BODY:
            is_earlier = any(queued is cycle for queued, _ in self.pipeline)
            is_unanswered = not cycle.response_started
            cycle.disconnected = True  # keeps the application from responding, too
            cycle.message_event.set()
            if is_unanswered and not is_earlier:
                self.transport.write(refusal.answer())
        elif is_earlier and not self.pipeline:
            cycle.keep_alive = False
            return
        elif not is_earlier:
            self.transport.write(refusal.answer())
        self.transport.close()
        self._watch_closing()

    def _watch_closing(self) -> None:
        """Counts the bytes that the client sends until it closes its side. Idempotent."""
        if self._closing is None and self.parser is not None:
            self._closing = ClosingWatch(self.loop, self.transport)
