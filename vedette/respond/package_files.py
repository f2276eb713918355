"""Files that operators register: packages for installers, and updates of sensors.

Their bytes are blobs, stored before the row that refers to them and deleted after it. A process
that is killed in between leaves a blob without a row; the next registration of the same file uses
it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vedette.blobs.blob_store import Area, BlobKey, BlobStore, hash_of, open_verified, pieces_of
from vedette.errors import BadRequestError, NotFoundError, TooLargeError
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.sensors import installers, sensor_packages
from vedette.state.sensors.installers import Installer, InstallerFile, NewInstaller
from vedette.state.sensors.sensor_packages import OS_TYPES, Package

INSTALLER_BYTES_MAX: Limit[int] = 512 * 1024 * 1024
"""Bytes of a package for Windows or macOS; osquery's have about 30 MB."""


def add_installer(
    database: Database, blobs: BlobStore, path: Path, new: NewInstaller, now_us: int
) -> Installer:
    """Registers a package for installers. Raises BadRequestError for an unknown kind or a file that
    is unreadable or empty, NotFoundError for an unknown group, TooLargeError."""
    installers.check(new)
    with _opened(path) as file:
        key, size = _stored(blobs, "installers", path, file)
    return installers.add(database, InstallerFile(path.name, key.sha256, size), new, now_us)


def remove_installer(database: Database, blobs: BlobStore, installer_id: int) -> None:
    """Deletes a package for installers. Raises NotFoundError."""
    sha256 = installers.remove(database, installer_id)
    if sha256 is not None:
        blobs.delete(BlobKey("installers", sha256))


def open_installer(blobs: BlobStore, installer: Installer) -> IO[bytes]:
    """Opens the verified bytes of a package for installers."""
    return open_verified(blobs, BlobKey("installers", installer.sha256))


def add_sensor_package(
    database: Database, blobs: BlobStore, path: Path, os_type: str, version: str
) -> Package:
    """Registers the update of an operating system's sensors. Raises the errors of
    `add_installer`."""
    sensor_packages.check(os_type, version)
    with _opened(path) as file:
        key, size = _stored(blobs, "packages", path, file)
    package = Package(os_type, version, key.sha256, size)
    sensor_packages.register(database, package)
    return package


def open_sensor_package(database: Database, blobs: BlobStore, sha256: str) -> IO[bytes]:
    """Opens the verified bytes of a currently ordered update. Raises NotFoundError."""
    for os_type in OS_TYPES:
        package = sensor_packages.package_of(database, os_type)
        if package is not None and package.sha256 == sha256:
            return open_verified(blobs, BlobKey("packages", sha256))
    raise NotFoundError(f"sensor package {sha256[:64]!r} not found")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadRequestError(f"{path}: {error.strerror}") from None
    with file:
        yield file


def _stored(blobs: BlobStore, area: Area, path: Path, file: IO[bytes]) -> tuple[BlobKey, int]:
    try:
        size = file.seek(0, 2)
        file.seek(0)
        if not size:
            raise BadRequestError(f"{path.name} is empty")
        if size > INSTALLER_BYTES_MAX:
            raise TooLargeError(f"{path.name} is larger than {INSTALLER_BYTES_MAX} bytes")
        key = BlobKey(area, hash_of(file))
    except OSError as error:
        raise BadRequestError(f"{path}: {error.strerror}") from None
    return key, blobs.put(key, pieces_of(file))
