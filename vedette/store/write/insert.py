"""Writes a commit: one insert a table, each one block that is synced when it returns.

Ordered for crashes: `segment` goes last, because the acknowledgement depends on it. The rows of
other tables may be there twice or without their segment: records are deduplicated by key, `binary`
and `process` merge, and corrections are idempotent.
"""

from concurrent.futures import ThreadPoolExecutor

from vedette.store.engine.client import Engine
from vedette.store.write.commit import Commit, CommitTables, commit_tables

_ASIDE_MAX = 3
"""Tables beside `segment`."""


def write_commit(engine: Engine, commit: Commit) -> None:
    """`write_tables` of a commit that is not Arrow tables yet."""
    write_tables(engine, commit_tables(commit))


def write_tables(engine: Engine, tables: CommitTables) -> None:
    """Store a commit; it is on disk when this returns.

    Raises UnavailableError when the store cannot take it now; then any part of it may have
    been stored, and the same commit must be written again before it is acknowledged.
    """
    # A small insert is mostly waiting for the disk.
    with ThreadPoolExecutor(max_workers=_ASIDE_MAX) as workers:
        inserts = [workers.submit(engine.insert_arrow, name, rows) for name, rows in tables.aside]
    for insert in inserts:
        insert.result()
    for rows in tables.segments:
        engine.insert_arrow("segment", rows)
