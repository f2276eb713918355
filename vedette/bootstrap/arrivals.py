"""Connections that were accepted and are not set up, with their client's address."""

import asyncio
import socket
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address
from typing import Any


@dataclass(slots=True, eq=False)
class Arrival:
    """A connection. `task` sets it up, once its client has begun a handshake."""

    client: socket.socket
    address: str
    since_s: float
    """In the event loop's time."""
    on_spare: bool
    is_watched: bool = False
    """The acceptor's selector wakes when something arrives."""
    is_announced: bool = False
    """A proxy says first where it comes from."""
    origin: tuple[str, int] | None = None
    """What the proxy said; None: nothing."""
    is_answered: bool = False
    """It got an answer in plain HTTP, and is only waited for to close."""
    task: asyncio.Task[None] | None = field(default=None)


class Arrivals:
    """All of them in the order of arrival, and those whose handshake can begin, by address."""

    def __init__(self) -> None:
        self._all: dict[Arrival, None] = {}
        self._counts: Counter[str] = Counter()
        self._ready: dict[str, deque[Arrival]] = {}
        """The address whose turn it is comes first."""

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Arrival]:
        return iter(self._all)

    def add(self, arrival: Arrival) -> None:
        self._all[arrival] = None
        self._counts[arrival.address] += 1

    def remove(self, arrival: Arrival) -> None:
        """Idempotent."""
        if arrival not in self._all:
            return
        del self._all[arrival]
        self._counts[arrival.address] -= 1
        if not self._counts[arrival.address]:
            del self._counts[arrival.address]

    def readdress(self, arrival: Arrival, address: str) -> None:
        """From now on an arrival counts for another address; its place stays."""
        self._counts[address] += 1
        self._counts[arrival.address] -= 1
        if not self._counts[arrival.address]:
            del self._counts[arrival.address]
        arrival.address = address

    def oldest_of_the_largest(self) -> Arrival:
        """The first arrival of the address that has most. There must be one."""
        largest = max(self._counts, key=self._counts.__getitem__)
        return next(one for one in self._all if one.address == largest)

    def waiting_since(self, time_s: float) -> list[Arrival]:
        """Those that arrived before a time and are not being set up."""
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
        """The next handshake to begin: one of each address in turn. None without one."""
        while self._ready:
            address, waiting = next(iter(self._ready.items()))
            del self._ready[address]
            arrival = waiting.popleft()
            if waiting:
                self._ready[address] = waiting  # behind the others
            if arrival in self._all:
                return arrival
        return None


def address_of(peer: Any) -> str:
    """What connections of one client have in common: its IPv4 address, or the network of 64 bits
    of its IPv6 address, which a host may fill alone. `peer` is as `accept` returns it."""
    host = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    if ":" not in host:
        return host
    try:
        found = IPv6Address(host.partition("%")[0])
    except AddressValueError:
        return host
    mapped = found.ipv4_mapped
    return str(mapped) if mapped is not None else found.packed[:8].hex()
