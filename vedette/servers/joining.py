"""Makes this server a member of the servers on a state database."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import vedette
from vedette.clock import Clock
from vedette.errors import StartError, UnavailableError
from vedette.limits import Limit
from vedette.model.host import ShardView
from vedette.pipeline.ingest_queue import IngestQueue, Intake
from vedette.servers.cluster import Cluster
from vedette.servers.forwarding import Forwarding
from vedette.servers.host_router import HostRouter
from vedette.servers.membership import Membership
from vedette.servers.partition_changes import PartitionChanges
from vedette.servers.server_token import ServerTokens
from vedette.servers.shared_numbers import SharedNumbers
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.db.key_values import load, save_new
from vedette.state.db.sealing import KEY_FILE, Sealing
from vedette.state.sensors.sensor_shards import begin_shard_map
from vedette.state.sensors.shard_moves import load_view
from vedette.state.servers.server_list import Introduction
from vedette.state.start import newest_revision
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.engine.grants import check_rights
from vedette.store.engine.shard_routing import ShardRouter, replica_count, shard_count
from vedette.store.schema.tables import SCHEMA_VERSION, SHARDED

STORE_OPENING_WAIT_S: Limit[int] = 120
"""Time that a starting server waits for another one that is creating or upgrading the tables of a
cluster: adding a column or index takes seconds, and a server that hangs must not block others."""

REPLICA_SETTLED_S: Limit[int] = 15
"""Time after which every replica used for reads has an insert that only some replicas acknowledged:
`REPLICA_DELAY_S_MAX`, plus the possible difference between the clocks of servers."""


_CANARY = "secrets_canary"


_OPENING = "opening the store"
"""Name of a lock in the state database."""


@contextmanager
def only_one_opens(state: Database) -> Iterator[None]:
    """Lock for creating and changing the tables of a cluster and naming a new store: of the servers
    and commands of a state database, one does so at a time. Raises StartError if another one does
    not finish."""
    with ExitStack() as held:
        try:
            held.enter_context(state.exclusive(_OPENING, STORE_OPENING_WAIT_S))
        except UnavailableError as error:
            raise StartError(
                "another server or command has been making or upgrading the tables of the cluster "
                f"for {STORE_OPENING_WAIT_S} seconds: see what it waits for, and start again "
                f"({error.message})"
            ) from error
        yield


def join_cluster(telemetry: ClickHouseEngine, state: Database) -> ShardRouter:
    """Checks the rights, and routes rows by the shard map, which is created at the first start.

    Raises StartError."""
    check_rights(telemetry)
    found = shard_count(telemetry)
    known = begin_shard_map(state, found)
    if known.shard_count > found:
        raise StartError(
            f"the cluster {telemetry.capabilities.cluster!r} has {found} shards, and sensors of "
            f"this server lie on {known.shard_count}: compare remote_servers of its servers"
        )
    # Other servers wait for a member to see moves; before it is a member, it checks by itself.
    fresh_s = 0.0 if state.name else math.inf
    router = ShardRouter(lambda: load_view(state) or ShardView(known), SHARDED, fresh_s)
    telemetry.route_by(router)
    return router


def settle_s_of(telemetry: Engine, quorum: int) -> float:
    """Returns the time (s) after which all replicas used for reads have rows that a quorum has
    acknowledged. 0 if the quorum is all of them."""
    return REPLICA_SETTLED_S if quorum < replica_count(telemetry) else 0.0


def open_cluster(
    settings: Settings,
    clock: Clock,
    database: Database,
    newest_seq: int,
    settle_s: float,
    url: str,
    closing: ExitStack,
) -> Cluster:
    """Registers this server with the others. Closing `closing` leaves them. Commit numbers are
    greater than `newest_seq`; for `settle_s` see `settle_s_of`.

    Raises StartError for an import, which would store records that belong to other servers.
    """
    if not url:
        raise StartError("an import into a cluster needs a running server: give it with --url")
    cert = settings.tls_cert or settings.data / "tls" / "cert.pem"

    def certificate() -> str:
        """Reads the certificate each time, because it may be renewed. Returns "" before the first
        start has created it."""
        try:
            return "" if settings.http else cert.read_text("ascii")
        except (OSError, ValueError):
            return ""

    introduction = Introduction("", url, "", vedette.__version__, newest_revision(), SCHEMA_VERSION)
    membership = Membership(database, introduction, certificate, settings.server_lease_s, settle_s)
    membership.begin()
    closing.callback(membership.close)
    numbers = SharedNumbers(database, membership, newest_seq, settle_s)
    closing.callback(numbers.close)
    changes = PartitionChanges(database, membership)
    return Cluster(membership, numbers, changes, ServerTokens(database), clock.now_us)


def intake_of(ingest_queue: IngestQueue, cluster: Cluster) -> Intake:
    """Returns the intake that takes submissions for all servers."""
    forwarding = Forwarding(cluster.tokens, cluster.now_us)
    return HostRouter(ingest_queue, cluster.membership, forwarding)


def check_shared_key(database: Database, sealing: Sealing) -> None:
    """Raises StartError if other servers have encrypted secrets with another key."""
    save_new(database, _CANARY, sealing.seal(_CANARY, _CANARY))
    try:
        sealing.open(load(database, _CANARY) or "", _CANARY)
    except UnavailableError:
        raise StartError(
            f"the other servers of this state database have another {KEY_FILE}: copy it from the "
            "data directory of one of them, readable by its owner only"
        ) from None
