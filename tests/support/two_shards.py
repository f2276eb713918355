"""A cluster of two shards in one engine.

Both entries of the cluster name this engine, which reads a local table with one entry of a cluster
without asking itself over the network. Both would find the same rows there: so a policy shows each
entry the rows of the sensors that are its own, by the product's shard map, and every table of a
store exists once, with the rows of both shards. Statements that name a local table see it as the
first shard does, as they would on the server that a process is connected to.

That rows are also sent to the shard that owns them is checked where they are sent.
"""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from vedette.model.host import ShardView, first_map
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.shard_routing import ShardRouter, sharding_expression
from vedette.store.schema.tables import SHARDED

TWO_SHARDS: Final = "two_shards"
"""Name of the cluster."""

SHARD_MAP: Final = first_map(2)
STORES_MAX: Final = 64
"""Databases at a time; the policies are in the engine's configuration, which is read once."""

NAMES: Final = tuple(f"test_two_{number}" for number in range(STORES_MAX))

_OF_MODULES: Final = tuple(
    f"{name}_two"
    for name in ("test_joins", "test_query_ends", "test_query_sql", "test_whole_process")
)


def database_of(module: str, capabilities: Capabilities) -> str:
    """The database of a module that makes its own."""
    return f"{module}_two" if capabilities.cluster == TWO_SHARDS else module


def policies() -> str:
    """Returns the row policies of the user for the engine's configuration."""
    place = sharding_expression(SHARD_MAP)
    condition = f"{place} + 1 = if(shardNum() = 0, 1, shardNum())"
    tables = "".join(
        f"<{name}_local><filter>{condition}</filter></{name}_local>" for name in SHARDED
    )
    databases = "".join(f"<{name}>{tables}</{name}>" for name in (*NAMES, *_OF_MODULES))
    return f"<databases>{databases}</databases>"


def routed(engine: ClickHouseEngine) -> ClickHouseEngine:
    """The engine; where its cluster is this one, it sends rows to the shards that own them."""
    if engine.capabilities.cluster == TWO_SHARDS:
        engine.route_by(router())
    return engine


def router() -> ShardRouter:
    return ShardRouter(lambda: ShardView(SHARD_MAP), SHARDED)


def check_placed(table: str, rows: pa.Table, settings: Mapping[str, Any]) -> None:
    """That rows are sent to the shard that owns them."""
    if table in SHARDED:
        shard = settings["insert_shard_id"]
        sensors = pc.unique(rows.column("sensor_id")).to_pylist()
        assert {SHARD_MAP.shard_of(one) for one in sensors} <= {shard}, (table, sensors, shard)
