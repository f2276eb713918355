"""Accepted connections that are not set up, by client address."""

import asyncio
import socket
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address
from typing import Any


@dataclass(slots=True, eq=False)
class Arrival:
    """An accepted connection. `task` sets it up after its client has begun a handshake."""

    client: socket.socket
    address: str
    since_s: float
    """Time by the event loop's clock."""
    on_spare: bool
    is_watched: bool = False
    """Whether the acceptor's selector watches it."""
    is_announced: bool = False
    """Whether a proxy must first announce the client's address."""
    origin: tuple[str, int] | None = None
    """Address announced by the proxy; None for none."""
    is_answered: bool = False
    """Whether it got a plain-HTTP response and only waits to be closed."""
    ignored_bytes: int = 0
    """Bytes received after that response."""
    task: asyncio.Task[None] | None = field(default=None)


class Arrivals:
    """All arrivals in order, and arrivals whose handshake can begin, by address."""

    def __init__(self) -> None:
        self._all: dict[Arrival, None] = {}
        self._counts: Counter[str] = Counter()
        self._ready: dict[str, deque[Arrival]] = {}
        """The first address is next."""

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Arrival]:
        return iter(self._all)

    def add(self, arrival: Arrival) -> None:
        self._all[arrival] = None
        self._counts[arrival.address] += 1

    def remove(self, arrival: Arrival) -> None:
        """Removes an arrival. Idempotent."""
        if arrival not in self._all:
            return
        del self._all[arrival]
        self._counts[arrival.address] -= 1
        if not self._counts[arrival.address]:
            del self._counts[arrival.address]

    def readdress(self, arrival: Arrival, address: str) -> None:
        """Counts an arrival for another address; keeps its position."""
        self._counts[address] += 1
        self._counts[arrival.address] -= 1
        if not self._counts[arrival.address]:
            del self._counts[arrival.address]
        arrival.address = address

    def oldest_of_the_largest(self) -> Arrival:
        """Returns the first arrival of the address with the most arrivals. Requires at least one
        arrival."""
        largest = max(self._counts, key=self._counts.__getitem__)
        return next(one for one in self._all if one.address == largest)

    def waiting_since(self, time_s: float) -> list[Arrival]:
        """Returns arrivals before a time that are not being set up."""
        found = []
        for one in self._all:
            if one.since_s > time_s:
                break
            if one.task is None:
                found.append(one)
        return found

    def make_ready(self, arrival: Arrival) -> None:
        self._ready.setdefault(arrival.address, deque()).append(arrival)

    def next_ready(self) -> Arrival | None:
        """Returns the next arrival whose handshake can begin, round-robin over addresses; None if
        there is none."""
        while self._ready:
            address, waiting = next(iter(self._ready.items()))
            del self._ready[address]
            arrival = waiting.popleft()
            if waiting:
                self._ready[address] = waiting  # to the end of the queue
            if arrival in self._all:
                return arrival
        return None


def address_of(peer: Any) -> str:
    """Returns the key that connections of one client share: the IPv4 address, or the /64 network of
    an IPv6 address, all of which a host may use. `peer` is as returned by `accept`."""
    host = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    if ":" not in host:
        return host
    try:
        found = IPv6Address(host.partition("%")[0])
    except AddressValueError:
        return host
    mapped = found.ipv4_mapped
    return str(mapped) if mapped is not None else found.packed[:8].hex()
