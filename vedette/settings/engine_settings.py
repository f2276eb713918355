"""Settings of the engines: databases for state and telemetry outside the data directory."""

from dataclasses import dataclass
from typing import Annotated

from vedette.settings.setting import About


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The settings of the engines, a part of `Settings`."""

    state_dsn: Annotated[
        str,
        About(
            "Database of users, tokens and sensors: postgresql://user:password@host/name. "
            "Empty: SQLite in the data directory.",
            secret=True,
        ),
    ] = ""
    clickhouse_dsn: Annotated[
        str,
        About(
            "ClickHouse cluster for telemetry: clickhouses://user:password@host:8443/database. "
            "Empty: embedded, in the data directory.",
            secret=True,
        ),
    ] = ""
    clickhouse_cluster: Annotated[
        str,
        About(
            "Name of the cluster in the remote_servers of clickhouse_dsn: letters, digits and _."
        ),
    ] = "vedette"
    clickhouse_quorum: Annotated[
        int,
        About(
            "Replicas of a shard that hold an insert before it is acknowledged; 1 where shards "
            "have one.",
            unit="replicas",
            least=1,
            most=16,
        ),
    ] = 2
    server_url: Annotated[
        str,
        About(
            "Where the other servers of a cluster reach this one: https://10.0.0.5:8443. Empty: "
            "the address it listens on."
        ),
    ] = ""
    server_lease_s: Annotated[
        int,
        About(
            "How long a server of a cluster keeps its hosts without a heartbeat; then others "
            "take them over. Must not differ between servers.",
            unit="seconds",
            least=2,
            most=300,
        ),
    ] = 10
