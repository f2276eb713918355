"""Output of `vedette alerts export`: a file of JSON lines, or a directory of Parquet files; and the
lock that prevents two runs from using the same checkpoint."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from vedette.blobs.local_directory import sync_folder
from vedette.errors import BadRequestError, ConflictError
from vedette.forwarder.parquet_file import ParquetBody

Alerts = Sequence[dict[str, Any]]


class ExportFiles(Protocol):
    """The output files. A checkpoint records how far each file was written."""

    def append(self, page: Alerts, size: int) -> int:
        """Writes a page durably after the given size. Returns the size after it."""
        ...


class LinesFile:
    """A file of JSON lines. `size` is its number of bytes."""

    def __init__(self, file: IO[bytes], path: Path, size: int) -> None:
        """Cuts off data beyond `size`, which a killed run left. Raises BadRequestError if the file
        is shorter."""
        if file.seek(0, os.SEEK_END) < size:
            raise BadRequestError(f"{path}: is shorter than its checkpoint")
        file.truncate(size)
        self._file = file

    def append(self, page: Alerts, size: int) -> int:
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in page)
        self._file.write(lines)
        self._file.flush()
        os.fsync(self._file.fileno())
        return size + len(lines)


class ParquetFiles:
    """A directory with a file per page with alerts. `size` is its number of files. A file beyond
    them, which a killed run left, is overwritten."""

    def __init__(self, folder: Path, size: int) -> None:
        """Raises BadRequestError if files are missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        if size and not self._path(size).exists():
            raise BadRequestError(f"{folder}: has fewer files than its checkpoint")

    def append(self, page: Alerts, size: int) -> int:
        if not page:
            return size
        body = ParquetBody()
        for one in page:
            body.add(one)
        path = self._path(size + 1)
        draft = path.with_name(f".{path.name}")
        with draft.open("wb") as file:
            file.write(body.close().body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(self._folder)
        return size + 1

    def _path(self, number: int) -> Path:
        return self._folder / f"alerts-{number:06d}.parquet"


@contextmanager
def open_files(output: Path, file_format: str, size: int) -> Iterator[ExportFiles]:
    if file_format == "parquet":
        yield ParquetFiles(output, size)
        return
    with output.open("ab") as file:
        yield LinesFile(file, output, size)


@contextmanager
def locked(checkpoint: Path) -> Iterator[None]:
    """Locks a checkpoint. Raises ConflictError while another run uses it."""
    path = checkpoint.with_name(checkpoint.name + ".lock")
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConflictError(f"{checkpoint}: another export is running") from None
        yield
