"""uvicorn's HTTP protocol with bounds on size, time and number.

- Size: httptools keeps a request line and headers of any length, so anyone who can connect could
  fill the memory; and it refuses request lines over 64 KiB, which queries made of Sigma rules
  exceed. Here both share `REQUEST_LINE_BYTES_MAX`: 414 or 431 beyond.
- Time: a head that does not come is answered with 408, a body slower than
  `BODY_BYTES_A_SECOND_MIN` and an answer that nobody reads end the connection. uvicorn itself
  bounds only the pause between two requests.
- Number: above the limit of connections the one that has been idle longest is closed; where none
  is idle, the new one is *reserved*: it serves one health check or check-in, and answers 503 to
  anything else.
"""

import asyncio
from typing import Any, ClassVar, Final, cast

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vedette import limits
from vedette.bootstrap.descriptors import socket_limits
from vedette.limits import REQUEST_LINE_BYTES_MAX, URL_PARSER_BYTES_MAX

RESERVED_PATHS: Final = frozenset({b"/healthz", b"/readyz", b"/sensor/v1/checkin"})
"""What reserved connections serve: whether the server works, and orders to isolate a host."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection of a client."""

    heads_bytes: ClassVar = 0
    """Bytes of incomplete heads of all connections of this process."""

    is_reserved = False
    """See the module. Set before the connection is made where it has used a spare descriptor."""
    origin: tuple[str, int] | None = None
    """Address and port of the client as a proxy gave them; None: those of the connection."""
    _is_refused = False
    _is_in_head = False
    _is_in_body = False
    _has_begun = False
    _head_bytes = 0
    _body_bytes = 0
    _since_s = 0.0
    """When the connection, the head or the body began; or the last answer ended."""
    _write_paused_s = 0.0
    """Since when the client reads nothing; 0: it does."""
    _check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.client = self.origin or self.client
        self._is_in_head = False
        self._since_s = self.loop.time()
        self._check = self.loop.call_later(limits.CONNECTION_CHECK_S, self._check_deadlines)
        allowed = socket_limits()
        if self.is_reserved or (
            len(self.connections) > allowed.connections and not self._close_an_idle_one()
        ):
            self._reserve(allowed.reserved)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        if self._check is not None:
            self._check.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_in_head:
            self._head_bytes += len(data)
            BoundedHttpProtocol.heads_bytes += len(data)
            if not self.transport.is_closing():
                self._check_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._has_begun = self._is_in_head = True
        self._head_bytes = 0
        self._since_s = self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) <= limits.HEADERS_MAX:  # with one more the head is refused
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._end_head()
        self._is_in_body = True
        self._body_bytes = 0
        self._since_s = self.loop.time()
        if self.is_reserved and self.url.partition(b"?")[0] not in RESERVED_PATHS:
            self._refuse_connection()
            return
        if len(self.headers) > limits.HEADERS_MAX:
            self._refuse_headers()
            return
        if len(self.url) <= URL_PARSER_BYTES_MAX:
            super().on_headers_complete()
        else:
            self.url, _, query = self.url.partition(b"?")
            super().on_headers_complete()
            # The application starts in the next iteration of the loop and reads this scope.
            self.scope["query_string"] = query
        if self.is_reserved:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_body = False
        if not self._is_refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self._is_in_body:
            self._since_s = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._write_paused_s = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._write_paused_s = 0.0
        super().resume_writing()

    @property
    def idle_since_s(self) -> float | None:
        """When the connection became idle; None while a request is under way."""
        is_busy = self._is_in_head or self._is_in_body
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._since_s if is_answered and not is_busy else None

    def _check_deadlines(self) -> None:
        now_s = self.loop.time()
        elapsed_s = now_s - self._since_s
        if self._write_paused_s and now_s - self._write_paused_s > limits.WRITE_DEADLINE_S:
            self.transport.abort()
        elif self._is_in_head or not self._has_begun:
            if elapsed_s > limits.HEAD_DEADLINE_S:
                self._refuse(b"408 Request Timeout", "timeout", "the request did not come in time")
        elif self._is_in_body:
            self._check_body(now_s, elapsed_s)
        if not self.transport.is_closing():
            self._check = self.loop.call_later(limits.CONNECTION_CHECK_S, self._check_deadlines)

    def _check_body(self, now_s: float, elapsed_s: float) -> None:
        if self.flow is not None and self.flow.read_paused:
            # The server does not read at the moment, so the client cannot send.
            self._since_s, self._body_bytes = now_s, 0
        elif (
            elapsed_s > limits.BODY_GRACE_S
            and self._body_bytes < elapsed_s * limits.BODY_BYTES_A_SECOND_MIN
        ):
            self.transport.abort()

    def _reserve(self, reserved_max: int) -> None:
        """Make this a reserved connection; of too many, the oldest without a request is closed."""
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
        oldest = min(waiting)[2]  # this one is among them
        if oldest is self:
            self._refuse_connection()
        else:
            oldest.transport.abort()

    def _close_an_idle_one(self) -> bool:
        """Close the connection that has been idle longest; False where all are busy."""
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

    def _end_head(self) -> None:
        if self._is_in_head:
            self._is_in_head = False
            BoundedHttpProtocol.heads_bytes -= self._head_bytes

    def _check_head(self) -> None:
        if self._head_bytes > REQUEST_LINE_BYTES_MAX:
            self._refuse_head()
        elif len(self.headers) > limits.HEADERS_MAX:
            self._refuse_headers()
        elif (
            self._head_bytes > limits.SMALL_HEAD_BYTES_MAX
            and self.heads_bytes > limits.HEADS_BYTES_MAX
        ):
            self._refuse(b"503 Service Unavailable", "unavailable", "too many unfinished requests")

    def _refuse_connection(self) -> None:
        self._refuse(b"503 Service Unavailable", "unavailable", "too many connections")

    def _refuse_head(self) -> None:
        status, what = (
            (b"431 Request Header Fields Too Large", "headers")
            if self.headers
            else (b"414 URI Too Long", "request line")
        )
        self._refuse(
            status,
            "too_large",
            f"the {what} of a request may have {REQUEST_LINE_BYTES_MAX} bytes; POST a long query",
        )

    def _refuse_headers(self) -> None:
        self._refuse(
            b"431 Request Header Fields Too Large",
            "too_large",
            f"a request may have {limits.HEADERS_MAX} headers",
        )

    def _refuse(self, status: bytes, reason: str, message: str) -> None:
        """Answer without the application, and close; only close while an earlier request of the
        connection is still being answered."""
        self._is_refused = True
        if self.cycle is None or self.cycle.response_complete:
            body = orjson.dumps(_refusal(reason, message))
            self.transport.write(
                b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s" % (status, len(body), body)
            )
        self.transport.close()


def _refusal(reason: str, message: str) -> dict[str, Any]:
    return {"reason": reason, "message": message}
