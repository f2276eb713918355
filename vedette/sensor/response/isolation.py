"""Network isolation: the order, the allowed endpoints, and enforcement.

The order is saved to a file, so that after a restart of the sensor or host the isolation continues
until the server ends it. The addresses of the server and of the name servers are resolved once,
when the order arrives, and stay fixed while it is active: changes of /etc/resolv.conf, /etc/hosts
or a DNS answer on an isolated host open nothing. Only the server's list of further endpoints may
change meanwhile; it arrives over the authenticated connection.

`enforce` compares the kernel's table with the loaded one, and reloads it if it was changed or
deleted. An invalid entry of the server's list is skipped and reported; the host is isolated without
it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ..durable_files import write_durably
from ..limits import ISOLATION_ENDPOINTS_MAX, ISOLATION_PROBLEMS_MAX, PROBLEM_CHARS_MAX
from . import firewall
from .firewall import EVERY_PORT, Allowed, Endpoint, IsolationError


@dataclass(frozen=True)
class Order:
    """An isolation order. `addresses` and `resolvers` are fixed; `entries` are as sent."""

    server: tuple[str, int]
    addresses: frozenset[Endpoint]
    resolvers: frozenset[str]
    entries: tuple[str, ...]


def endpoint(text: str) -> Endpoint:
    """Parses `ip:port`, `[ip]:port`, or `ip` for all ports. Raises ValueError for anything else,
    including scoped addresses: the scope of an IPv6 address is free text and would become part of
    the rules."""
    ip, colon, port = text.rpartition(":")
    if not colon or (":" in ip and not ip.startswith("[")):
        return plain_address(text), EVERY_PORT
    if not port.isdecimal() or len(port) > 5 or not 0 < int(port) < 65_536:
        raise ValueError(f"not an address with a port: {text}")
    return plain_address(ip.strip("[]")), int(port)


def plain_address(text: str) -> str:
    """Returns an address as it appears in packets: IPv4 mapped into IPv6 becomes IPv4. Raises
    ValueError."""
    if "%" in text:
        raise ValueError(f"not an address without a scope: {text}")
    address = ip_address(text)
    return str(getattr(address, "ipv4_mapped", None) or address)


def resolve(host: str, port: int) -> frozenset[Endpoint]:
    """Returns all addresses of a host; empty if the name cannot be resolved."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    addresses = (str(entry[4][0]).partition("%")[0] for entry in found)
    return frozenset((plain_address(address), port) for address in addresses)


_RESOLV_CONF = Path("/etc/resolv.conf")


def resolvers(path: Path = _RESOLV_CONF) -> frozenset[str]:
    """Returns the name servers of the host."""
    found = set()
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        words = line.split()
        if words[:1] == ["nameserver"] and len(words) > 1:
            try:
                found.add(plain_address(words[1].partition("%")[0]))
            except ValueError:
                continue
    return frozenset(sorted(found)[:ISOLATION_ENDPOINTS_MAX])


class Isolation:
    """Isolates the host. For a single thread, except `blocks` and `server_addresses`, which are
    thread-safe."""

    def __init__(
        self, state: Path, *, dns: bool, dhcp: bool, resolv_conf: Path = _RESOLV_CONF
    ) -> None:
        self._state, self._dns, self._dhcp = state, dns, dhcp
        self._resolv_conf = resolv_conf
        self._order: Order | None = None
        self._allowed: Allowed | None = None
        self._content = ""
        self._entry_problems: list[str] = []
        self._repairs = 0
        self._is_saved = False

    @property
    def is_on(self) -> bool:
        """Whether the rules were in the kernel when they were last loaded or compared."""
        return self._allowed is not None

    @property
    def problems(self) -> list[str]:
        """Problem messages for the check-in, at most ISOLATION_PROBLEMS_MAX; [] if there are
        none."""
        found = self._entry_problems[:ISOLATION_PROBLEMS_MAX]
        if self._repairs:
            times = f"{self._repairs} time{'s' if self._repairs > 1 else ''}"
            text = f"the nftables table was changed or deleted, and loaded again ({times})"
            found = [text, *found[: ISOLATION_PROBLEMS_MAX - 1]]
        return found

    def blocks(self, ip: str, port: int) -> bool:
        """Whether a connection to this endpoint is blocked now."""
        allowed = self._allowed
        return allowed is not None and not allowed.has(ip, port)

    def server_addresses(self) -> list[Endpoint]:
        """Returns the fixed addresses of the server while an order is active; else []."""
        order = self._order
        return sorted(order.addresses) if order is not None else []

    def resume(self, server: tuple[str, int]) -> None:
        """Loads and enforces the order that was active when the sensor stopped, if there is one.
        Raises IsolationError like `enforce`; the order is then kept for the next attempt."""
        if self._order is not None:
            return
        try:
            saved = json.loads(self._state.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise IsolationError(f"{self._state} cannot be read: {error}") from error
        self._order = self._parse_state(saved, server)
        self.enforce()

    def _parse_state(self, saved: Any, server: tuple[str, int]) -> Order:
        """Returns the saved order. Resolves the addresses again if the order names another server
        (the settings were changed), or if a version that saved only entries wrote it."""
        if isinstance(saved, list):
            return self._new_order(server, frozenset(), tuple(map(str, saved)))
        try:
            entries = tuple(map(str, saved["entries"]))
            if tuple(saved["server"]) != server:
                return self._new_order(server, frozenset(), entries)
            pairs = [(ip_address(ip), int(port)) for ip, port in saved["addresses"]]
            names = frozenset(str(ip_address(ip)) for ip in saved["resolvers"])
        except (ValueError, KeyError, TypeError) as error:
            raise IsolationError(f"{self._state} is damaged: {error}") from error
        return Order(server, frozenset((str(ip), port) for ip, port in pairs), names, entries)

    def _new_order(
        self, server: tuple[str, int], peer: frozenset[Endpoint], entries: tuple[str, ...]
    ) -> Order:
        addresses = peer | frozenset(sorted(resolve(*server))[:ISOLATION_ENDPOINTS_MAX])
        if not addresses:
            raise IsolationError("the server's address is not known")
        names = resolvers(self._resolv_conf) if self._dns else frozenset()
        return Order(server, addresses, names, entries)

    def begin(
        self, server: tuple[str, int], entries: Iterable[str], peer: Endpoint | None = None
    ) -> None:
        """Isolates the host, or changes the allowed entries of the active order. `peer` is the
        address of the connection that delivered the order; it is allowed even if the name does not
        resolve. Raises IsolationError; the rules are then unchanged. Raises OSError if the host is
        isolated, but the order could not be saved for a restart."""
        texts = tuple(entries)
        order = self._order
        if order is None or order.server != server:
            order = self._new_order(server, frozenset([peer] if peer else []), texts)
        else:
            order = replace(order, entries=texts)
        if order != self._order or self._allowed is None:
            self._order, self._is_saved = order, False
            self._load(order)
        if not self._is_saved:
            self._save(order)
            self._is_saved = True

    def enforce(self) -> None:
        """Compares the kernel's table with the order, and reloads it if it differs. Does nothing
        without an order. Raises IsolationError if the host is not isolated."""
        order = self._order
        if order is None:
            return
        if self._allowed is not None:
            try:
                if firewall.table_content() == self._content:
                    return
            except IsolationError:
                self._allowed = None
                raise
            self._repairs += 1
        self._load(order)

    def _load(self, order: Order) -> None:
        allowed, problems = self._allowed_by(order)
        try:
            firewall.load(allowed)
            content = firewall.table_content()
        except IsolationError:
            if not self._content or self._is_changed():
                self._allowed = None
            raise
        if not content:
            self._allowed = None
            raise IsolationError("the table is gone as soon as it is loaded")
        self._content, self._allowed, self._entry_problems = content, allowed, problems

    def _is_changed(self) -> bool:
        try:
            return firewall.table_content() != self._content
        except IsolationError:
            return True

    def _allowed_by(self, order: Order) -> tuple[Allowed, list[str]]:
        """Returns the endpoints of the order, and why entries were skipped."""
        endpoints, problems = set(order.addresses), []
        for text in order.entries[:ISOLATION_ENDPOINTS_MAX]:
            try:
                endpoints.add(endpoint(text))
            except ValueError as error:
                problems.append(f"isolation entry left out: {error}"[:PROBLEM_CHARS_MAX])
        left_out = len(order.entries) - ISOLATION_ENDPOINTS_MAX
        if left_out > 0:
            problems.insert(0, f"{left_out} isolation entries left out: there are too many")
        return Allowed(frozenset(endpoints), order.resolvers, self._dhcp), problems

    def _save(self, order: Order) -> None:
        saved = {
            "server": order.server,
            "addresses": sorted(order.addresses),
            "resolvers": sorted(order.resolvers),
            "entries": order.entries,
        }
        write_durably(self._state, json.dumps(saved).encode())

    def end(self) -> None:
        """Ends the order. Raises IsolationError if the rules are still active."""
        self.lift()
        self._order, self._repairs = None, 0
        self._state.unlink(missing_ok=True)

    def lift(self) -> None:
        """Deletes the rules and keeps the order. Called when the sensor stops. Does nothing without
        an order. Raises IsolationError if the rules are still active."""
        if self._allowed is not None or self._order is not None or self._state.exists():
            firewall.remove()
            self._allowed, self._content, self._entry_problems = None, "", []
