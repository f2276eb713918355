"""Checks of a cluster's servers: availability, versions, clocks, tables, and rights of their
user."""

import re
from collections.abc import Iterator
from typing import Final

from vedette.cluster.topology import Replica, shards
from vedette.doctor.finding import Finding
from vedette.errors import StartError
from vedette.limits import Limit
from vedette.model.host import ShardMap
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.engine.grants import RIGHTS, check_rights
from vedette.store.engine.shard_routing import sharding_expression
from vedette.store.schema.create import check_schema
from vedette.store.schema.tables import SHARDED, TABLES, storage

CLUSTER_CLOCK_MS_MAX: Limit[int] = 1_000
"""Maximum difference between the clocks of a cluster: NTP keeps it to a few milliseconds, and a
second is less than any time-based decision depends on."""

CLUSTER_QUERY_CLOCK_MS: Limit[int] = 2_000
"""Maximum duration of the query for the time."""


TESTED_VERSION: Final = "26.9"
"""ClickHouse version that this version of Vedette is tested with."""

_GRANT: Final = re.compile(r"GRANT (.+) ON (\S+) TO ")

_OLDER_NAMES: Final = frozenset({("REMOTE", "*.*")})
"""The engine's display form of READ ON REMOTE."""


def check_replicas(found: list[Replica], quorum: int) -> Iterator[Finding]:
    """Checks whether each shard has the replicas that an insert waits for, and one to spare."""
    for shard, members in shards(found).items():
        count = len(members)
        if count < quorum:
            yield Finding(
                "quorum",
                "error",
                f"shard {shard} has {count} replicas, inserts wait for {quorum}",
                "add replicas to remote_servers, or lower clickhouse_quorum",
            )
        elif count == quorum and count > 1:
            yield Finding(
                "quorum",
                "warning",
                f"shard {shard} takes no inserts while one of its {count} replicas is away",
                "add a replica, or lower clickhouse_quorum: then less than all replicas have what "
                "was acknowledged, until they have caught up",
            )
        else:
            yield Finding("quorum", "ok", f"shard {shard}: {count} replicas, quorum {quorum}")


def check_answers(found: list[Replica], answers: list[Replica], away: str) -> Iterator[Finding]:
    """Checks whether all servers answer, except one that was stopped to test how the others work
    without it."""
    if away and not any(one.host == away for one in found):
        yield Finding(
            "servers",
            "error",
            f"{away} is not a server of the cluster",
            f"name one of {', '.join(sorted({one.host for one in found}))}",
        )
    for one in found:
        if one.host == away:
            is_away = one not in answers
            yield Finding(
                "servers",
                "ok" if is_away else "error",
                f"{one} is away, as it should be" if is_away else f"{one} answers, and should not",
                "" if is_away else "stop it, then check again",
            )
        elif one not in answers:
            yield Finding("servers", "error", f"{one} does not answer", "start it")
    yield Finding("servers", "ok", f"{len(answers)} of {len(found)} servers answer")


def check_versions(engine: Engine) -> Iterator[Finding]:
    found = engine.query(
        f"SELECT version(), groupUniqArray(hostName()) FROM {engine.capabilities.system('one')} "
        "GROUP BY version() ORDER BY version()",
        settings=WHO_ANSWERS,
    ).rows
    if len(found) > 1:
        listed = "; ".join(f"{version}: {', '.join(sorted(hosts))}" for version, hosts in found)
        yield Finding(
            "versions",
            "warning",
            f"servers of several versions ({listed})",
            "upgrade all to one, one replica of a shard after the other",
        )
    for version, _ in found:
        if _number(version) < _number(TESTED_VERSION):
            yield Finding(
                "versions",
                "error",
                f"{version} is older than {TESTED_VERSION}, which "
                "this version of Vedette is tested with",
                "upgrade ClickHouse",
            )
        else:
            yield Finding("versions", "ok", f"version {version}")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in version.split(".")[:2])


def check_clocks(engine: Engine, now_us: int) -> Iterator[Finding]:
    """Compares the servers' clocks with this machine's and with each other."""
    found = engine.query(
        "SELECT hostName(), toUnixTimestamp64Milli(now64(3)) "
        f"FROM {engine.capabilities.system('one')}",
        settings=WHO_ANSWERS,
    ).rows
    times = [time_ms for _, time_ms in found]
    apart_ms = max(times) - min(times)
    away_ms = max(abs(time_ms - now_us // 1_000) for time_ms in times)
    if apart_ms > CLUSTER_CLOCK_MS_MAX or away_ms > CLUSTER_CLOCK_MS_MAX + CLUSTER_QUERY_CLOCK_MS:
        yield Finding(
            "clock",
            "error",
            f"clocks differ by {apart_ms} ms among servers, by {away_ms} ms to this machine",
            "synchronise them by NTP: windows, retention and leases go by time",
        )
    else:
        yield Finding("clock", "ok", f"clocks agree within {apart_ms} ms")


def check_user(engine: Engine) -> Iterator[Finding]:
    """Finds missing and superfluous rights."""
    try:
        check_rights(engine)
        yield Finding("rights", "ok", f"all {len(RIGHTS)} rights are there")
    except StartError as error:
        yield Finding(
            "rights", "error", error.message, "run `vedette cluster init` as an administrator"
        )
    more = (
        _granted(engine)
        - _OLDER_NAMES
        - {
            (one, right.on.format(database=engine.database))
            for right in RIGHTS
            for one in right.what.split(", ")
        }
    )
    if more:
        listed = ", ".join(sorted(f"{what} ON {on}" for what, on in more))
        yield Finding(
            "rights",
            "warning",
            f"rights that servers do not need: {listed}",
            "run `vedette cluster init`, which grants those it needs alone",
        )


def _granted(engine: Engine) -> set[tuple[str, str]]:
    """Returns the grants of the user as (right, place)."""
    rows = engine.query("SHOW GRANTS").rows
    found = (_GRANT.match(line) for row in rows for line in str(row[0]).split("\\n"))
    return {
        (what, one[2].replace("`", ""))
        for one in found
        if one is not None
        for what in one[1].split(", ")
    }


def check_tables(engine: Engine, servers: int, known: ShardMap) -> Iterator[Finding]:
    """Checks whether every server has every table with the same definition, of this version, routed
    by the map."""
    try:
        check_schema(engine)
        yield Finding("schema", "ok", "the schema is of this version")
    except StartError as error:
        yield Finding("schema", "error", error.message, "see the message")
    found = {row[0]: row[1:] for row in _tables(engine)}
    wanted = {storage(one, engine.capabilities) for one in TABLES} | SHARDED
    faults = [name for name in sorted(wanted) if found.get(name, (0, 0))[0] < servers]
    if faults:
        yield Finding(
            "schema",
            "error",
            f"not on all servers: {', '.join(faults)}",
            "run `vedette cluster init`",
        )
    unlike = [name for name in sorted(wanted & set(found)) if found[name][1] > 1]
    if unlike:
        yield Finding(
            "schema",
            "error",
            f"defined differently: {', '.join(unlike)}",
            "look at system.distributed_ddl_queue of the servers for failed statements",
        )
    yield from _check_routes(engine, known)


def _tables(engine: Engine) -> list[tuple[str, int, int]]:
    return list(
        engine.query(
            "SELECT name, count(), uniqExact(create_table_query) "
            f"FROM {engine.capabilities.system('tables')} "
            "WHERE database = {database:String} GROUP BY name",
            {"database": engine.database},
            settings=WHO_ANSWERS,
        ).rows
    )


def _check_routes(engine: Engine, known: ShardMap) -> Iterator[Finding]:
    expression = sharding_expression(known)
    wrong = engine.query(
        f"SELECT DISTINCT name FROM {engine.capabilities.system('tables')} "
        "WHERE database = {database:String} AND name IN {names:Array(String)} AND position("
        "engine_full, substring(formatQuerySingleLine('SELECT ' || {expression:String}), 8)) = 0",
        {"database": engine.database, "names": sorted(SHARDED), "expression": expression},
        settings=WHO_ANSWERS,
    ).rows
    if wrong:
        names = ", ".join(sorted(row[0] for row in wrong))
        yield Finding(
            "routes",
            "error",
            f"routed by another shard map: {names}",
            "run `vedette cluster init` again: it routes them by the map",
        )
    else:
        yield Finding("routes", "ok", "Distributed tables follow the shard map")
