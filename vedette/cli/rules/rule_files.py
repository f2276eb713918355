"""Files of Sigma rules under a path: a file, a directory, or a tar archive, compressed or not."""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vedette import limits
from vedette.alerting.rule_messages import RuleFile
from vedette.errors import BadRequestError
from vedette.file_tree import OnError, walk

_ENDINGS: Final = (".yml", ".yaml")
_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def rule_files(path: Path) -> Iterator[RuleFile]:
    """Yields the files in the order of their names. Invalid UTF-8 is decoded with replacement
    characters, and later rejected as invalid YAML. Raises BadRequestError for too many files and
    for a damaged archive."""
    for found, file in enumerate(_files(path), 1):
        if found > limits.SIGMA_FILES_MAX:
            raise BadRequestError(f"more than {limits.SIGMA_FILES_MAX} files of rules")
        yield file


def _files(path: Path) -> Iterator[RuleFile]:
    if path.is_dir():
        for inner in paths_below(path):
            yield _read(inner, str(inner.relative_to(path)))
    elif path.name.endswith(_ARCHIVES):
        yield from _archived(path)
    else:
        yield _read(path, path.name)


def _raise(error: OSError) -> None:
    raise BadRequestError(f"{error.filename}: {error.strerror}") from None


def paths_below(folder: Path, on_error: OnError = _raise) -> Iterator[Path]:
    """Yields the files of rules in a directory, in the order of their names.

    `on_error` receives errors of folders that cannot be listed, whose rules would be missing.
    Raises BadRequestError for a link that leads out of the directory, which others may have
    created, and for a pipe or device, which would never end.
    """
    root = folder.resolve()
    for inner, folders, names in walk(folder, on_error):
        rules = [name for name in names if name.endswith(_ENDINGS)]
        for path in (inner / name for name in (*folders, *rules)):
            if not path.resolve().is_relative_to(root):
                raise BadRequestError(f"{path}: is a link outside of {folder}")
        for path in (inner / name for name in rules):
            if not path.is_file():
                raise BadRequestError(f"{path}: is not a file")
            yield path


def _read(path: Path, name: str) -> RuleFile:
    try:
        with path.open("rb") as file:
            return _file(name, file.read(limits.SIGMA_FILE_CHARS_MAX + 1))
    except OSError as error:
        raise BadRequestError(f"{path}: {error.strerror}") from None


def _archived(path: Path) -> Iterator[RuleFile]:
    """Yields the rules of an archive. Reads members sequentially without unpacking them to disk."""
    try:
        with tarfile.open(path) as archive:
            for members, member in enumerate(archive, 1):
                if members > limits.SIGMA_FILES_MAX:
                    raise BadRequestError(f"more than {limits.SIGMA_FILES_MAX} members")
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None and member.name.endswith(_ENDINGS):
                    yield _file(member.name, content.read(limits.SIGMA_FILE_CHARS_MAX + 1))
    except (OSError, tarfile.TarError, EOFError, ValueError) as error:
        raise BadRequestError(f"{path}: {error}") from None


def _file(name: str, content: bytes) -> RuleFile:
    return RuleFile(name, content.decode("utf-8", "replace"), "")
