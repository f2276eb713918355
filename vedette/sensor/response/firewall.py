"""The nftables table that isolates the host: `inet vedette_sensor`.

Renders the rules, loads them in a transaction, and reads them back for comparison. Creates and
deletes only this table. Its chains have priority -300, before those of a firewall. Both must accept
a packet, so nothing passes that the firewall would drop.

Outgoing TCP that is not allowed is answered with a reset, so that programs notice at once.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from ..limits import NFT_ERROR_CHARS_MAX, NFT_TIMEOUT_S

TABLE = "vedette_sensor"
DNS_PORT = 53
_DHCP_PORTS = "67, 68, 546, 547"
_SEARCH_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_VOLATILE_KEYS = frozenset({"handle", "packets", "bytes"})
_NEIGHBOUR_DISCOVERY = (
    "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, "
    "nd-router-solicit } accept"
)

Endpoint = tuple[str, int]
"""IP address and port."""

EVERY_PORT = 0
"""Port value that allows all of TCP and UDP."""


class IsolationError(Exception):
    """Raised if the rules could not be changed or read. The message is nft's error."""


@dataclass(frozen=True)
class Allowed:
    """Destinations that an isolated host may reach: TCP endpoints and whole addresses, name
    servers, DHCP."""

    endpoints: frozenset[Endpoint]
    resolvers: frozenset[str] = field(default_factory=frozenset)
    dhcp: bool = True

    def has(self, ip: str, port: int) -> bool:
        if (ip, EVERY_PORT) in self.endpoints or (ip, port) in self.endpoints:
            return True
        if port == DNS_PORT and ip in self.resolvers:
            return True
        try:
            return ip_address(ip).is_loopback
        except ValueError:
            return False


def ruleset(allowed: Allowed) -> str:
    """Returns the input of `nft -f` that replaces the table in a transaction."""
    out, into = [], []
    for ip, port in sorted(allowed.endpoints):
        family = _family(ip)
        to, of = f"tcp dport {port}", f"tcp sport {port}"
        if port == EVERY_PORT:
            to = of = "meta l4proto { tcp, udp }"
        out.append(f"{family} daddr {ip} {to} accept")
        into.append(f"{family} saddr {ip} {of} ct state established accept")
    for ip in sorted(allowed.resolvers):
        family, protocols = _family(ip), "meta l4proto { tcp, udp }"
        out.append(f"{family} daddr {ip} {protocols} th dport {DNS_PORT} accept")
        into.append(
            f"{family} saddr {ip} {protocols} th sport {DNS_PORT} ct state established accept"
        )
    if allowed.dhcp:
        both = f"udp sport {{ {_DHCP_PORTS} }} udp dport {{ {_DHCP_PORTS} }} accept"
        out.append(both)
        into.append(both)
    return _TEMPLATE.format(
        table=TABLE,
        into="\n    ".join([*into, _NEIGHBOUR_DISCOVERY]),
        out="\n    ".join([*out, _NEIGHBOUR_DISCOVERY]),
    )


def _family(ip: str) -> str:
    return "ip6" if ":" in ip else "ip"


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


def load(allowed: Allowed) -> None:
    """Replaces the table. Raises IsolationError; the table is then unchanged."""
    _nft(ruleset(allowed), "-f", "-")


def remove() -> None:
    """Deletes the table if it exists. Raises IsolationError if it could not be deleted."""
    _nft(f"table inet {TABLE}\ndelete table inet {TABLE}\n", "-f", "-")


def table_content() -> str:
    """Returns the kernel's table in a comparable form: JSON without handles and counters; "" if
    there is no table. Raises IsolationError if it cannot be read."""
    listed = _list("tables")
    if not any(one.get("table", {}).get("name") == TABLE for one in listed):
        return ""
    content = _list("table", "inet", TABLE)
    return json.dumps([_stable(one) for one in content if "metainfo" not in one], sort_keys=True)


def _list(*what: str) -> list[dict[str, Any]]:
    try:
        return list(json.loads(_nft("", "-j", "list", *what))["nftables"])
    except (ValueError, KeyError, TypeError) as error:
        raise IsolationError(f"nft lists something else: {error}") from error


def _stable(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _stable(one) for name, one in node.items() if name not in _VOLATILE_KEYS}
    return [_stable(one) for one in node] if isinstance(node, list) else node


def is_available() -> bool:
    return shutil.which("nft", path=_SEARCH_PATH) is not None


def _nft(text: str, *arguments: str) -> str:
    program = shutil.which("nft", path=_SEARCH_PATH)
    if program is None:
        raise IsolationError("the nft program is missing")
    try:
        done = subprocess.run(  # noqa: S603 - nft by its full path
            [program, *arguments],
            input=text.encode(),
            capture_output=True,
            timeout=NFT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IsolationError(str(error)) from error
    if done.returncode:
        raise IsolationError(done.stderr.decode(errors="replace").strip()[:NFT_ERROR_CHARS_MAX])
    return done.stdout.decode(errors="replace")
