"""Folders as descriptors, for paths from another source: a backup, an archive, an API client.

Every part of a path is opened from its parent without following links, so no path leads out of the
root: not through `..`, an existing link, or a link that another process swaps in meanwhile. Links,
devices, sockets and pipes are never read or written through.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, Self

from vedette.errors import BadRequestError
from vedette.limits import PATH_SHOWN_CHARS

_NO_LINKS: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | _NO_LINKS
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS
_REPLACED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
"""Errors for a part that is a link, or a file where a folder was expected."""


def path_parts(name: str) -> tuple[str, ...]:
    """Returns the parts of a relative path. Raises BadRequestError for an absolute path, for `.`
    and `..`, and for names that the file system cannot store."""
    parts = tuple(name.split("/"))
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise BadRequestError(f"a path outside of its folder: {name[:PATH_SHOWN_CHARS]!r}")
    return parts


class OpenFolder:
    """A folder, by descriptor. Use it as a context manager. Methods raise OSError; `is_link_error`
    recognizes the refusal of a link."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def root(cls, path: Path) -> Self:
        """Opens the folder that later paths are relative to. The operator chose it, so it may be a
        link itself."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    @contextmanager
    def below(self, parts: tuple[str, ...], *, mode: int | None = None) -> Iterator["OpenFolder"]:
        """Yields the folder at a path below this one; with `mode`, creates missing folders. The
        caller syncs them."""
        descriptor = os.dup(self._descriptor)
        try:
            for part in parts:
                if mode is not None:
                    _make(part, mode, descriptor)
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield OpenFolder(descriptor)
        finally:
            os.close(descriptor)

    def open_file(self, name: str) -> IO[bytes]:
        """Opens a regular file for reading. Never waits for the other end of a pipe."""
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINKS, dir_fd=self._descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.ELOOP, "not a regular file", name)
        return os.fdopen(descriptor, "rb")

    def create_file(self, name: str, mode: int) -> IO[bytes]:
        """Creates a file for writing. Raises FileExistsError if the name exists, even as a link."""
        return os.fdopen(os.open(name, _NEW_FILE, mode, dir_fd=self._descriptor), "wb")

    def create_link(self, name: str, target: str) -> None:
        """Creates a symbolic link. Create links last: this class refuses to write through them."""
        os.symlink(target, name, dir_fd=self._descriptor)

    def move(self, name: str, to: "OpenFolder", new_name: str) -> None:
        """Renames a file; replaces an existing file or link with the new name."""
        os.replace(name, new_name, src_dir_fd=self._descriptor, dst_dir_fd=to._descriptor)

    def remove(self, name: str) -> None:
        """Removes a file or link, if it exists."""
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            return

    def sync(self) -> None:
        """Makes added and removed names durable."""
        os.fsync(self._descriptor)


def is_link_error(error: OSError) -> bool:
    """Whether a path was refused because a part of it is a link, a device, or a file in place of a
    folder."""
    return error.errno in _REPLACED


def _make(name: str, mode: int, folder: int) -> None:
    try:
        os.mkdir(name, mode, dir_fd=folder)
    except FileExistsError:
        return
