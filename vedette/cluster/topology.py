"""The members of a cluster, as its servers report them."""

from dataclasses import dataclass

from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine


@dataclass(frozen=True, slots=True)
class Replica:
    """A server of the cluster."""

    place: int
    """Number over all shards, starting at 1: `_shard_num` in queries of all replicas."""
    shard: int
    replica: int
    host: str

    def __str__(self) -> str:
        return f"replica {self.replica} of shard {self.shard} ({self.host})"


def replicas(engine: Engine) -> list[Replica]:
    """Returns all servers, in the order of `remote_servers`; empty for an unknown cluster."""
    found = engine.query(
        "SELECT shard_num, replica_num, host_name FROM system.clusters "
        "WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num",
        {"cluster": engine.capabilities.cluster},
    )
    return [Replica(place, *row) for place, row in enumerate(found.rows, 1)]


def answering(engine: Engine, found: list[Replica]) -> list[Replica]:
    """Returns the replicas that answer now."""
    places = engine.query(
        f"SELECT _shard_num FROM {engine.capabilities.system('one')}", settings=WHO_ANSWERS
    ).rows
    return [one for one in found if (one.place,) in places]


def shards(found: list[Replica]) -> dict[int, list[Replica]]:
    """Maps shard to its replicas."""
    by_shard: dict[int, list[Replica]] = {}
    for one in found:
        by_shard.setdefault(one.shard, []).append(one)
    return by_shard
