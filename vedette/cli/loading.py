"""Imports modules without garbage collection: a program's modules contain no garbage, and searching
them takes a quarter of the import time."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Disables automatic collection inside the block. Objects imported there are excluded from
    later collections. Has no effect if all modules were already imported, or if collection is
    disabled."""
    if not gc.isenabled():
        yield
        return
    before = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > before:
            gc.freeze()
        gc.enable()
