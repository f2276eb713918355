"""Exports alerts through search v7 to files, page by page.

After the rows of a page are on disk, the checkpoint records the size of the files and the time at
which the search continues. A killed run may leave data beyond that size, which the next run cuts
off.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vedette.blobs.local_directory import sync_folder
from vedette.cli.cloud.export_files import ExportFiles
from vedette.errors import BadRequestError
from vedette.limits import Limit

ALERT_EXPORT_SPAN_DAYS: Limit[int] = 30
"""Days per search of `vedette alerts export`. Longer exports run month by month, as the API
requires."""


Search = Callable[[dict[str, Any]], list[dict[str, Any]]]
"""Sends the body of a search and returns its results."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Progress of an export. `at` is the next start (ISO 8601, UTC), `size` the size of the files
    (`export_files.py`), `rows` the number of exported alerts; `seen` has ids of exported alerts
    with exactly that time."""

    at: str
    size: int = 0
    rows: int = 0
    seen: tuple[str, ...] = ()


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Reads a checkpoint, None if the file does not exist. Raises BadRequestError for another kind
    of file."""
    try:
        body = json.loads(path.read_bytes())
        found = Checkpoint(body["at"], int(body["size"]), int(body["rows"]), tuple(body["seen"]))
        moment(found.at)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadRequestError(f"{path}: is not an export checkpoint") from None
    return found


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replaces the file atomically and durably: a reader sees the old or the new contents."""
    draft = path.with_name(path.name + ".draft")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(checkpoint), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def export(
    search: Search, files: ExportFiles, kept: Path, begin: Checkpoint, end: datetime, rows: int
) -> Iterator[Checkpoint]:
    """Exports alerts up to `end`; yields the checkpoint after each page."""
    write_checkpoint(kept, begin)
    end = moment(instant(end))  # same precision as the checkpoints
    now = begin
    while moment(now.at) < end:
        until = min(end, moment(now.at) + timedelta(days=ALERT_EXPORT_SPAN_DAYS))
        for page, following in _pages(search, now, until, rows):
            size = files.append(page, now.size)
            now = replace(following, size=size, rows=now.rows + len(page))
            write_checkpoint(kept, now)
            yield now


def _pages(
    search: Search, begin: Checkpoint, until: datetime, rows: int
) -> Iterator[tuple[list[dict[str, Any]], Checkpoint]]:
    """Yields the new alerts of each page up to `until`, with the checkpoint after it.

    After a full page the search continues at the time of its last alert, without alerts already
    seen.
    """
    at, seen = begin.at, set(begin.seen)
    while True:
        span = {"start": at, "end": instant(until)}
        order = [{"field": "backend_timestamp", "order": "ASC"}]
        found = search({"time_range": span, "sort": order, "rows": rows})
        new = [one for one in found if one["id"] not in seen]
        if len(found) < rows:
            yield new, Checkpoint(instant(until))
            return
        last = found[-1]["backend_timestamp"]
        if not new:
            raise BadRequestError(f"more than {rows} alerts at {last}: ask for more --rows")
        at, seen = last, {one["id"] for one in found if one["backend_timestamp"] == last}
        yield new, Checkpoint(at, seen=tuple(sorted(seen)))


def moment(text: str) -> datetime:
    """Parses an ISO 8601 time, in UTC unless it names a zone. Raises BadRequestError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequestError(f"{text}: must be a time such as 2026-01-31T12:00:00Z") from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def instant(time: datetime) -> str:
    """Formats a time in milliseconds, as the search expects it."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
