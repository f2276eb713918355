"""Repeats an insert whose answer was lost. Only for inserts with a deduplication token, which the
cluster stores once however often they arrive.

Without it a broken connection would fail a commit that may have been stored, and while recovery
reads back what was, the insert might still be under way.
"""

import time
from collections.abc import Callable

from vedette.errors import UnavailableError
from vedette.limits import INSERT_ATTEMPTS, INSERT_RETRY_S


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
