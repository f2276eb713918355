"""Checks the directory of an embedded engine before the engine opens it.

The engine reports an incomplete directory with an unreadable message, or as an empty table. Checked
here: every database and table has its definition (`.sql`) and its data directory (`store/<3
characters>/<uuid>`).

Symbolic links: the engine keeps relative links, `metadata/<database>` and
`data/<database>/<table>`, that point into `store/`. It recreates missing links, but refuses to open
if a copying tool has replaced a link by its target. Such replacements are duplicates of data in
`store/`; they are moved to `replaced-links/`, never deleted.
"""

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vedette.errors import StartError
from vedette.limits import Limit

DEFINITION_HEAD_BYTES: Limit[int] = 4_096
"""Bytes at the start of a table's definition file that are searched for its UUID, which is in the
first line."""


_LOG = logging.getLogger(__name__)

_UUID: Final = re.compile(r"UUID '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'")
_REPLACED: Final = "replaced-links"

_REMEDY: Final = (
    "restore the data directory from a backup; copy the whole directory of a stopped server"
)


def check_directory(directory: Path) -> None:
    """Repairs links; `directory` may be new. Raises StartError that names missing files."""
    try:
        _repair_links(directory)
        problems = list(_problems(directory))
    except OSError as error:
        raise StartError(f"cannot read {error.filename}: {error.strerror}") from error
    if problems:
        raise StartError(
            f"the telemetry store in {directory} is not complete: {'; '.join(problems)}: {_REMEDY}"
        )


def _repair_links(directory: Path) -> None:
    databases = [path for path in _entries(directory / "metadata") if path.suffix != ".sql"]
    tables = [path for data in _entries(directory / "data") for path in _entries(data)]
    for path in (*databases, *tables):
        if path.is_symlink():
            if path.readlink().is_absolute() or not path.exists():
                path.unlink()
        elif _is_link_target(directory, path):
            _move_aside(directory, path)


def _is_link_target(directory: Path, path: Path) -> bool:
    """Whether a regular file or directory is in the place of a link of the engine: its database has
    its definitions in `store/`."""
    database = path.name if path.parent.name == "metadata" else path.parent.name
    return _definition_uuid(directory / "metadata" / f"{database}.sql") is not None


def _move_aside(directory: Path, path: Path) -> None:
    aside = directory / _REPLACED
    aside.mkdir(exist_ok=True)
    target = aside / f"{path.parent.name}-{path.name}"
    number = 1
    while target.exists():
        number += 1
        target = aside / f"{path.parent.name}-{path.name}-{number}"
    path.rename(target)
    _LOG.warning(
        "%s was copied without its symbolic link; the duplicate is now %s and may be deleted",
        path,
        target,
    )


def _problems(directory: Path) -> Iterator[str]:
    for definition in _entries(directory / "metadata"):
        if definition.suffix != ".sql":
            continue
        uuid = _definition_uuid(definition)
        if uuid is None:
            yield f"the definition of database {definition.stem} is damaged ({definition})"
            continue
        tables = _store_path(directory, uuid)
        if not tables.is_dir():
            yield f"the table definitions of database {definition.stem} are gone ({tables})"
        for table in _entries(tables):
            yield from _table_problems(directory, table)


def _table_problems(directory: Path, definition: Path) -> Iterator[str]:
    if definition.suffix != ".sql":
        return
    head = _head(definition)
    uuid = _UUID.search(head)
    if uuid is None:
        yield f"the definition of table {definition.stem} is damaged ({definition})"
    elif "MergeTree" in _head(definition, whole=True):
        data = _store_path(directory, uuid[1])
        if not (data / "format_version.txt").is_file():
            yield f"the data of table {definition.stem} are gone ({data})"


def _definition_uuid(definition: Path) -> str | None:
    if not definition.is_file():
        return None
    found = _UUID.search(_head(definition))
    return None if found is None else found[1]


def _head(path: Path, *, whole: bool = False) -> str:
    with path.open("rb") as file:
        return file.read(-1 if whole else DEFINITION_HEAD_BYTES).decode(errors="replace")


def _store_path(directory: Path, uuid: str) -> Path:
    return directory / "store" / uuid[:3] / uuid


def _entries(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(directory / name for name in os.listdir(directory))
