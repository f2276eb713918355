"""The data directory: accessible only by its owner, even if it existed before.

It contains password and token hashes, enrolment secrets, the TLS key and all telemetry.
"""

import os
import stat
from pathlib import Path

import structlog

from vedette.errors import StartError

log = structlog.get_logger(__name__)


def make_private(folder: Path) -> None:
    """Creates the directory, or removes the permissions of group and others.

    Raises StartError if that fails, and for a directory that is shared on purpose: `/`, the home
    directory, a directory with a sticky bit such as `/tmp`, or a directory of another user.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise StartError(f"the data directory cannot be made: {error}") from None
    if not stat.S_IMODE(found.st_mode) & 0o077:
        return
    if _is_shared(folder, found):
        raise StartError(f"{folder} is open to other users: choose a directory of its own for data")
    try:
        folder.chmod(0o700)
    except OSError as error:
        raise StartError(f"{folder} is open to other users and stays so: {error}") from None
    log.warning("the data directory was accessible to other users", path=str(folder))


def _is_shared(folder: Path, found: os.stat_result) -> bool:
    place = folder.resolve()
    is_common = place == Path(place.anchor) or place == Path.home().resolve()
    return is_common or bool(found.st_mode & stat.S_ISVTX) or found.st_uid != os.geteuid()
