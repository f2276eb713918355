"""Children that their sender suppressed: there is nothing of them but what their parent tells.

They are listed like any other child, with user name and command line (api.md 2.6). What such a
child is called comes from its parent's report; the host is its parent's; all else is unknown.
"""

from collections.abc import Sequence
from typing import Any, Final

from vedette.model.columns import HOST
from vedette.model.ids import EARLIEST_SEGMENT
from vedette.model.scope import Scope
from vedette.search.bodies.process import BODY_COLUMNS, Row
from vedette.store.engine.client import Engine
from vedette.store.read.process import process_rows
from vedette.store.read.relatives import Report, reports_of

_OF_PARENT: Final = (
    *("sensor_id", "partition_ms", "last_server_update"),
    *(column.name for column in HOST if column.name in BODY_COLUMNS),
)


def with_suppressed(
    engine: Engine, scope: Scope, parent: Row, children: Sequence[Row], limit: int
) -> list[Row]:
    """The first `limit` children by start: those that are there, and those that only their parent
    tells of as suppressed. The latter are rows without events, in segment 1."""
    parent_id = parent["process_id"]
    told = reports_of(engine, [parent_id], scope, limit=limit, only_suppressed=True)
    heard_of = process_rows(engine, [report.child_id for report in told], scope)
    hidden = [_row(parent, report) for report in told if report.child_id not in heard_of]
    return sorted([*children, *hidden], key=_began)[:limit] if hidden else list(children)


def is_only_told(row: Row) -> bool:
    """Whether a row is one of `with_suppressed` that nothing is stored of."""
    return bool(row["segment_id"] == EARLIEST_SEGMENT)


def _began(row: Row) -> tuple[int, str]:
    return row["start"], row["process_id"]


def _row(parent: Row, report: Report) -> Row:
    unknown: dict[str, Any] = {name: type(value)() for name, value in parent.items()}
    return (
        unknown
        | {name: parent[name] for name in _OF_PARENT}
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
