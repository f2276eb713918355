"""Looks up the process that a request names, and builds the errors for missing processes.

Segment numbers in a request: 0 is the process over all its segments, 1 its earliest segment, any
other number that segment (`model/ids.py`). A process that does not exist and a process outside the
caller's scope give the same NotFoundError.

A process row has some fields of its parent, from the record of its own creation. Empty fields are
filled from the parent's row; fields that are set are never replaced.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.ids import EARLIEST_SEGMENT, MERGED_SEGMENT, names_process
from vedette.model.scope import Scope
from vedette.search.processes.absence import UNMOUNTED, Absence
from vedette.search.processes.process_columns import (
    COUNT_COLUMNS,
    PROCESS_COLUMNS,
    Row,
    time_in_id_us,
)
from vedette.search.tagged import with_process_tags, with_tags_of_segment
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import open_partitions
from vedette.store.read import process_metadata as stored
from vedette.store.read.segment_counts import present_segment

PARTITION_HOT_US_MAX: Limit[int] = 366 * 86_400_000_000
"""Upper bound of the time that a partition is written to. Ids that do not contain a start time hold
other numbers in its place, most of them centuries ahead."""


OF_PARENT: Final[Mapping[str, str]] = {
    "parent_pid": "process_pid",
    "parent_name": "process_name",
    "parent_path": "path",
    "parent_md5": "process_md5",
    "parent_sha256": "process_sha256",
    "parent_cmdline": "cmdline",
    "parent_username": "username",
}
"""Maps parent column of a child's row to the column of the parent's own row."""


def process_row(engine: Engine, scope: Scope, process_id: str, segment: int) -> dict[str, Any]:
    """Returns one segment of a process, or the process over all its segments, with its tags.

    Raises NotFoundError, which states whether the process or the segment is missing.
    """
    if segment == MERGED_SEGMENT:
        row = stored.process_row(engine, process_id, scope, PROCESS_COLUMNS, COUNT_COLUMNS)
    else:
        wanted = segment
        if segment == EARLIEST_SEGMENT:
            wanted = present_segment(engine, process_id, segment, scope) or segment
        row = stored.segment_row(engine, process_id, wanted, scope, PROCESS_COLUMNS, COUNT_COLUMNS)
    if row is None:
        raise _missing(engine, scope, process_id, segment)
    if segment == MERGED_SEGMENT:
        return with_process_tags(engine, row)
    return with_tags_of_segment(engine, row)


def _missing(engine: Engine, scope: Scope, process_id: str, segment: int) -> NotFoundError:
    if present_segment(engine, process_id, segment, scope) is None:
        return unknown_process(engine, scope, process_id)
    return unknown_segment(process_id, segment)


def unknown_segment(process_id: str, segment: int) -> NotFoundError:
    return NotFoundError(f"process {process_id!r} has no segment {segment}")


def unknown_process(engine: Engine, scope: Scope, process_id: str) -> NotFoundError:
    """Returns the error for a process without records. Its `reason` is "partition_unmounted" if an
    unmounted partition may hold them. Reveals nothing about hosts outside the scope."""
    opened_us = max(open_partitions(engine), default=0) * 1_000
    began_us = time_in_id_us(process_id, before_us=opened_us + PARTITION_HOT_US_MAX)
    if Absence(engine, scope).reason(process_id, began_us) == UNMOUNTED:
        return NotFoundError(
            f"process {process_id!r} not found in mounted partitions; mount those of its time",
            reason=UNMOUNTED,
        )
    return NotFoundError(f"process {process_id!r} not found")


def with_parent(
    engine: Engine, scope: Scope, row: Row, names: Collection[str] = tuple(OF_PARENT)
) -> Row:
    """Returns the row with its empty parent columns in `names` filled from the parent's newest
    row."""
    unknown = [name for name in names if not row[name]]
    if not unknown or not names_process(row["parent_id"]):
        return row
    own = [OF_PARENT[name] for name in unknown]
    return completed(row, stored.newest_row(engine, row["parent_id"], scope, own), unknown)


def completed(row: Row, parent: Row | None, names: Collection[str] = tuple(OF_PARENT)) -> Row:
    """Returns the row with its empty parent columns filled from the parent's row."""
    if parent is None:
        return row
    return {**row, **{name: row[name] or parent[OF_PARENT[name]] for name in names}}
