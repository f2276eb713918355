"""Connections to feed servers, through the guard of outgoing connections.

A name is resolved once, and the connection goes to the address that was checked. Each redirect is
checked as well.
"""

import ssl
import time
from collections.abc import Iterable

import httpcore

from vedette.errors import BadRequestError
from vedette.notify.egress import EgressPolicy, resolve


class FeedUnreachableError(BadRequestError):
    """A document cannot be fetched; the message gives the reason."""

    reason = "feed_unreachable"


class GuardedBackend(httpcore.SyncBackend):
    """Connects only to permitted addresses; TLS still verifies the name in the URL. Everything ends
    at `until_s` (monotonic clock), however slowly the server responds."""

    def __init__(self, policy: EgressPolicy | None, until_s: float) -> None:
        """Without a policy all addresses are permitted: for the operator's own proxy."""
        self._policy = policy
        self._until_s = until_s

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connects to the first address that answers. Raises EgressError, and ConnectError."""
        problem: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in self._addresses(host, port):
            try:
                made = super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
            else:
                return _TimedStream(made, self._until_s)
        raise problem

    def _addresses(self, host: str, port: int) -> list[str]:
        if self._policy is None:
            return [host]
        try:
            return [address for _, address in resolve(host, port, self._policy)]
        except OSError as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from None


class _TimedStream(httpcore.NetworkStream):
    """A stream with a deadline."""

    def __init__(self, stream: httpcore.NetworkStream, until_s: float) -> None:
        self._stream = stream
        self._until_s = until_s

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left_s(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left_s(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        made = self._stream.start_tls(ssl_context, server_hostname, self._left_s(timeout))
        return _TimedStream(made, self._until_s)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)

    def _left_s(self, timeout: float | None) -> float:
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise httpcore.ReadTimeout("it takes too long (setting feed_timeout_s)")
        return left_s if timeout is None else min(left_s, timeout)


def check_behind_proxy(host: str, port: int, policy: EgressPolicy) -> None:
    """Rejects a host behind a proxy if it resolves here to a forbidden address. A name that only
    the proxy can resolve is left to the proxy. Raises EgressError."""
    try:
        resolve(host, port, policy)
    except OSError:
        return
