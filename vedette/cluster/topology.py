"""What a cluster consists of, as its servers report it."""

from dataclasses import dataclass

from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine


@dataclass(frozen=True, slots=True)
class Replica:
    """A server of the cluster."""

    place: int
    """Counted over all shards from 1 on: `_shard_num` where all replicas are asked."""
    shard: int
    replica: int
    host: str

    def __str__(self) -> str:
        return f"replica {self.replica} of shard {self.shard} ({self.host})"


def replicas(engine: Engine) -> list[Replica]:
    """All servers, in the order of `remote_servers`. Empty where the cluster is not known."""
    found = engine.query(
        "SELECT shard_num, replica_num, host_name FROM system.clusters "
        "WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num",
        {"cluster": engine.capabilities.cluster},
    )
    return [Replica(place, *row) for place, row in enumerate(found.rows, 1)]


def answering(engine: Engine, found: list[Replica]) -> list[Replica]:
    """Those that answer now."""
    places = engine.query(
        f"SELECT _shard_num FROM {engine.capabilities.system('one')}", settings=WHO_ANSWERS
    ).rows
    return [one for one in found if (one.place,) in places]


def shards(found: list[Replica]) -> dict[int, list[Replica]]:
    """The replicas of each shard."""
    by_shard: dict[int, list[Replica]] = {}
    for one in found:
        by_shard.setdefault(one.shard, []).append(one)
    return by_shard
