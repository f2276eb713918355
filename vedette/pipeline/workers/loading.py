"""Hides optional libraries from a worker process that its libraries would import but never use.

Arrow imports numpy, and structlog imports rich for colored tracebacks: together a third of a
worker's start time and memory.
"""

import sys
from typing import Final

UNUSED: Final = frozenset({"numpy", "rich"})


class _Hidden:
    """Import hook that reports these modules as missing."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is not used in workers", name=name)


def hide_unused() -> None:
    """Installs the hook. Call it in a dedicated process that has not imported any of the
    modules."""
    sys.meta_path.insert(0, _Hidden())
