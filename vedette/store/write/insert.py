"""Writing a commit: an insert a table, each one block and synced when it returns.

The order is what a crash may leave behind: `segment` goes last, because only the writer's
acknowledgement needs it, and everything before it may be there twice or for nothing without
being wrong (records are recognised by their keys, `binary` and `process` merge).
"""

from concurrent.futures import ThreadPoolExecutor

from vedette.store.engine.client import Engine
from vedette.store.write.commit import Commit, CommitTables, commit_tables

_ASIDE_MAX = 3
"""Tables beside `segment`."""


def write_commit(engine: Engine, commit: Commit) -> None:
    """`write_tables` of a commit that is not tables yet."""
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
