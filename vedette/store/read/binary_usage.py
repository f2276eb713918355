"""Usage of a file: hosts, paths, parents, command lines, days.

Runs are processes in mounted partitions; hosts and paths cover all times. All results are
restricted to the scope.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import IN_SCOPE
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.segments_sql import keys_of
from vedette.store.engine.client import Engine
from vedette.store.schema.tables import CMDLINE_SHAPE
from vedette.store.sql.scope_filter import scope_params, scoped

USAGE_HOSTS_MAX: Limit[int] = 1_000
"""Hosts that the usage of a file lists; further hosts are only counted."""

USAGE_RUNS_MAX: Limit[int] = 200_000
"""Processes that the usage of a file examines: shapes of so many command lines take a second."""

USAGE_VALUES_MAX: Limit[int] = 50
"""Maximum number each of paths, parents, command lines, users and days in a usage: users do not
look through more."""


Counted = Sequence[tuple[str, int, int]]
"""(value, processes with it, hosts with it), the most frequent first."""


@dataclass(frozen=True, slots=True)
class HostUsage:
    """A host that reported the file. Times in epoch microseconds, by the host's clock."""

    hostname: str
    sensor_id: int
    group: str
    first_seen_us: int
    last_seen_us: int
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of a file within a scope."""

    host_count: int
    hosts: Sequence[HostUsage]
    """The first hosts that had it, at most `USAGE_HOSTS_MAX`."""
    run_count: int
    """Number of processes that ran it, at most `USAGE_RUNS_MAX`; above this limit, the counts below
    cover only so many."""
    paths: Counted
    parents: Counted
    command_lines: Counted
    """Shapes of command lines."""
    usernames: Counted
    days: Counted
    """Days of starts in UTC, in order."""


def usage_of(
    engine: Engine, digests: Sequence[str], scope: Scope, *, deadline_s: float | None = None
) -> Usage:
    """Returns the usage of the file with one of these hashes (MD5 or SHA-256, lower case). Raises
    UnavailableError (`reason` "deadline")."""
    known = [digest for digest in digests if digest]
    count, hosts = _hosts(engine, known, scope, deadline_s)
    runs, counted = _runs(engine, known, scope, deadline_s)
    return Usage(
        count,
        hosts,
        runs,
        paths=counted[0],
        parents=counted[1],
        command_lines=counted[2],
        usernames=counted[3],
        days=sorted(counted[4]),
    )


def _hosts(
    engine: Engine, digests: Sequence[str], scope: Scope, deadline_s: float | None
) -> tuple[int, list[HostUsage]]:
    found = engine.query(
        "SELECT sensor_id, max(hostname), max(`group`), min(first_seen) AS began, max(last_seen), "
        f"arraySlice(arraySort(groupUniqArrayArray(observed_filename)), 1, {USAGE_VALUES_MAX:d}), "
        "count() OVER () FROM binary "
        f"WHERE {IN_SCOPE} AND hash IN {{digests:Array(String)}} "
        f"GROUP BY sensor_id ORDER BY began, sensor_id LIMIT {USAGE_HOSTS_MAX:d}",
        {"digests": list(digests), **scope_params(scope)},
        deadline_s=deadline_s,
    ).rows
    hosts = [
        HostUsage(hostname, sensor_id, group, first, last, paths)
        for sensor_id, hostname, group, first, last, paths, _ in found
    ]
    return (found[0][-1] if found else 0), hosts


def holders_of(engine: Engine, digests: Sequence[str], scope: Scope) -> list[int]:
    """Returns all sensors of the scope that reported the file with one of these hashes (MD5 or
    SHA-256, lower case)."""
    found = engine.query(
        "SELECT DISTINCT sensor_id FROM binary "
        f"WHERE {IN_SCOPE} AND hash IN {{digests:Array(String)}} ORDER BY sensor_id",
        {"digests": [digest for digest in digests if digest], **scope_params(scope)},
    ).rows
    return [row[0] for row in found]


def paths_on(
    engine: Engine, digests: Sequence[str], sensors: Sequence[int], paths_max: int
) -> dict[int, list[str]]:
    """Maps sensor id to some of the paths at which the sensor reported the file."""
    found = engine.query(
        "SELECT sensor_id, "
        f"arraySlice(arraySort(groupUniqArrayArray(observed_filename)), 1, {paths_max:d}) "
        "FROM binary WHERE sensor_id IN {sensors:Array(UInt32)} "
        "AND hash IN {digests:Array(String)} GROUP BY sensor_id",
        {"digests": [digest for digest in digests if digest], "sensors": list(sensors)},
    ).rows
    return {sensor_id: list(paths) for sensor_id, paths in found}


@dataclass(frozen=True, slots=True)
class FirstSight:
    """A program that sensors reported for the first time. Hashes in lower case, "" if unknown."""

    md5: str
    sha256: str
    sensors: Sequence[int]


def first_unsigned(
    engine: Engine, sensors: Sequence[int], since_us: int, most: int
) -> list[FirstSight]:
    """Returns programs that none of the sensors had reported before `since_us` (server's clock),
    and that none reports as signed; at most `most`, the oldest first."""
    found = engine.query(
        "SELECT max(md5), max(sha256), arraySort(groupUniqArray(sensor_id)) FROM binary "
        "WHERE sensor_id IN {sensors:Array(UInt32)} AND hash GLOBAL IN ("
        "SELECT hash FROM binary WHERE sensor_id IN {sensors:Array(UInt32)} "
        "AND added >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')) "
        "GROUP BY hash HAVING min(added) >= fromUnixTimestamp64Micro({since:Int64}, 'UTC') "
        "AND countIf(digsig_result NOT IN ('', 'Unsigned')) = 0 "
        f"ORDER BY min(added), hash LIMIT {most:d}",
        {"sensors": list(sensors), "since": since_us},
    ).rows
    return [FirstSight(*row) for row in found]


def _runs(
    engine: Engine, digests: Sequence[str], scope: Scope, deadline_s: float | None
) -> tuple[int, list[list[tuple[str, int, int]]]]:
    """Returns (number of processes, five lists of counted values)."""
    same_image = (
        "(process_md5 IN {digests:Array(String)} OR process_sha256 IN {digests:Array(String)})"
    )
    ran = scoped(
        Condition(same_image, {"digests": list(digests)}, before=keys_of(SEGMENT, [same_image])),
        scope,
    )
    processes = (
        "SELECT sensor_id, process_id, any(path) AS ran_path, any(parent_name) AS parent, "
        "any(cmdline) AS cmdline, any(username) AS account, any(start) AS started "
        f"FROM segment FINAL {ran.clause} "
        f"GROUP BY sensor_id, process_id LIMIT {USAGE_RUNS_MAX:d}"
    )
    day = "if(started > toDateTime64(0, 6, 'UTC'), toString(toDate(started)), '')"
    values = ", ".join(
        f"({number}, {value})"
        for number, value in enumerate(("ran_path", "parent", CMDLINE_SHAPE, "account", day), 1)
    )
    rows = engine.query(
        f"SELECT pair.1 AS which, pair.2 AS value, count() AS runs, uniqExact(sensor_id) "
        f"FROM (SELECT sensor_id, arrayJoin([(0, ''), {values}]) AS pair FROM ({processes})) "
        "WHERE which = 0 OR value != '' GROUP BY which, value "
        f"ORDER BY which, runs DESC, value LIMIT {USAGE_VALUES_MAX:d} BY which",
        ran.params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    ).rows
    lists: list[list[tuple[str, int, int]]] = [[] for _ in range(6)]
    for which, value, runs, hosts in rows:
        lists[which].append((value, runs, hosts))
    return (lists[0][0][1] if lists[0] else 0), lists[1:]
