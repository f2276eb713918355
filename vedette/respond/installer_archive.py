"""Reproducible installer archives: the same content gives the same bytes.

Archive times are fixed, members are in order, owners are root. A package is copied in pieces and
never entirely in memory.
"""

import gzip
import io
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Final

from vedette.errors import NotFoundError
from vedette.file_tree import regular_files
from vedette.limits import Limit

INSTALLER_IN_MEMORY_BYTES: Limit[int] = 1 << 20
"""Bytes of an installer's archive in memory; a larger one goes to a temporary file."""


_ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)
_STARTER: Final = """\
import sys
from vedette.sensor.__main__ import main
sys.exit(main(sys.argv[1:]))
"""

Members = Mapping[str, bytes]
"""Contents of small files by name, in order."""


def sensor_program(package: Path) -> bytes:
    """Returns the Linux sensor as a single file for Python, built from the folder of its package.

    Raises NotFoundError if the server was installed without the sensor.
    """
    if not (package / "__main__.py").is_file():
        raise NotFoundError("this server was installed without the Linux sensor")
    members = {"__main__.py": _STARTER.encode(), "vedette/__init__.py": b""}
    for path in regular_files(package):
        if "__pycache__" not in path.parts:
            name = f"vedette/sensor/{path.relative_to(package).as_posix()}"
            members[name] = path.read_bytes()
    program = io.BytesIO()
    with zipfile.ZipFile(program, "w") as archive:
        for name, content in members.items():
            archive.writestr(_zip_info(name, compressed=True), content)
    return b"#!/usr/bin/env python3\n" + program.getvalue()


def tar_gz(folder: str, members: Members, executables: Iterable[str]) -> IO[bytes]:
    """Returns an open archive, positioned at its start, with the members below `folder`."""
    archive_file = _room()
    runnable = frozenset(executables)
    with (
        gzip.GzipFile("", "wb", 9, archive_file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in members.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(content)
            info.mode = 0o755 if name in runnable else 0o600
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(content))
    archive_file.seek(0)
    return archive_file


def zipped(members: Members, package: str, pieces: Iterable[bytes]) -> IO[bytes]:
    """Returns an open archive, positioned at its start, with the members and the package."""
    archive_file = _room()
    with zipfile.ZipFile(archive_file, "w") as archive:
        for name, content in members.items():
            archive.writestr(_zip_info(name, compressed=True), content)
        # Packages are already compressed.
        with archive.open(_zip_info(package, compressed=False), "w") as target:
            for piece in pieces:
                target.write(piece)
    archive_file.seek(0)
    return archive_file


def _room() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(max_size=INSTALLER_IN_MEMORY_BYTES)


def _zip_info(name: str, *, compressed: bool) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info
