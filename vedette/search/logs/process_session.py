"""The logon that a process belongs to, and where it came from."""

from dataclasses import dataclass
from typing import Final

from vedette.limits import Limit
from vedette.model.log_fields import LOG
from vedette.model.scope import Scope
from vedette.query import check
from vedette.query.compile.logs_sql import compile_logs
from vedette.query.nodes import Exact, Leaf, Range, all_of
from vedette.record.times import instant
from vedette.search.processes.process import flat_summary
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.logs.log_rows import LogRow, log_page

LOGON: Final = 4624
"""Event of the channel Security that begins a session."""

CLOCK_TOLERANCE_US: Limit[int] = 60 * 1_000_000
"""Microseconds by which a logon may seem later than a process of its session."""


@dataclass(frozen=True, slots=True)
class ProcessLogon:
    """The session of a process. `record` is its logon; None where none is stored."""

    sensor_id: int
    logon_id: str
    logon_type: int
    username: str
    record: LogRow | None


def process_logon(
    engine: Engine, scope: Scope, process_id: str, now_us: int, reach: Reach
) -> ProcessLogon:
    """The session of a process and the newest logon with its number before the process began:
    numbers repeat after a restart of the host. Raises NotFoundError for a process that does not
    exist in the scope, UnavailableError when it takes longer than `reach` allows."""
    row = flat_summary(engine, scope, process_id, 0)
    began_us = row["start"] or row["last_update"]
    record = None
    if row["logon_id"]:
        logon = all_of(
            [
                Leaf("channel", Exact("Security")),
                Leaf("event_id", Exact(str(LOGON))),
                Leaf("sensor_id", Exact(str(row["sensor_id"]))),
                Leaf("logon_id", Exact(row["logon_id"])),
                Leaf("time", Range("*", instant(began_us + CLOCK_TOLERANCE_US))),
            ]
        )
        where = compile_logs(check(logon, LOG, now_us=now_us))
        newest = [("time", True)]
        page = log_page(engine, where, scope, newest, start=0, rows=1, reach=reach)
        record = page[0] if page else None
    return ProcessLogon(
        row["sensor_id"], row["logon_id"], row["logon_type"], row["username"], record
    )
