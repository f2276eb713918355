"""Suppressed children: processes that the sender omitted and that only events of their parent
report.

They are listed like any other child, with user name and command line
(docs/api-objects.md#process-events). Name, path and hashes come from the parent's event, the host
columns from the parent; all other columns are empty.
"""

from collections.abc import Sequence
from typing import Any, Final

from vedette.model.columns import HOST
from vedette.model.ids import EARLIEST_SEGMENT
from vedette.model.scope import Scope
from vedette.search.processes.process_columns import PROCESS_COLUMNS, UNKNOWN_LAST_US, Row
from vedette.store.engine.client import Engine
from vedette.store.read.process import cached_process_rows
from vedette.store.read.relatives import Report, reports_of

_HOST_COLUMNS: Final = (
    "sensor_id",
    "partition_ms",
    "last_server_update",
    *(column.name for column in HOST if column.name in PROCESS_COLUMNS),
)


def with_suppressed(
    engine: Engine, scope: Scope, parent: Row, children: Sequence[Row], limit: int
) -> list[Row]:
    """Returns the first `limit` children by start, stored and suppressed. A suppressed child is a
    row without events, in segment 1."""
    parent_id = parent["process_id"]
    reports = engine.process_cache.get_or_load(
        parent_id,
        ("suppressed", scope, limit),
        lambda: reports_of(engine, [parent_id], scope, limit=limit, only_suppressed=True),
        lambda found: 1_000 + 1_000 * len(found),
    )
    with_records = cached_process_rows(engine, [report.child_id for report in reports], scope)
    hidden = [_row(parent, report) for report in reports if report.child_id not in with_records]
    return sorted([*children, *hidden], key=_start_order)[:limit] if hidden else list(children)


def is_report_only(row: Row) -> bool:
    """Whether a row of `with_suppressed` has no records of its own."""
    return bool(row["segment_id"] == EARLIEST_SEGMENT)


def _start_order(row: Row) -> tuple[int, str]:
    return row["start"] or UNKNOWN_LAST_US, row["process_id"]


def _row(parent: Row, report: Report) -> Row:
    unknown: dict[str, Any] = {name: type(value)() for name, value in parent.items()}
    return (
        unknown
        | {name: parent[name] for name in _HOST_COLUMNS}
        | {f"parent_{name}": parent[f"process_{name}"] for name in ("name", "pid", "md5")}
        | {
            "process_id": report.child_id,
            "segment_id": EARLIEST_SEGMENT,
            "parent_id": parent["process_id"],
            "path": report.path,
            "process_name": report.path.replace("\\", "/").rsplit("/", 1)[-1],
            "process_pid": report.pid,
            "process_md5": report.md5,
            "process_sha256": report.sha256,
            "cmdline": report.command_line,
            "username": report.username,
            "start": report.time_us,
            "last_update": report.time_us,
        }
    )
