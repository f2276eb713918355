"""Hosts on which a program is running, according to telemetry."""

from dataclasses import dataclass

from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import column_of
from vedette.store.sql.column_lists import aggregated
from vedette.store.sql.scope_filter import scoped

RUNNING_HOSTS_MAX: Limit[int] = 1_000
"""Hosts per answer, the most recently seen first."""

RUNNING_HOST_PROCESSES_MAX: Limit[int] = 10
"""Process ids listed per host."""


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A host with unterminated processes of a program."""

    sensor_id: int
    hostname: str
    process_count: int
    last_update_us: int
    process_ids: tuple[str, ...]
    """The newest processes, at most `RUNNING_HOST_PROCESSES_MAX`."""


def running(engine: Engine, digest: str, scope: Scope, since_us: int) -> list[RunsOn]:
    """Returns hosts with unterminated processes of this image (MD5 or SHA-256, lower case) seen
    since a time (epoch µs)."""
    recent = "window_ms >= {since_ms:UInt64}"
    of_program = (
        "(sensor_id, process_id) IN (SELECT sensor_id, process_id "
        f"FROM {engine.capabilities.storage('segment')} "
        f"WHERE {recent} AND process_{column_of(digest)} = {{digest:String}})"
    )
    params = {"since_ms": max(0, since_us // 1_000), "digest": digest}
    where = scoped(Condition(f"{recent} AND {of_program}", params), scope)
    found = engine.query(
        "SELECT sensor_id, max(host), count(), max(updated), "
        f"arraySlice(arrayReverseSort(process -> process.1, groupArray((updated, process_id))), "
        f"1, {RUNNING_HOST_PROCESSES_MAX:d}).2 "
        "FROM (SELECT sensor_id, process_id, max(hostname) AS host, "
        f"max(last_update) AS updated, max(terminated) AS ended FROM segment WHERE {where.sql} "
        "GROUP BY sensor_id, process_id HAVING ended = 0 "
        f"AND {aggregated(f'process_{column_of(digest)}')} = {{digest:String}}) "
        f"GROUP BY sensor_id ORDER BY max(updated) DESC, sensor_id LIMIT {RUNNING_HOSTS_MAX:d}",
        where.params,
    )
    return [RunsOn(row[0], row[1], row[2], row[3], tuple(row[4])) for row in found.rows]
