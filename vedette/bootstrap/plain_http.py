"""Answer plain HTTP that arrives at the HTTPS port, in place of a connection that just ends.

OpenSSL recognises the beginning of an HTTP request where a TLS handshake should be. At that
moment the only way to the client is the outgoing buffer of the handshake: the answer is put
there, and the handshake asks for more data, which makes the event loop send the buffer. What the
client sends next ends the connection as before, and so does the deadline of the handshake.
"""

import ssl
from typing import Any, Final

import orjson

_BODY: Final = orjson.dumps(
    {
        "reason": "https_required",
        "message": "this port speaks HTTPS: write https:// in place of http://",
    }
)
ANSWER: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_BODY), _BODY)
)


class AnsweringTlsObject(ssl.SSLObject):
    """The TLS state of one connection, which answers plain HTTP once."""

    _unanswered: ssl.MemoryBIO | None = None

    @classmethod
    def _create(
        cls, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *rest: Any, **named: Any
    ) -> Any:
        made = super()._create(incoming, outgoing, *rest, **named)  # type: ignore[misc]  # typeshed leaves it out
        made._unanswered = outgoing
        return made

    def do_handshake(self) -> None:
        """Raises SSLWantReadError when the answer waits to be sent, else as its base does."""
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            outgoing = self._unanswered
            if error.reason != "HTTP_REQUEST" or outgoing is None:
                raise
            self._unanswered = None
            outgoing.write(ANSWER)
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "plain HTTP") from None


def answer_plain_http(context: ssl.SSLContext) -> None:
    """Have connections of a server's TLS context answer plain HTTP."""
    context.sslobject_class = AnsweringTlsObject
