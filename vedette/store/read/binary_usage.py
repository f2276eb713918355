"""Who has a file, and how it is run: hosts, paths, parents, command lines, days.

Runs are processes in mounted partitions; hosts and paths are of all times. All of it is of the
scope alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.limits import USAGE_HOSTS_MAX, USAGE_RUNS_MAX, USAGE_VALUES_MAX
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import IN_SCOPE
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.schema.tables import CMDLINE_SHAPE
from vedette.store.sql.scope_filter import scope_params, scoped

Counted = Sequence[tuple[str, int, int]]
"""A value, the processes and the hosts that have it, the most frequent first."""


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
    """How a file is used within a scope."""

    host_count: int
    hosts: Sequence[HostUsage]
    """The first that had it, `USAGE_HOSTS_MAX` of them."""
    run_count: int
    """Processes that ran it, at most `USAGE_RUNS_MAX`; beyond it, counts below are of so many."""
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
    """The usage of the file with one of these hashes (MD5 or SHA-256, lower case). Raises
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
    """All sensors of the scope that reported the file with one of these hashes (MD5 or SHA-256,
    lower case)."""
    found = engine.query(
        "SELECT DISTINCT sensor_id FROM binary "
        f"WHERE {IN_SCOPE} AND hash IN {{digests:Array(String)}} ORDER BY sensor_id",
        {"digests": [digest for digest in digests if digest], **scope_params(scope)},
    ).rows
    return [row[0] for row in found]


def paths_on(
    engine: Engine, digests: Sequence[str], sensors: Sequence[int], paths_max: int
) -> dict[int, list[str]]:
    """Some of the paths at which each of these sensors reported the file."""
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
    """A program that sensors saw for the first time. Hashes in lower case, "" unknown."""

    md5: str
    sha256: str
    sensors: Sequence[int]


def first_unsigned(
    engine: Engine, sensors: Sequence[int], since_us: int, most: int
) -> list[FirstSight]:
    """Programs that none of the sensors had reported before `since_us` (server's clock), and of
    which none says that somebody signed them; at most so many, the oldest first."""
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
    """How many processes, and five lists of counted values."""
    ran = scoped(
        Condition(
            "(process_md5 IN {digests:Array(String)} OR process_sha256 IN {digests:Array(String)})",
            {"digests": list(digests)},
        ),
        scope,
    )
    processes = (
        "SELECT sensor_id, process_id, toString(max(path)) AS ran_path, "
        "toString(max(parent_name)) AS parent, max(cmdline) AS cmdline, "
        "toString(max(username)) AS account, max(start) AS started "
        f"FROM segment WHERE {ran.sql} GROUP BY sensor_id, process_id LIMIT {USAGE_RUNS_MAX:d}"
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
        deadline_s=deadline_s,
    ).rows
    lists: list[list[tuple[str, int, int]]] = [[] for _ in range(6)]
    for which, value, runs, hosts in rows:
        lists[which].append((value, runs, hosts))
    return (lists[0][0][1] if lists[0] else 0), lists[1:]
