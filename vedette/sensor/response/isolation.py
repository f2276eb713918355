"""Network isolation by a table of our own in nftables: `inet vedette_sensor`.

While it is there, the host speaks with itself, the server, what the server allows, and, as
configured, its name servers and DHCP. Everything else is dropped, also on connections that
exist; TCP that goes out is refused with a reset, so that programs notice. The chains come
before those of a firewall (priority -300 accepts nothing that the firewall would drop: a packet
passes both). Only this table is made and removed.

The order is kept in a file: a restart of the sensor, or of the host, isolates again until the
server takes it back.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from ..host.durable_files import write_durably

TABLE = "vedette_sensor"
_NFT_S = 20.0
_ALLOWED_MAX = 256
_DNS, _DHCP4, _DHCP6 = 53, "67, 68", "546, 547"


class IsolationError(Exception):
    """The rules could not be changed; the text is what nft said."""


@dataclass(frozen=True)
class Allowed:
    """Whom an isolated host may speak with: addresses with a port."""

    places: frozenset[tuple[str, int]]
    resolvers: frozenset[str] = field(default_factory=frozenset)
    dhcp: bool = True

    def has(self, ip: str, port: int) -> bool:
        if (ip, port) in self.places or (port == _DNS and ip in self.resolvers):
            return True
        try:
            return ip_address(ip).is_loopback
        except ValueError:
            return False


def place(text: str) -> tuple[str, int]:
    """`ip:port` or `[ip]:port`. ValueError for anything else."""
    ip, _, port = text.rpartition(":")
    number = int(port)
    if not 0 < number < 65_536:
        raise ValueError(f"no port: {text}")
    return str(ip_address(ip.strip("[]"))), number


def resolve(host: str, port: int) -> frozenset[tuple[str, int]]:
    """All addresses of the server, as far as they are known now."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    return frozenset((str(entry[4][0]), port) for entry in found)


def resolvers(path: Path = Path("/etc/resolv.conf")) -> frozenset[str]:
    """The name servers of the host."""
    found = set()
    try:
        for line in path.read_text(errors="replace").splitlines():
            words = line.split()
            if words[:1] == ["nameserver"] and len(words) > 1:
                found.add(str(ip_address(words[1].partition("%")[0])))
    except (OSError, ValueError):
        pass
    return frozenset(found)


def ruleset(allowed: Allowed) -> str:
    """What `nft -f` is given: the old table goes and the new one comes in one step."""
    out, into = [], []
    for ip, port in sorted(allowed.places)[:_ALLOWED_MAX]:
        family = "ip6" if ":" in ip else "ip"
        out.append(f"{family} daddr {ip} tcp dport {port} accept")
        into.append(f"{family} saddr {ip} tcp sport {port} ct state established accept")
    for ip in sorted(allowed.resolvers)[:_ALLOWED_MAX]:
        family = "ip6" if ":" in ip else "ip"
        out.append(f"{family} daddr {ip} meta l4proto {{ tcp, udp }} th dport {_DNS} accept")
        into.append(
            f"{family} saddr {ip} meta l4proto {{ tcp, udp }} th sport {_DNS} "
            "ct state established accept"
        )
    if allowed.dhcp:
        both = f"udp sport {{ {_DHCP4}, {_DHCP6} }} udp dport {{ {_DHCP4}, {_DHCP6} }} accept"
        out.append(both)
        into.append(both)
    neighbours = (
        "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, "
        "nd-router-solicit } accept"
    )
    return _TEMPLATE.format(
        table=TABLE,
        into="\n    ".join([*into, neighbours]),
        out="\n    ".join([*out, neighbours]),
    )


_TEMPLATE = """\
table inet {table}
delete table inet {table}
table inet {table} {{
  counter refused {{ }}
  chain input {{
    type filter hook input priority -300; policy accept;
    iif lo accept
    {into}
    drop
  }}
  chain forward {{
    type filter hook forward priority -300; policy accept;
    drop
  }}
  chain output {{
    type filter hook output priority -300; policy accept;
    oif lo accept
    {out}
    counter name refused
    meta l4proto tcp reject with tcp reset
    drop
  }}
}}
"""


class Isolation:
    """The order, and the rules that carry it out. For one thread; `blocks` for any."""

    def __init__(self, state: Path, *, dns: bool, dhcp: bool) -> None:
        self._state, self._dns, self._dhcp = state, dns, dhcp
        self._allowed: Allowed | None = None

    @property
    def is_on(self) -> bool:
        return self._allowed is not None

    def blocks(self, ip: str, port: int) -> bool:
        """Whether a connection there is refused now."""
        allowed = self._allowed
        return allowed is not None and not allowed.has(ip, port)

    def resume(self, server: tuple[str, int]) -> None:
        """Carries out the order that was in force when the sensor stopped. IsolationError."""
        try:
            texts = json.loads(self._state.read_bytes())
        except (OSError, ValueError):
            return
        self.begin(server, [str(text) for text in texts])

    def begin(self, server: tuple[str, int], texts: list[str]) -> None:
        """Isolates, or changes who is allowed. IsolationError: the rules are as before."""
        places = set(resolve(*server))
        try:
            places.update(place(text) for text in texts[:_ALLOWED_MAX])
        except ValueError as error:
            raise IsolationError(f"not an address: {error}") from error
        if not resolve(*server):
            raise IsolationError("the server's address is not known")
        allowed = Allowed(frozenset(places), resolvers() if self._dns else frozenset(), self._dhcp)
        if allowed == self._allowed:
            return
        _nft(ruleset(allowed))
        write_durably(self._state, json.dumps(texts).encode())
        self._allowed = allowed

    def end(self) -> None:
        """The order was taken back. IsolationError when the rules are still there."""
        self.lift()
        self._state.unlink(missing_ok=True)

    def lift(self) -> None:
        """Removes the rules and keeps the order: the sensor stops. Fine when there are none."""
        if self._allowed is not None or self._state.exists():
            _nft(f"table inet {TABLE}\ndelete table inet {TABLE}\n")
            self._allowed = None

    def refused_packets(self) -> int:
        """Packets refused since the rules were made; 0 when that cannot be asked."""
        try:
            text = _nft("", "-j", "list", "counter", "inet", TABLE, "refused")
            entries = json.loads(text)["nftables"]
            return int(next(one["counter"]["packets"] for one in entries if "counter" in one))
        except (IsolationError, ValueError, KeyError, StopIteration):
            return 0


def is_available() -> bool:
    return shutil.which("nft", path=_PATH) is not None


_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"


def _nft(text: str, *arguments: str) -> str:
    program = shutil.which("nft", path=_PATH)
    if program is None:
        raise IsolationError("the nft program is missing")
    try:
        done = subprocess.run(  # noqa: S603 - nft by its full path
            [program, *(arguments or ("-f", "-"))],
            input=text.encode(),
            capture_output=True,
            timeout=_NFT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IsolationError(str(error)) from error
    if done.returncode:
        raise IsolationError(done.stderr.decode(errors="replace").strip()[:500])
    return done.stdout.decode(errors="replace")
