"""Hides from a worker process what its libraries import where they find it, and nothing in it uses.

Arrow imports numpy, structlog imports rich for tracebacks in colour: together a third of the start
of a worker, and of its memory.
"""

import sys
from typing import Final

UNUSED: Final = frozenset({"numpy", "rich"})


class _Hidden:
    """Import hook that finds none of them."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is not used in workers", name=name)


def hide_unused() -> None:
    """For a process that has not imported any of them, and is to do nothing else."""
    sys.meta_path.insert(0, _Hidden())
