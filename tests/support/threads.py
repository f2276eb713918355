"""Work beside a test, in threads that end with a block."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Work = Callable[[threading.Event], object]
"""Is given the event that is set when it should end."""


@contextmanager
def at_work(works: Iterable[Work]) -> Iterator[None]:
    """Each in a thread of its own until the block ends, which waits for all of them."""
    ends = threading.Event()
    threads = [threading.Thread(target=work, args=(ends,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ends.set()
        for thread in threads:
            thread.join()
