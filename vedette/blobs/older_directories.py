"""The directories of the data directory that held files before the blob store existed.

`binaries/ab/abcdef...` has the layout of a `LocalDirectory`; `packages/abcdef...` has no folder in
between. The beginnings of large files (`binaries/ab/abcdef....SENSOR`) have names that are not
hashes of their content: `beginnings` lists them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey
from vedette.blobs.local_directory import LocalDirectory
from vedette.file_tree import matching

_BEGINNING: Final = re.compile(r"([0-9a-f]{64})\.([0-9]{1,10})")


class OlderDirectories:
    """An `OlderStore` over those directories."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._nested = LocalDirectory(data)
        self._flat = _Flat(data)

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        return self._of(key.area).read(key, start, length)

    def size(self, key: BlobKey) -> int | None:
        return self._of(key.area).size(key)

    def delete(self, key: BlobKey) -> None:
        self._of(key.area).delete(key)

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        return self._of(area).blobs(area)

    def beginnings(self) -> Iterator[tuple[Path, str, int]]:
        """Yields (path, SHA-256 of the whole file as reported by its sensor, sensor id)."""
        for path in matching(self._data, "binaries/??/*.*"):
            if found := _BEGINNING.fullmatch(path.name):
                yield path, found[1], int(found[2])

    def _of(self, area: Area) -> LocalDirectory:
        return self._flat if area == "packages" else self._nested


class _Flat(LocalDirectory):
    def path(self, key: BlobKey) -> Path:
        return self.root / key.area / key.sha256

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        return self.listed(area, "*")
