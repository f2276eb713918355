"""Tables that the servers of a cluster share. Their history is in `migrations/`."""

from sqlalchemy import BigInteger, Column, Integer, Table, Text

from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


SERVER = Table(
    "server",
    METADATA,
    Column("id", Text, primary_key=True),  # of one run of the program: new at every start
    _text("url"),  # where other servers reach it
    _text("certificate"),  # PEM; "" for plain HTTP
    _text("version"),
    _text("state_schema"),  # the newest migration it knows
    *map(_number, ("telemetry_schema", "started_us", "seen_us", "until_us")),
    Column("rules_generation", BigInteger),  # NULL while it judges nothing yet
    Column("shard_version", BigInteger),  # NULL before it has said so
    Column("partition_change", BigInteger),  # NULL before it has said so
)
"""The servers that run. `until_us` ends the lease of all that a server holds."""

HOST_SLOT = Table(
    "host_slot",
    METADATA,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    _text("server_id"),  # "" while nobody has it
    *map(_number, ("epoch", "since_us")),  # the epoch rises with every change
    _number("held"),  # not 0 while nobody may have it: sensors of it are moved
)
"""Which server has the hosts of a slot (`model/ids.py`)."""

COMMIT_COUNTER = Table(
    "commit_counter",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1: there is one row
    _number("newest"),
    _number("partition_change"),  # of all that were announced
)

OPEN_COMMIT = Table(
    "open_commit",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("server_id", Text, nullable=False),
    _number("since_us"),
)
"""Commits that have a number and may still be stored."""

REQUEST_COUNT = Table(
    "request_count",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("server_id", Text, primary_key=True),
    *map(_number, ("used", "counted_us")),
)
"""How many requests of a key a server has let through since the key was idle last."""
