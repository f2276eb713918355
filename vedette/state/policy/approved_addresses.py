"""The approved list: addresses from which the API may be called while approval is on.

It does not restrict sensors and senders of telemetry. A server rereads the list every few seconds,
so that a change takes effect everywhere within the 30 seconds that clients are promised.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from threading import Lock

from sqlalchemy import Connection, delete, func, insert, select, update

from vedette.errors import BadRequestError, NotFoundError
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import APPROVED_ADDRESS, SWITCH
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import APPROVED_ADDRESSES

_SWITCH = "approved addresses"

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class ApprovedNetwork:
    """An entry of the list: an address, or a block in CIDR notation."""

    id: int
    network: str


def entries(database: Database) -> list[ApprovedNetwork]:
    """Returns all entries, sorted by id."""
    with database.reading() as connection:
        return _entries(connection)


def add(database: Database, texts: Sequence[str]) -> list[int]:
    """Adds entries and returns their ids in order; a network that is already listed keeps its id.

    Raises BadRequestError for the first text that is neither address nor block, and then adds
    nothing; ConflictError above the quota of entries.
    """
    networks = [_text(parsed(text)) for text in texts]
    with database.writing() as connection:
        known = {entry.network: entry.id for entry in _entries(connection)}
        new = [one for one in dict.fromkeys(networks) if one not in known]
        check_room(connection, APPROVED_ADDRESSES, adding=len(new))
        for network in new:
            query = (
                insert(APPROVED_ADDRESS).values(network=network).returning(APPROVED_ADDRESS.c.id)
            )
            known[network] = connection.execute(query).scalar_one()
    return [known[network] for network in networks]


def remove(database: Database, entry_id: int) -> None:
    """Deletes an entry. Raises NotFoundError."""
    with database.writing() as connection:
        query = delete(APPROVED_ADDRESS).where(APPROVED_ADDRESS.c.id == entry_id)
        if not connection.execute(query).rowcount:
            raise NotFoundError(f"approved address {entry_id} not found")


def is_enabled(database: Database) -> bool:
    """Whether only approved addresses may call the API."""
    with database.reading() as connection:
        return _is_enabled(connection)


def enable(database: Database, wanted: bool) -> None:
    """Switches approval on or off. Idempotent."""
    with database.writing() as connection:
        connection.execute(insert_new(connection, SWITCH), {"name": _SWITCH, "is_on": False})
        is_other = SWITCH.c.is_on.is_not(wanted)
        connection.execute(
            update(SWITCH).where(SWITCH.c.name == _SWITCH, is_other).values(is_on=wanted)
        )


def parsed(text: str) -> Network:
    """Parses an address or block; converts IPv4-mapped IPv6 to IPv4. Raises BadRequestError, also
    for an address with a zone, since callers' addresses are compared without zones."""
    if "%" in text:
        raise BadRequestError(f"ipaddr: {text[:60]!r} must not have a zone")
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise BadRequestError(
            f"ipaddr: {text[:60]!r} is not an address or a block such as 192.0.2.0/24"
        ) from None
    mapped = getattr(ip_address(text.strip().partition("/")[0]), "ipv4_mapped", None)
    if mapped is None:
        return network
    if network.prefixlen < 96:
        raise BadRequestError(
            f"ipaddr: {text[:60]!r} is more than IPv4: write the block of IPv4 that you mean, such "
            f"as {mapped}/24, or 0.0.0.0/0 for all of it"
        )
    return ip_network(f"{mapped}/{network.prefixlen - 96}")


class ApprovedAddresses:
    """The list as a server applies it, cached for a few seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self.own_tokens: set[str] = set()
        """Ids of the tokens in `server.json`. Commands on this machine (backups, doctor) use them
        regardless of the list. `bootstrap/local_access.py` adds them."""
        self._is_on = False
        self._networks: tuple[Network, ...] = ()

    def allow(self, address: str) -> bool:
        """Whether the API may be called from an address. An unknown address ("") is allowed only
        while approval is off. Never reads the database; `refresh` does."""
        with self._lock:
            is_on, networks = self._is_on, self._networks
        return not is_on or (bool(address) and is_in(address, networks))

    def refresh(self) -> None:
        """Rereads the list. Called by a job, and after changes of the list."""
        with self._database.reading() as connection:
            is_on = _is_enabled(connection)
            networks = tuple(ip_network(entry.network) for entry in _entries(connection))
        with self._lock:
            self._is_on, self._networks = is_on, networks


def is_in(address: str, networks: Iterable[Network]) -> bool:
    """Whether an address is in one of the networks. Text that is not an address is in none."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)


def _text(network: Network) -> str:
    return str(network.network_address) if network.num_addresses == 1 else str(network)


def _entries(connection: Connection) -> list[ApprovedNetwork]:
    rows = connection.execute(select(APPROVED_ADDRESS).order_by(APPROVED_ADDRESS.c.id))
    return [ApprovedNetwork(row.id, row.network) for row in rows]


def _is_enabled(connection: Connection) -> bool:
    found = select(func.count()).select_from(SWITCH).where(SWITCH.c.name == _SWITCH, SWITCH.c.is_on)
    return bool(connection.scalar(found))
