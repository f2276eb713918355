"""Repeats statements where that is safe: an insert whose answer was lost, and a read that met a
table which was being replaced.

Only inserts with a deduplication token are repeated, which the cluster stores once however often
they arrive. Without it a broken connection would fail a commit that may have been stored, and while
recovery reads back what was, the insert might still be under way.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

from vedette.errors import UnavailableError
from vedette.limits import (
    INSERT_ATTEMPTS,
    INSERT_RETRY_S,
    REPLACED_TABLE_ATTEMPTS,
    REPLACED_TABLE_RETRY_S,
)
from vedette.store.engine.errors import ReplacedTableError

T = TypeVar("T")


def insert_until_known(insert: Callable[[], None], attempts: int = INSERT_ATTEMPTS) -> None:
    """Raises UnavailableError when the last attempt fails, too: then whether it is stored is not
    known."""
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
    """The result of a read. Where a table is replaced while it begins, it begins again. Raises
    ReplacedTableError when the last attempt meets that, too."""
    for _ in range(REPLACED_TABLE_ATTEMPTS - 1):
        try:
            return read()
        except ReplacedTableError:
            time.sleep(REPLACED_TABLE_RETRY_S)
    return read()


@contextmanager
def begun_once_replaced(begin: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """`read_once_replaced` of a read that goes on until the block ends; only its beginning is
    repeated."""
    with ExitStack() as held:
        yield read_once_replaced(lambda: held.enter_context(begin()))
