"""Writes a commit: one insert per table, each one block that is synced on return.

The order makes crashes safe: `segment` goes last, because the acknowledgment depends on it. The
rows of other tables may exist twice or without their segment: records are deduplicated by key, and
`binary` and `process` merge. `record` and `segment`, which mark a record as stored, come after
`hit`, because rules are not evaluated again on a stored record that is sent again. So each step is
confirmed as stored (`engine/write_failures.py`) before the next one begins.
"""

from typing import Final

from vedette.store.engine.client import Engine
from vedette.store.write.commit import Commit, CommitTables, commit_tables

HIT: Final = "hit"
RECORD: Final = "record"


def write_commit(engine: Engine, commit: Commit) -> None:
    """Like `write_tables`, for a commit that is not yet in Arrow tables."""
    write_tables(engine, commit_tables(commit))


def write_tables(engine: Engine, tables: CommitTables, until_us: int | None = None) -> None:
    """Stores a commit; it is on disk on return. After `until_us` the store refuses all of it.

    Raises UnavailableError if the store cannot take it now. Then any part of it may have been
    stored, and the same commit must be written again before it is acknowledged.
    """
    has_hits = any(name == HIT for name, _ in tables.aside)
    late = (RECORD,) if has_hits else ()
    for is_late in (False, True):
        if of_turn := [one for one in tables.aside if (one[0] in late) is is_late]:
            engine.insert_tables(of_turn, until_us)
    for rows in tables.segments:
        engine.insert_arrow("segment", rows, until_us)
