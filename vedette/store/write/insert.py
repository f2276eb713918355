"""Writes a commit: one insert a table, each one block that is synced when it returns.

Ordered for crashes: `segment` goes last, because the acknowledgement depends on it. The rows of
other tables may be there twice or without their segment: records are deduplicated by key, `binary`
and `process` merge, and corrections are idempotent. What marks a record as stored, `record` and
`segment`, comes after `hit`: a record that is sent again is not judged again once it is known. So
each step is known to be stored (`engine/write_failures.py`) before the next one begins.
"""

from typing import Final

from vedette.store.engine.client import Engine
from vedette.store.write.commit import Commit, CommitTables, commit_tables

HIT: Final = "hit"
RECORD: Final = "record"


def write_commit(engine: Engine, commit: Commit) -> None:
    """`write_tables` of a commit that is not Arrow tables yet."""
    write_tables(engine, commit_tables(commit))


def write_tables(engine: Engine, tables: CommitTables, until_us: int | None = None) -> None:
    """Store a commit; it is on disk when this returns. After `until_us` the store takes none of it.

    Raises UnavailableError when the store cannot take it now; then any part of it may have
    been stored, and the same commit must be written again before it is acknowledged.
    """
    has_hits = any(name == HIT for name, _ in tables.aside)
    late = (RECORD,) if has_hits else ()
    for is_late in (False, True):
        if of_turn := [one for one in tables.aside if (one[0] in late) is is_late]:
            engine.insert_tables(of_turn, until_us)
    for rows in tables.segments:
        engine.insert_arrow("segment", rows, until_us)
