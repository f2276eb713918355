"""Files of Sigma rules under a path: a file, a directory, or a tar archive, compressed or not."""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vedette import limits
from vedette.alerting.rule_messages import RuleFile
from vedette.errors import BadRequestError

_ENDINGS: Final = (".yml", ".yaml")
_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def rule_files(path: Path) -> Iterator[RuleFile]:
    """The files, in the order of their names; what is no text is read with replacement characters,
    and then refused as no YAML. Raises BadRequestError for too many, and for a broken archive."""
    for found, file in enumerate(_files(path), 1):
        if found > limits.SIGMA_FILES_MAX:
            raise BadRequestError(f"more than {limits.SIGMA_FILES_MAX} files of rules")
        yield file


def _files(path: Path) -> Iterator[RuleFile]:
    if path.is_dir():
        for inner in sorted(one for one in path.rglob("*") if one.suffix in _ENDINGS):
            yield _read(inner, str(inner.relative_to(path)))
    elif path.name.endswith(_ARCHIVES):
        yield from _archived(path)
    else:
        yield _read(path, path.name)


def _read(path: Path, name: str) -> RuleFile:
    try:
        with path.open("rb") as file:
            return _file(name, file.read(limits.SIGMA_FILE_CHARS_MAX + 1))
    except OSError as error:
        raise BadRequestError(f"{path}: {error.strerror}") from None


def _archived(path: Path) -> Iterator[RuleFile]:
    """Members are read one after the other; nothing is unpacked to disk."""
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
