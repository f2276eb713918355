"""Packages for Windows and macOS that installers contain, registered by the operator.

Their bytes are blobs (`respond/package_files.py`); older versions stored them here, in chunks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, insert, select

from vedette.errors import BadRequestError, NotFoundError
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, INSTALLER, INSTALLER_CHUNK

KINDS: Final = {"windows": ("exe", "msi"), "osx": ("pkg",)}
"""Kinds of packages by operating system."""


@dataclass(frozen=True, slots=True)
class Installer:
    """A registered installer package of the sensor."""

    id: int
    os: str
    kind: str
    group_id: int | None
    """None: for every group without its own package."""
    version: str
    file_name: str
    sha256: str
    size: int
    added_us: int


@dataclass(frozen=True, slots=True)
class NewInstaller:
    """Parameters of a registration."""

    os: str
    kind: str
    version: str
    group_id: int | None = None


@dataclass(frozen=True, slots=True)
class InstallerFile:
    """The stored bytes of a package."""

    name: str
    sha256: str
    size: int


def check(new: NewInstaller) -> None:
    """Raises BadRequestError for an unknown kind."""
    if new.kind not in KINDS.get(new.os, ()):
        kinds = "; ".join(f"{os}: {', '.join(kinds)}" for os, kinds in KINDS.items())
        raise BadRequestError(f"unknown kind {new.kind!r} for {new.os!r} ({kinds})")


def add(database: Database, file: InstallerFile, new: NewInstaller, now_us: int) -> Installer:
    """Registers a package whose bytes are stored. Raises BadRequestError for an unknown kind,
    NotFoundError for an unknown group."""
    check(new)
    row: dict[str, Any] = {
        "os": new.os,
        "kind": new.kind,
        "group_id": new.group_id,
        "version": new.version,
        "file_name": file.name,
        "sha256": file.sha256,
        "size": file.size,
        "added_us": now_us,
    }
    with database.writing() as connection:
        if new.group_id is not None:
            query = select(GROUP.c.id).where(GROUP.c.id == new.group_id)
            if connection.scalar(query) is None:
                raise NotFoundError(f"sensor group {new.group_id} not found")
        added = insert(INSTALLER).values(row).returning(INSTALLER.c.id)
        return Installer(connection.execute(added).scalar_one(), **row)


def all_installers(database: Database) -> list[Installer]:
    """Returns all packages, newest first."""
    query = select(INSTALLER).order_by(INSTALLER.c.id.desc())
    with database.reading() as connection:
        return [Installer(**row) for row in connection.execute(query).mappings()]


def package_for(database: Database, os: str, kind: str, group_id: int) -> Installer | None:
    """Returns the newest package of the group, else the newest for all groups, else None."""
    found = [
        one
        for one in all_installers(database)
        if (one.os, one.kind) == (os, kind) and one.group_id in (None, group_id)
    ]
    return max(found, key=lambda one: (one.group_id is not None, one.id), default=None)


def remove(database: Database, installer_id: int) -> str | None:
    """Deletes a package. Returns the SHA-256 of its bytes if no other package uses them. Raises
    NotFoundError."""
    this = INSTALLER.c.id == installer_id
    with database.writing() as connection:
        sha256 = connection.scalar(select(INSTALLER.c.sha256).where(this))
        if sha256 is None:
            raise NotFoundError(f"installer {installer_id} not found")
        connection.execute(delete(INSTALLER_CHUNK).where(_chunks_of(installer_id)))
        connection.execute(delete(INSTALLER).where(this))
        left = select(INSTALLER.c.id).where(INSTALLER.c.sha256 == sha256).limit(1)
        return str(sha256) if connection.scalar(left) is None else None


def in_chunks(database: Database) -> list[Installer]:
    """Returns the packages whose bytes an older version left in the state database."""
    chunked = select(INSTALLER_CHUNK.c.installer_id).distinct()
    query = select(INSTALLER).where(INSTALLER.c.id.in_(chunked)).order_by(INSTALLER.c.id)
    with database.reading() as connection:
        return [Installer(**row) for row in connection.execute(query).mappings()]


def chunks(database: Database, installer_id: int) -> Iterator[bytes]:
    """Yields the bytes that an older version left in the state database, chunk by chunk."""
    number = 0
    while True:
        query = select(INSTALLER_CHUNK.c.data).where(
            _chunks_of(installer_id), INSTALLER_CHUNK.c.number == number
        )
        with database.reading() as connection:
            data = connection.scalar(query)
        if data is None:
            return
        yield data
        number += 1


def delete_chunks(database: Database, installer_id: int) -> None:
    """Deletes the chunks of a package, which stays registered."""
    with database.writing() as connection:
        connection.execute(delete(INSTALLER_CHUNK).where(_chunks_of(installer_id)))


def _chunks_of(installer_id: int) -> ColumnElement[bool]:
    return INSTALLER_CHUNK.c.installer_id == installer_id
