"""The packages for Windows and macOS that installers carry: registered by the operator, kept in
the state database, so that every server of a cluster has them and a backup holds them."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

from sqlalchemy import Connection, delete, insert, select, update

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError, TooLargeError
from vedette.limits import INSTALLER_CHUNK_BYTES
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, INSTALLER, INSTALLER_CHUNK

KINDS: Final = {"windows": ("exe", "msi"), "osx": ("pkg",)}
"""Kinds of packages by operating system."""


@dataclass(frozen=True, slots=True)
class Installer:
    """A registered package."""

    id: int
    os: str
    kind: str
    group_id: int | None
    """None: for every group without one of its own."""
    version: str
    file_name: str
    sha256: str
    size: int
    added_us: int


@dataclass(frozen=True, slots=True)
class NewInstaller:
    """What a package is registered with."""

    os: str
    kind: str
    version: str
    group_id: int | None = None


def add(database: Database, path: Path, new: NewInstaller, now_us: int) -> Installer:
    """Keeps a file. Raises BadRequestError for an unknown kind or a file that cannot be read,
    NotFoundError for an unknown group, TooLargeError."""
    if new.kind not in KINDS.get(new.os, ()):
        kinds = "; ".join(f"{os}: {', '.join(kinds)}" for os, kinds in KINDS.items())
        raise BadRequestError(f"there is no kind {new.kind!r} for {new.os!r} ({kinds})")
    try:
        with path.open("rb") as file, database.writing() as connection:
            return _keep(connection, path.name, file, new, now_us)
    except OSError as error:
        raise BadRequestError(f"{path}: {error.strerror}") from None


def all_installers(database: Database) -> list[Installer]:
    """Every package, the newest first."""
    query = select(INSTALLER).order_by(INSTALLER.c.id.desc())
    with database.reading() as connection:
        return [Installer(**row) for row in connection.execute(query).mappings()]


def package_for(database: Database, os: str, kind: str, group_id: int) -> Installer | None:
    """The newest package of the group, else the newest that is for all; None without any."""
    found = [
        one
        for one in all_installers(database)
        if (one.os, one.kind) == (os, kind) and one.group_id in (None, group_id)
    ]
    return max(found, key=lambda one: (one.group_id is not None, one.id), default=None)


def content(database: Database, installer_id: int) -> Iterator[bytes]:
    """The bytes of a package, in pieces. Raises NotFoundError."""
    number = 0
    while True:
        query = select(INSTALLER_CHUNK.c.data).where(
            INSTALLER_CHUNK.c.installer_id == installer_id, INSTALLER_CHUNK.c.number == number
        )
        with database.reading() as connection:
            data = connection.scalar(query)
        if data is None:
            break
        yield data
        number += 1
    if not number:
        raise NotFoundError(f"there is no installer {installer_id}")


def remove(database: Database, installer_id: int) -> None:
    """Raises NotFoundError."""
    with database.writing() as connection:
        chunks = INSTALLER_CHUNK.c.installer_id == installer_id
        connection.execute(delete(INSTALLER_CHUNK).where(chunks))
        query = delete(INSTALLER).where(INSTALLER.c.id == installer_id)
        if not connection.execute(query).rowcount:
            raise NotFoundError(f"there is no installer {installer_id}")


def _keep(
    connection: Connection, name: str, file: BinaryIO, new: NewInstaller, now_us: int
) -> Installer:
    if new.group_id is not None:
        query = select(GROUP.c.id).where(GROUP.c.id == new.group_id)
        if connection.scalar(query) is None:
            raise NotFoundError(f"there is no sensor group {new.group_id}")
    row: dict[str, Any] = {
        "os": new.os,
        "kind": new.kind,
        "group_id": new.group_id,
        "version": new.version,
        "file_name": name,
        "sha256": "",
        "added_us": now_us,
    }
    installer_id: int = connection.execute(
        insert(INSTALLER).values(row).returning(INSTALLER.c.id)
    ).scalar_one()
    digest, size = sha256(), 0
    for number, data in enumerate(iter(lambda: file.read(INSTALLER_CHUNK_BYTES), b"")):
        size += len(data)
        if size > limits.INSTALLER_BYTES_MAX:
            raise TooLargeError(f"{name} is larger than {limits.INSTALLER_BYTES_MAX} bytes")
        digest.update(data)
        connection.execute(
            insert(INSTALLER_CHUNK).values(installer_id=installer_id, number=number, data=data)
        )
    if not size:
        raise BadRequestError(f"{name} is empty")
    known: dict[str, Any] = {"sha256": digest.hexdigest(), "size": size}
    connection.execute(update(INSTALLER).where(INSTALLER.c.id == installer_id).values(known))
    return Installer(installer_id, **{**row, **known})
