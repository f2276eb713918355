"""The sensor packages that updates are made from: one an operating system, registered by the
operator. The file lies in the data directory, its description in the state database."""

from dataclasses import asdict, dataclass

import orjson

from vedette.state import values
from vedette.state.engine import Database

OS_TYPES = ("linux", "windows", "osx")


@dataclass(frozen=True, slots=True)
class Package:
    """A file that a sensor can install in its own place."""

    os_type: str
    version: str
    sha256: str
    size: int


def register(database: Database, package: Package) -> None:
    """From now on sensors of this system are told to become this version."""
    values.save(database, _name(package.os_type), orjson.dumps(asdict(package)).decode())


def package_of(database: Database, os_type: str) -> Package | None:
    """The package of an operating system; None where none is registered."""
    text = values.load(database, _name(os_type)) if os_type in OS_TYPES else None
    return None if not text else Package(**orjson.loads(text))


def withdraw(database: Database, os_type: str) -> None:
    """Sensors of this system are told of no update any more."""
    values.save(database, _name(os_type), "")


def _name(os_type: str) -> str:
    return f"sensor package {os_type}"
