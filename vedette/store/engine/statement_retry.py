"""Repeats statements where that is safe: an insert whose response was lost, and a read of a table
that was being replaced.

Only inserts with a deduplication token are repeated; the cluster stores them once however often
they arrive. Without the retry, a broken connection would fail a commit that may have been stored,
and the insert could still be running while recovery reads back the stored rows.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.store.engine.errors import ReplacedTableError

INSERT_ATTEMPTS: Limit[int] = 4
"""Attempts of an insert into a cluster: a server that restarts behind a load balancer, or an
elected replica, is available again within a second."""

INSERT_RETRY_S: Limit[float] = 0.25
"""Seconds before the second attempt; the wait grows by the same amount before each further
attempt."""

REPLACED_TABLE_ATTEMPTS: Limit[int] = 5
"""Attempts of a read of a table that is being replaced. A command that moves sensors replaces one
table after the other."""

REPLACED_TABLE_RETRY_S: Limit[float] = 0.02
"""Seconds before a read is repeated; replacing a table takes milliseconds."""


T = TypeVar("T")


def insert_until_known(insert: Callable[[], None], attempts: int = INSERT_ATTEMPTS) -> None:
    """Runs an insert until it succeeds. Raises UnavailableError if the last attempt fails; then the
    insert may or may not be stored."""
    for done in range(1, attempts + 1):
        try:
            insert()
        except UnavailableError:
            if done == attempts:
                raise
            time.sleep(INSERT_RETRY_S * done)
        else:
            return


def read_once_replaced(read: Callable[[], T]) -> T:
    """Returns the result of a read; repeats it if a table is replaced while it begins. Raises
    ReplacedTableError if that also happens to the last attempt."""
    for _ in range(REPLACED_TABLE_ATTEMPTS - 1):
        try:
            return read()
        except ReplacedTableError:
            time.sleep(REPLACED_TABLE_RETRY_S)
    return read()


@contextmanager
def begun_once_replaced(begin: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """Like `read_once_replaced`, for a read that continues until the block ends; only its start is
    repeated."""
    with ExitStack() as held:
        yield read_once_replaced(lambda: held.enter_context(begin()))
