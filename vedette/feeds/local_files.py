"""Documents of `file://` feeds, confined to one directory.

Every part of the path is opened from its parent without following links, so neither `..` nor a link
that is swapped meanwhile leads out of the directory.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from vedette.feeds.egress import FeedUnreachableError
from vedette.limits import FEED_PIECE_BYTES, FEED_URL_SHOWN_CHARS

_WITHOUT_LINKS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def read_file(url: str, root: Path) -> Iterator[bytes]:
    """The file of a `file://` URL in pieces. Raises FeedUnreachableError."""
    descriptor = _open(_parts(url, root), root)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FeedUnreachableError(f"{url[:FEED_URL_SHOWN_CHARS]} is no file")
    with os.fdopen(descriptor, "rb") as file:
        while piece := file.read(FEED_PIECE_BYTES):
            yield piece


def _parts(url: str, root: Path) -> tuple[str, ...]:
    """The path below the root. Raises FeedUnreachableError."""
    split = urlsplit(url)
    path = PurePosixPath(unquote(split.path))
    refused = FeedUnreachableError(
        f"{url[:FEED_URL_SHOWN_CHARS]}: files of feeds lie in {root};"
        " another directory is the setting feed_files"
    )
    if split.netloc not in ("", "localhost") or not path.is_absolute():
        raise refused
    try:
        below = path.relative_to(root.absolute())
    except ValueError:
        raise refused from None
    if not below.parts or ".." in below.parts or "\0" in str(below):
        raise refused
    return below.parts


def _open(parts: tuple[str, ...], root: Path) -> int:
    """Descriptor of the file. Raises FeedUnreachableError."""
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                inner = os.open(part, _WITHOUT_LINKS | os.O_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(parts[-1], _WITHOUT_LINKS, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise FeedUnreachableError(
            f"{'/'.join(parts)[:FEED_URL_SHOWN_CHARS]}: {error.strerror}"
        ) from None
