"""Writes a commit: one insert a table, each one block that is synced when it returns.

Ordered for crashes: `segment` goes last, because the acknowledgement depends on it. The rows of
other tables may be there twice or without their segment: records are deduplicated by key, `binary`
and `process` merge, and corrections are idempotent. What marks a record as stored, `record` and
`segment`, comes after `hit`: a record that is sent again is not judged again once it is known.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa

from vedette.limits import INSERT_ASIDE_THREADS
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
    _insert_at_once(engine, [one for one in tables.aside if one[0] not in late], until_us)
    _insert_at_once(engine, [one for one in tables.aside if one[0] in late], until_us)
    for rows in tables.segments:
        engine.insert_arrow("segment", rows, until_us)


def _insert_at_once(
    engine: Engine, tables: Sequence[tuple[str, pa.Table]], until_us: int | None
) -> None:
    """Inserts tables in parallel: a small insert is mostly waiting for the disk."""
    if not tables:
        return
    with ThreadPoolExecutor(max_workers=INSERT_ASIDE_THREADS) as workers:
        inserts = [
            workers.submit(engine.insert_arrow, name, rows, until_us) for name, rows in tables
        ]
    for insert in inserts:
        insert.result()
