"""Adapts packages that older versions stored in the state database, as a source of blob
migration."""

from collections.abc import Iterator

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey
from vedette.errors import NotFoundError
from vedette.state.db.database import Database
from vedette.state.sensors import installers
from vedette.state.sensors.installers import Installer


class InstallerChunks:
    """An `OlderStore` over the rows of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        found = self._packages(key)
        if not found:
            raise NotFoundError(f"blob {key} is not stored")
        end = found[0].size if length is None else start + length
        at = 0
        for piece in installers.chunks(self._database, found[0].id):
            if at + len(piece) > start and at < end:
                yield piece[max(0, start - at) : end - at]
            at += len(piece)

    def size(self, key: BlobKey) -> int | None:
        found = self._packages(key)
        return found[0].size if found else None

    def delete(self, key: BlobKey) -> None:
        for package in self._packages(key):
            installers.delete_chunks(self._database, package.id)

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        if area == "installers":
            for package in installers.in_chunks(self._database):
                yield BlobInfo(_key(package), package.size, package.added_us)

    def _packages(self, key: BlobKey) -> list[Installer]:
        if key.area != "installers":
            return []
        return [one for one in installers.in_chunks(self._database) if one.sha256 == key.sha256]


def _key(package: Installer) -> BlobKey:
    return BlobKey("installers", package.sha256)
