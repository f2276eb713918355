"""Prepares a cluster for servers, and adds shards to it.

`init_statements` is the whole of `vedette cluster init` as text; each statement can be repeated.
Shards are added in an order that never makes reads look for rows where they are not: first the
tables of the new shard, then the definitions that route new sensors there, then the map, then the
sensor numbers themselves (`state/sensors/sensor_shards.py`).
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import unquote, urlsplit

from vedette.errors import BadRequestError
from vedette.model.host import ShardMap, ShardRange
from vedette.state.db.database import Database
from vedette.state.sensors.sensor_shards import add_range, load_shard_map, next_range
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import Engine
from vedette.store.engine.grants import RIGHTS
from vedette.store.engine.shard_routing import shard_count, sharding_expression
from vedette.store.integrity.identity import IDENTITY
from vedette.store.schema.create import create_tables
from vedette.store.schema.tables import TABLES, definitions, distributed

_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """The user that servers connect as."""

    name: str
    password: str = field(repr=False)

    @property
    def identified(self) -> str:
        """The IDENTIFIED clause with a new salt: the password itself is sent to no server."""
        salt = secrets.token_hex(16)
        digest = hashlib.sha256((self.password + salt).encode()).hexdigest()
        return f"IDENTIFIED WITH sha256_hash BY '{digest}' SALT '{salt}'"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, and its form for display."""

    sql: str = field(repr=False)
    shown: str = ""

    def __str__(self) -> str:
        return self.shown or self.sql


def account_of(dsn: str) -> Account:
    """Returns the user of a DSN. Raises BadRequestError without the text of the DSN."""
    found = urlsplit(dsn)
    name = unquote(found.username or "")
    if not _USER.fullmatch(name) or not found.password:
        raise BadRequestError(
            "clickhouse_dsn: name the user and password that servers will connect with; the name "
            "is letters, digits, _ and -"
        )
    return Account(name, unquote(found.password))


def init_statements(account: Account, database: str, capabilities: Capabilities) -> list[Statement]:
    """Returns the statements for database, user with exactly the rights of `grants.RIGHTS`, and
    tables. Idempotent."""
    return [
        Statement(f"CREATE DATABASE IF NOT EXISTS `{database}`{capabilities.on_cluster}"),
        *account_statements(account, database, capabilities),
        *(
            Statement(statement)
            for table in (*TABLES, IDENTITY)
            for statement in definitions(table, capabilities)
        ),
    ]


def account_statements(
    account: Account, database: str, capabilities: Capabilities
) -> list[Statement]:
    """Returns the statements for the user, unchanged if it exists, and its rights, which replace
    all others."""
    rights = ", ".join(right.sql(database) for right in RIGHTS)
    create = f"CREATE USER IF NOT EXISTS `{account.name}`{capabilities.on_cluster} "
    return [
        Statement(create + account.identified, f"{create}IDENTIFIED WITH sha256_hash BY '...'"),
        Statement(
            f"GRANT{capabilities.on_cluster} {rights} TO `{account.name}` WITH REPLACE OPTION"
        ),
    ]


def set_password(account: Account, capabilities: Capabilities) -> Statement:
    alter = f"ALTER USER `{account.name}`{capabilities.on_cluster} "
    return Statement(alter + account.identified, f"{alter}IDENTIFIED WITH sha256_hash BY '...'")


def run_init(engine: Engine, statements: Sequence[Statement]) -> None:
    """Runs the statements with an administrator's engine. Also upgrades tables of an older
    version."""
    for statement in statements:
        engine.command(statement.sql)
    create_tables(engine)


@dataclass(frozen=True, slots=True)
class Addition:
    """A range of shards to add to a shard map."""

    range: ShardRange
    before: ShardMap

    @property
    def after(self) -> ShardMap:
        return replace(self.before, ranges=(*self.before.ranges, self.range))

    def statements(self, capabilities: Capabilities) -> list[Statement]:
        """Returns the statements for tables on the new shards, and for routes to them on all
        servers."""
        routed = replace(capabilities, sharding_key=sharding_expression(self.after))
        tables = (*TABLES, IDENTITY)
        made = [definitions(table, routed)[0] for table in tables]
        routes = [distributed(table, routed, replaces=True) for table in tables if table.sharded]
        return [Statement(one) for one in (*made, *routes)]


def plan_addition(engine: Engine, state: Database, *, shared: bool) -> Addition:
    """Plans an addition: the shards of the cluster without sensors take all new sensors; with
    `shared`, all shards take them. Raises BadRequestError if there is no new shard."""
    known = load_shard_map(state)
    if known is None:
        raise BadRequestError("this server has no cluster yet: run `vedette cluster init`")
    found = shard_count(engine)
    new = tuple(range(known.shard_count + 1, found + 1))
    if not new:
        raise BadRequestError(
            f"the cluster has {found} shards and all hold sensors: add one to remote_servers of "
            "every ClickHouse server first"
        )
    shards = tuple(range(1, found + 1)) if shared else new
    return Addition(ShardRange(next_range(state), shards), known)


def run_addition(engine: Engine, state: Database, addition: Addition) -> ShardMap:
    """Runs an addition, which can be repeated. Raises ConflictError if sensors changed
    meanwhile."""
    for statement in addition.statements(engine.capabilities):
        engine.command(statement.sql)
    return add_range(state, addition.range)
