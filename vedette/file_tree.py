"""Lists the files below a folder and reports every error.

`os.walk`, `Path.glob` and `Path.rglob` leave out what they cannot list, so an unreadable folder
looks like an empty one. Here the caller decides what to do about each error. It is not an error if
a folder or file was deleted after its parent was listed.
"""

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG

OnError = Callable[[OSError], None]
"""Receives an error with the path in `filename`."""


def raise_error(error: OSError) -> None:
    """Raises the error, except where a file or folder was deleted in the meantime."""
    if not isinstance(error, FileNotFoundError):
        raise error


def walk(
    folder: Path, on_error: OnError = raise_error
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Like `os.walk`, but in the order of names. Yields each folder, the names of the folders in it
    (which the caller may change), and the names of everything else in it. A link to a folder is
    among the folders."""
    for path, folders, names in os.walk(folder, onerror=on_error):
        folders.sort()
        yield Path(path), folders, sorted(names)


def regular_files(
    path: Path, on_error: OnError = raise_error, on_link: Callable[[Path], None] | None = None
) -> Iterator[Path]:
    """Yields a file itself, or the regular files below a folder, in the order of their names.
    `on_link` receives links and devices, which are not followed."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in walk(path, on_error):
        for name in folders:
            if on_link is not None and os.path.islink(folder / name):
                on_link(folder / name)
        for name in names:
            inner = folder / name
            try:
                is_regular = S_ISREG(inner.lstat().st_mode)
            except OSError as error:
                on_error(error)
                continue
            if is_regular:
                yield inner
            elif on_link is not None:
                on_link(inner)


def matching(folder: Path, pattern: str, on_error: OnError = raise_error) -> Iterator[Path]:
    """Like `Path.glob` for a pattern without `**`, but in the order of names. A folder that does
    not exist counts as empty."""
    name_pattern, _, rest = pattern.partition("/")
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        on_error(error)
        return
    for name in names:
        if fnmatchcase(name, name_pattern):
            if rest:
                yield from matching(folder / name, rest, on_error)
            else:
                yield folder / name
