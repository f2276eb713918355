"""Starts this program again, from a folder or from a zip file."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = (__package__ or "vedette.sensor.host").rpartition(".")[0]
"""The sensor's own package, whatever its name. This module is one level below."""


def home() -> Path:
    """Returns the folder or zip file that contains the package."""
    return Path(__file__).parents[len(_PACKAGE.split(".")) + 1]


def command(arguments: list[str]) -> list[str]:
    """Returns the command line that runs this program with the given arguments."""
    start = (
        f"import sys; sys.path.insert(0, {str(home())!r}); "
        f"from {_PACKAGE}.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    return [sys.executable, "-I", "-c", start, *arguments]
