"""Tables that the servers of a cluster share. Migrations (`migrations/`) create them."""

from sqlalchemy import BigInteger, Column, Integer, Table, Text

from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


SERVER = Table(
    "server",
    METADATA,
    Column("id", Text, primary_key=True),  # one run of the program: new at every start
    _text("url"),  # address for other servers
    _text("certificate"),  # PEM; "" for plain HTTP
    _text("version"),
    _text("state_schema"),  # newest migration of its version
    *map(_number, ("telemetry_schema", "started_us", "seen_us", "until_us")),
    Column("rules_generation", BigInteger),  # NULL while it judges nothing
    Column("shard_version", BigInteger),  # NULL until reported
    Column("partition_change", BigInteger),  # NULL until reported
)
"""Running servers. `until_us` ends the lease of everything that a server owns."""

HOST_SLOT = Table(
    "host_slot",
    METADATA,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    _text("server_id"),  # "" while no server owns it
    *map(_number, ("epoch", "since_us")),  # the epoch increments with every change
    _number("held"),  # not 0 while on hold: its sensors are being moved
)
"""Owners of the slots of hosts (`model/ids.py`)."""

COMMIT_COUNTER = Table(
    "commit_counter",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1: the only row
    _number("newest"),
    _number("partition_change"),  # number of the latest announced change
)

OPEN_COMMIT = Table(
    "open_commit",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("server_id", Text, nullable=False),
    _number("since_us"),
)
"""Commits with a number that may still be stored."""

REQUEST_COUNT = Table(
    "request_count",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("server_id", Text, primary_key=True),
    *map(_number, ("used", "counted_us")),
)
"""Requests of a key that a server has admitted since the key was last idle."""
