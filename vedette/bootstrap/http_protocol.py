"""uvicorn's HTTP protocol with a limit on request line and headers.

httptools buffers a request line and headers of any length, so anyone who can connect could exhaust
memory; and it refuses request lines over 64 KiB, which queries converted from Sigma rules exceed.
"""

import asyncio
from typing import Any, Final

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vedette.limits import REQUEST_LINE_BYTES_MAX

_URL_PARSER_BYTES_MAX: Final = 65_535


class BoundedHttpProtocol(HttpToolsProtocol):
    """Answers 414 or 431 and closes when request line and headers exceed the limit."""

    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_head = False

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > REQUEST_LINE_BYTES_MAX and not self.transport.is_closing():
                self._refuse()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.url) <= _URL_PARSER_BYTES_MAX:
            super().on_headers_complete()
            return
        self.url, _, query = self.url.partition(b"?")
        super().on_headers_complete()
        # The application starts in the next iteration of the loop and reads this scope.
        self.scope["query_string"] = query

    def _refuse(self) -> None:
        line, what = (
            (b"431 Request Header Fields Too Large", "headers")
            if self.headers
            else (b"414 URI Too Long", "request line")
        )
        body = orjson.dumps(_refusal(what))
        self.transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s" % (line, len(body), body)
        )
        self.transport.close()


def _refusal(what: str) -> dict[str, Any]:
    message = f"the {what} of a request may have {REQUEST_LINE_BYTES_MAX} bytes; POST a long query"
    return {"reason": "too_large", "message": message}
