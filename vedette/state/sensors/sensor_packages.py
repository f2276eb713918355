"""Sensor packages for updates: one for each operating system, registered by the operator. Files are
in the data directory, metadata in the state database."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

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


def register(database: Database, data: Path, package: Package, content: bytes) -> None:
    """Store a package in the data directory and order it for sensors of its operating system.
    Raises BadRequestError for a system that has no sensor."""
    if package.os_type not in OS_TYPES:
        raise BadRequestError(f"{package.os_type}: one of {', '.join(OS_TYPES)}")
    if not package.version.isprintable() or not package.version:
        raise BadRequestError("version: must be printable")  # it is signed as one line
    folder = data / "packages"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f"{package.sha256}.new"
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / package.sha256)
    key_values.save(database, package_name(package.os_type), orjson.dumps(asdict(package)).decode())


def package_of(database: Database, os_type: str) -> Package | None:
    """The package of an operating system; None where none is registered."""
    text = key_values.load(database, package_name(os_type)) if os_type in OS_TYPES else None
    return None if not text else Package(**orjson.loads(text))


def withdraw(database: Database, os_type: str) -> None:
    """Stop ordering updates for this operating system."""
    key_values.save(database, package_name(os_type), "")


def package_name(os_type: str) -> str:
    """Key of the package of an operating system among the stored values."""
    return f"sensor package {os_type}"
