"""Where a program runs now, as far as telemetry tells."""

from dataclasses import dataclass

from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.scope_filter import scoped

RUNNING_HOSTS_MAX = 1_000
"""Hosts that one answer lists, those heard of last."""

PROCESS_IDS_MAX = 10
"""Processes of one host that are named."""


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A host with processes of a program that have not ended."""

    sensor_id: int
    hostname: str
    process_count: int
    last_update_us: int
    process_ids: tuple[str, ...]
    """The newest, at most `PROCESS_IDS_MAX`."""


def running(engine: Engine, md5: str, scope: Scope, since_us: int) -> list[RunsOn]:
    """The hosts on which processes with this image were heard of since a time, and not ended."""
    recent = "window_ms >= {since_ms:UInt64}"
    of_program = (
        "(sensor_id, process_id) IN (SELECT sensor_id, process_id "
        f"FROM {engine.capabilities.storage('segment')} "
        f"WHERE {recent} AND process_md5 = {{md5:String}})"
    )
    params = {"since_ms": max(0, since_us // 1_000), "md5": md5}
    where = scoped(Condition(f"{recent} AND {of_program}", params), scope)
    found = engine.query(
        "SELECT sensor_id, max(host), count(), max(updated), "
        f"arraySlice(arrayReverseSort(process -> process.1, groupArray((updated, process_id))), "
        f"1, {PROCESS_IDS_MAX:d}).2 FROM (SELECT sensor_id, process_id, max(hostname) AS host, "
        f"max(last_update) AS updated, max(terminated) AS ended FROM segment WHERE {where.sql} "
        "GROUP BY sensor_id, process_id HAVING ended = 0) "
        f"GROUP BY sensor_id ORDER BY max(updated) DESC, sensor_id LIMIT {RUNNING_HOSTS_MAX:d}",
        where.params,
    )
    return [RunsOn(row[0], row[1], row[2], row[3], tuple(row[4])) for row in found.rows]
