"""Accepts connections in place of the event loop's own server, which neither counts TLS handshakes
nor handles a shortage of file descriptors.

- A connection is set up only when the complete beginning of a TLS handshake has arrived, which
  every honest client sends within a round trip. Until then it costs only a socket, so that silent
  connections and garbage do not delay others. The acceptor reads it immediately after accepting:
  during a flood the data is already there, and waiting for a wakeup would be the largest cost.
- Connections that are not set up have a deadline and a limit. Above the limit, the oldest
  connection of the address with the most connections is closed, so that a flood from some addresses
  does not displace others. Handshakes begin round-robin over the addresses.
- A proxy that forwards TLS announces the client's address in a PROXY header. The header is required
  from proxies that are configured to send it, and ignored from all others.
- A few file descriptors are kept open as spares. When the process has no other descriptor left, a
  spare is closed to accept one more connection, which only serves health checks and check-ins. When
  the spares are used up, connections wait in the kernel's backlog.
"""

import asyncio
import errno
import os
import select
import socket
import ssl
from collections.abc import Callable
from typing import Final

from vedette.bootstrap.arrivals import Arrival, Arrivals, address_of
from vedette.bootstrap.descriptors import SocketLimits
from vedette.bootstrap.http_protocol import BoundedHttpProtocol
from vedette.bootstrap.opening import (
    Opening,
    accepted,
    answer_plain_http,
    close,
    ignored_of,
    opening_of,
    origin_of,
    unwatch,
    watch,
)
from vedette.limits import Limit

HANDSHAKE_DEADLINE_S: Limit[float] = 10.0
"""Timeout (s) of a TLS handshake: three round trips, or a few seconds on a loaded machine."""

HANDSHAKE_CHECK_S: Limit[float] = 1.0
"""Interval (s) for checking the deadline of connections that have not begun a handshake."""

PLAIN_IGNORED_BYTES_MAX: Limit[int] = 1024 * 1024
"""Bytes that are read and ignored from a plain-HTTP client after its response; a browser sends some
kilobytes."""

SPARE_DESCRIPTORS: Limit[int] = 8
"""File descriptors kept open to accept health checks and check-ins when no others are left."""

SPARE_DESCRIPTORS_RETRY_S: Limit[float] = 0.1
"""Pause (s) before the next attempt to accept a connection when the spare descriptors are used
up."""


_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_EVENTS_AT_ONCE: Final = 16
"""Connections accepted, read or closed before the event loop does other work; each costs 0.1 ms.
The end of a flood brings 1,500 at once, and the loop's own selector returns up to 1,024."""

_HANDSHAKES_AT_ONCE: Final = 4
"""Handshakes begun before the event loop does other work; each costs 0.5 ms."""


class Acceptor:
    """Accepts connections on a listening socket, from `start` until `close`."""

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        new_protocol: Callable[[], BoundedHttpProtocol],
        allowed: SocketLimits,
        announces: Callable[[str], bool],
    ) -> None:
        """`announces` returns whether an address belongs to a proxy whose connections begin with a
        PROXY header."""
        self._listener = listener
        self._tls = tls
        self._new_protocol = new_protocol
        self._allowed = allowed
        self._announces = announces
        self._arrivals = Arrivals()
        """Connections that are not set up."""
        self._selector = select.epoll()
        """Covers the listening socket and connections whose handshake has not begun."""
        self._watched: dict[int, Arrival] = {}
        """Arrivals by file descriptor."""
        self._is_accepting = False
        self._is_beginning = False
        self._spares: list[int] = []
        self._retry: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None

    def use(self, tls: ssl.SSLContext) -> None:
        """Uses a new TLS context for new connections; existing ones keep theirs. Callable from any
        thread."""
        self._tls = tls

    def start(self) -> None:
        self._listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self._selector, self._take_turn)
        self._resume()
        self._close_overdue()

    async def close(self) -> None:
        """Closes the listening socket and connections that are not set up. Idempotent."""
        if not self._selector.closed:
            asyncio.get_running_loop().remove_reader(self._selector)
        for timer in (self._retry, self._sweep):
            if timer is not None:
                timer.cancel()
        tasks = [one.task for one in self._arrivals if one.task is not None]
        for one in list(self._arrivals):
            self._drop(one)
        await asyncio.gather(*tasks, return_exceptions=True)
        self._selector.close()
        self._listener.close()
        while self._spares:
            os.close(self._spares.pop())

    def _resume(self) -> None:
        self._keep_spares()
        self._selector.register(self._listener, select.EPOLLIN)
        self._is_accepting = True

    def _take_turn(self) -> None:
        """Handles ready sockets, up to a bound; the rest follows after other work of the event
        loop.

        Accepts last, so that new connections can use the descriptors of closed ones. When more
        sockets are ready than one turn handles, the listening socket may be behind them, so it gets
        its turn every time.
        """
        ready = [descriptor for descriptor, _ in self._selector.poll(0, _EVENTS_AT_ONCE)]
        for descriptor in ready:
            if descriptor in self._watched:
                self._read_opening(self._watched[descriptor])
        if self._is_accepting and (
            len(ready) == _EVENTS_AT_ONCE or self._listener.fileno() in ready
        ):
            self._accept()

    def _accept(self) -> None:
        """Accepts waiting connections, up to a bound. If the backlog overflows, a client retries
        only after seconds."""
        on_spare = False
        for _ in range(_EVENTS_AT_ONCE):
            try:
                client, address = accepted(self._listener)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    continue  # the client disconnected
                if not self._spares:
                    self._pause()
                    return
                os.close(self._spares.pop())
                on_spare = True
                continue
            self._take_in(client, address, on_spare)
            on_spare = False
        self._keep_spares()

    def _pause(self) -> None:
        self._selector.unregister(self._listener)
        self._is_accepting = False
        loop = asyncio.get_running_loop()
        self._retry = loop.call_later(SPARE_DESCRIPTORS_RETRY_S, self._resume)

    def _take_in(self, client: socket.socket, peer: tuple[str, int], on_spare: bool) -> None:
        if len(self._arrivals) >= self._allowed.handshakes:
            self._drop(self._arrivals.oldest_of_the_largest())
        now_s = asyncio.get_running_loop().time()
        arrival = Arrival(client, address_of(peer), now_s, on_spare)
        arrival.is_announced = self._announces(peer[0])
        self._arrivals.add(arrival)
        if self._tls is None and not arrival.is_announced:
            self._set_up(arrival)
        else:
            self._read_opening(arrival)

    def _read_opening(self, arrival: Arrival) -> None:
        """Reads the start of a connection: sets it up, waits for more, answers plain HTTP, or
        closes it."""
        if arrival.is_answered:
            ignored_bytes = ignored_of(arrival.client)
            arrival.ignored_bytes += ignored_bytes or 0
            if ignored_bytes is None or arrival.ignored_bytes > PLAIN_IGNORED_BYTES_MAX:
                self._drop(arrival)
            return
        match self._next_opening(arrival):
            case Opening.TLS:
                self._unwatch(arrival)
                self._arrivals.make_ready(arrival)
                self._begin_soon()
            case Opening.PLAIN_HTTP:
                arrival.is_answered = True
                answer_plain_http(arrival.client)
                self._watch(arrival)
            case Opening.UNUSABLE:
                self._drop(arrival)
            case Opening.INCOMPLETE:
                self._watch(arrival)

    def _next_opening(self, arrival: Arrival) -> Opening:
        """Returns the state of the opening. On a plain-HTTP server, a connection without a pending
        PROXY header counts as `TLS`: ready to be set up."""
        if arrival.is_announced:
            found = origin_of(arrival.client)
            if isinstance(found, Opening):
                return found
            arrival.is_announced = False
            arrival.origin = found.client
            if found.client is not None:
                self._arrivals.readdress(arrival, address_of(found.client))
        return opening_of(arrival.client) if self._tls is not None else Opening.TLS

    def _watch(self, arrival: Arrival) -> None:
        if not arrival.is_watched:
            arrival.is_watched = True
            watch(self._selector, arrival.client)
            self._watched[arrival.client.fileno()] = arrival

    def _unwatch(self, arrival: Arrival) -> None:
        if arrival.is_watched:
            arrival.is_watched = False
            unwatch(self._selector, arrival.client)
            del self._watched[arrival.client.fileno()]

    def _begin_soon(self) -> None:
        if not self._is_beginning:
            self._is_beginning = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        """Begins some handshakes, then yields to the event loop before the next ones."""
        self._is_beginning = False
        for _ in range(_HANDSHAKES_AT_ONCE):
            arrival = self._arrivals.next_ready()
            if arrival is None:
                return
            self._set_up(arrival)
        self._begin_soon()

    def _set_up(self, arrival: Arrival) -> None:
        protocol = self._new_protocol()
        protocol.is_reserved = arrival.on_spare
        protocol.origin = arrival.origin
        task = asyncio.get_running_loop().create_task(self._connect(arrival.client, protocol))
        arrival.task = task
        task.add_done_callback(lambda _: self._set_up_ended(arrival))

    def _set_up_ended(self, arrival: Arrival) -> None:
        self._arrivals.remove(arrival)
        if arrival.task is not None and arrival.task.cancelled():
            arrival.client.close()  # no other owner if the task never began

    async def _connect(self, client: socket.socket, protocol: BoundedHttpProtocol) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self._tls is None:
                await loop.connect_accepted_socket(lambda: protocol, client)
                return
            await loop.connect_accepted_socket(
                lambda: protocol,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_DEADLINE_S,
            )
        except OSError:
            return  # disconnected, or not TLS: nothing to report

    def _drop(self, arrival: Arrival) -> None:
        """Closes a connection that is not set up."""
        self._arrivals.remove(arrival)
        if arrival.task is not None:
            arrival.task.cancel()
        else:
            self._watched.pop(arrival.client.fileno(), None)
            close(arrival.client)

    def _close_overdue(self) -> None:
        """Closes connections whose handshake has not begun in time. The event loop applies the same
        deadline to handshakes in progress."""
        loop = asyncio.get_running_loop()
        begun_before_s = loop.time() - HANDSHAKE_DEADLINE_S
        overdue = self._arrivals.waiting_since(begun_before_s)
        for arrival in overdue[:_EVENTS_AT_ONCE]:
            self._drop(arrival)
        pause_s = 0 if len(overdue) > _EVENTS_AT_ONCE else HANDSHAKE_CHECK_S
        self._sweep = loop.call_later(pause_s, self._close_overdue)

    def _keep_spares(self) -> None:
        try:
            while len(self._spares) < SPARE_DESCRIPTORS:
                self._spares.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return  # none is free; the next connection retries
