"""Documents of `file://` feeds, confined to one directory (`blobs/open_folder.py`)."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote, urlsplit

from vedette.blobs.open_folder import OpenFolder
from vedette.feeds.egress import FeedUnreachableError
from vedette.limits import FEED_PIECE_BYTES, FEED_URL_SHOWN_CHARS


def read_file(url: str, root: Path) -> Iterator[bytes]:
    """Yields the file of a `file://` URL in pieces. Raises FeedUnreachableError."""
    parts = _parts(url, root)
    with _open(parts, root) as file:
        while piece := file.read(FEED_PIECE_BYTES):
            yield piece


def _parts(url: str, root: Path) -> tuple[str, ...]:
    """Returns the path below the root. Raises FeedUnreachableError."""
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


def _open(parts: tuple[str, ...], root: Path) -> IO[bytes]:
    """Opens the file. Raises FeedUnreachableError."""
    try:
        with OpenFolder.root(root) as opened, opened.below(parts[:-1]) as folder:
            return folder.open_file(parts[-1])
    except OSError as error:
        raise FeedUnreachableError(
            f"{'/'.join(parts)[:FEED_URL_SHOWN_CHARS]}: {error.strerror}"
        ) from None
