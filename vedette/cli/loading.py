"""Imports without garbage collection: of what a program is made of nothing is garbage, and looking
for it is a quarter of the time that importing takes."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Automatic collection is off inside the block; what was imported there is never traversed
    afterwards. No effect where everything had been imported before, or where collection is off."""
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
