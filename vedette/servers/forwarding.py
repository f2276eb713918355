"""Forwards records to the server that owns their hosts, and returns its receipt.

The connection uses HTTPS and trusts only the certificate that the other server has stored in the
state database. Errors are passed on: if the other server's queue is full, this server reports a
full queue too.
"""

import ssl
from collections.abc import Callable
from typing import Final

import httpx
import msgspec
import structlog

from vedette.errors import BusyError, UnavailableError
from vedette.limits import Limit
from vedette.pipeline.submission import Receipt, Submission
from vedette.servers.server_token import ServerTokens
from vedette.state.servers.server_list import RunningServer

FORWARD_INGEST_S: Limit[float] = 60.0
"""Timeout for the answer of the server that owns a host: less than shippers wait."""

FORWARD_INGEST_CONNECT_S: Limit[float] = 3.0
"""Timeout for connecting to another server, which is nearby."""

FORWARD_CONNECTIONS_MAX: Limit[int] = 64
"""Connections to another server; further concurrent requests wait."""


PATH: Final = "/servers/v1/records"
TYPE: Final = "application/msgpack"

log = structlog.get_logger(__name__)


class Forwarding:
    """Connections to other servers, for the event loop."""

    def __init__(self, tokens: ServerTokens, now_us: Callable[[], int]) -> None:
        self._tokens = tokens
        self._now_us = now_us
        self._clients: dict[tuple[str, str], httpx.AsyncClient] = {}
        """Maps (URL, certificate) to client."""

    async def close(self) -> None:
        """Closes the connections to all servers."""
        while self._clients:
            await self._clients.popitem()[1].aclose()

    async def send(self, sender: str, to: RunningServer, submission: Submission) -> Receipt:
        """Forwards a submission and returns its receipt. Raises BusyError and UnavailableError."""
        body = msgspec.msgpack.encode(submission)
        headers = {
            "authorization": self._tokens.sign(sender, to.id, body, self._now_us()),
            "content-type": TYPE,
        }
        try:
            answer = await (await self._client(to)).post(PATH, content=body, headers=headers)
        except (httpx.HTTPError, OSError) as error:
            log.warning("cannot reach a server", url=to.url, reason=repr(error))
            raise UnavailableError("cannot reach the server that owns these hosts") from error
        if answer.status_code == 429:
            raise BusyError("the ingest queue of the server that owns these hosts is full")
        if answer.status_code != 200:
            log.warning("a server rejected records", url=to.url, status=answer.status_code)
            raise UnavailableError("the server that owns these hosts does not accept them now")
        try:
            return msgspec.msgpack.decode(answer.content, type=Receipt)
        except msgspec.DecodeError as error:
            raise UnavailableError("invalid response from another server") from error

    async def _client(self, to: RunningServer) -> httpx.AsyncClient:
        if to.url.startswith("https:") and not to.certificate:
            raise UnavailableError("the server that owns these hosts is starting")
        key = to.url, to.certificate
        client = self._clients.get(key)
        if client is None:
            for known in [one for one in self._clients if one[0] == to.url]:
                await self._clients.pop(known).aclose()  # its certificate was replaced
            client = self._clients[key] = httpx.AsyncClient(
                base_url=to.url,
                verify=_context(to.certificate) if to.certificate else False,
                timeout=httpx.Timeout(FORWARD_INGEST_S, connect=FORWARD_INGEST_CONNECT_S),
                limits=httpx.Limits(
                    max_connections=FORWARD_CONNECTIONS_MAX,
                    max_keepalive_connections=FORWARD_CONNECTIONS_MAX,
                ),
                trust_env=False,
            )
        return client


def _context(certificate: str) -> ssl.SSLContext:
    """Returns a context that trusts exactly this certificate, regardless of its issuer and
    names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context
