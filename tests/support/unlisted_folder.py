"""A folder that nobody can list, not even root."""

import os
from pathlib import Path


def too_deep(folder: Path) -> Path:
    """Makes folders so deep that the system cannot list the last of them by its path. Returns the
    first."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=handle)
        inner = os.open("n" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    return folder / ("n" * 250)
