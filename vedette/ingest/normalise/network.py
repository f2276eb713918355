"""Direction of connections, and the domain name of the remote address."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise.values import number
from vedette.model.address import is_ipv4
from vedette.model.event import Netconn

TCP = 6
UDP = 17

_PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": 1, "ipv6-icmp": 58, "icmpv6": 58}


def protocol_number(text: str) -> int:
    """Returns the IP protocol number for a name or a number; 0 if unknown."""
    found = _PROTOCOLS.get(text.lower())
    if found is not None:
        return found
    return number(text, 256)


def local_is_source(
    ctx: HostContext, outbound: bool, protocol: int, source: bytes, destination: bytes
) -> bool:
    """Whether the host is the source of a connection
    (docs/telemetry-formats.md#real-world-data, fact 8).

    True for connections that this host initiated. Otherwise the known local addresses decide. If
    they do not, the host is the destination for TCP, and the source for UDP unless the source is a
    multicast or broadcast address.
    """
    if outbound:
        return True
    source_is_own, destination_is_own = source in ctx.local, destination in ctx.local
    if source_is_own != destination_is_own:
        return source_is_own
    return protocol != TCP and not _is_group(source)


def netconn(
    ctx: HostContext,
    process_id: str,
    time_us: int,
    outbound: bool,
    protocol: int,
    source: tuple[bytes, int],
    destination: tuple[bytes, int],
    source_name: str = "",
    destination_name: str = "",
) -> Netconn:
    """Returns the connection from the host's side. The domain is the name in the record, or else a
    name from DNS answers."""
    local, remote, name = source, destination, destination_name
    if not local_is_source(ctx, outbound, protocol, source[0], destination[0]):
        local, remote, name = destination, source, source_name
    (local_ip, local_port), (remote_ip, remote_port) = local, remote
    return Netconn(
        process_id,
        time_us,
        int(outbound),
        protocol,
        local_ip,
        local_port,
        remote_ip,
        remote_port,
        name or ctx.name_of(remote_ip, time_us),
    )


def _is_group(address: bytes) -> bool:
    if is_ipv4(address):
        return 224 <= address[12] <= 239 or address[15] == 255
    return address[0] == 0xFF
