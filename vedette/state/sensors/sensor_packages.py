"""Sensor packages for updates: one per operating system, registered by the operator.

Their bytes are blobs (`respond/package_files.py`).
"""

from dataclasses import asdict, dataclass

import orjson

from vedette.errors import BadRequestError
from vedette.state.db import key_values
from vedette.state.db.database import Database

OS_TYPES = ("linux", "windows", "osx")


@dataclass(frozen=True, slots=True)
class Package:
    """A file that a sensor can install as its update."""

    os_type: str
    version: str
    sha256: str
    size: int


def register(database: Database, package: Package) -> None:
    """Registers a package, whose bytes are stored, as the update for sensors of its operating
    system. Raises the errors of `check`."""
    check(package.os_type, package.version)
    key_values.save(database, package_name(package.os_type), orjson.dumps(asdict(package)).decode())


def check(os_type: str, version: str) -> None:
    """Raises BadRequestError for an unsupported operating system, and for a version that is not a
    line of text."""
    if os_type not in OS_TYPES:
        raise BadRequestError(f"{os_type}: one of {', '.join(OS_TYPES)}")
    if not version.isprintable() or not version:
        raise BadRequestError(
            "version: must contain only printable characters"
        )  # the signature covers it as one line


def package_of(database: Database, os_type: str) -> Package | None:
    """Returns the package of an operating system, or None."""
    text = key_values.load(database, package_name(os_type)) if os_type in OS_TYPES else None
    return None if not text else Package(**orjson.loads(text))


def withdraw(database: Database, os_type: str) -> None:
    """Stops ordering updates for this operating system."""
    key_values.save(database, package_name(os_type), "")


def package_name(os_type: str) -> str:
    """Returns the key of an operating system's package among the stored values."""
    return f"sensor package {os_type}"
