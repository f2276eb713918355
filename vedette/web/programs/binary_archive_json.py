"""Downloads of binaries as a zip file with `filedata` and `metadata`."""

import os
import shutil
import tempfile
import zipfile
from typing import IO, Any

import orjson
from starlette.background import BackgroundTask
from starlette.responses import FileResponse


def zip_answer(copy: IO[bytes], metadata: dict[str, Any], name: str) -> FileResponse:
    """Returns a zip file of a stored copy and its metadata (docs/clients.md#requests). Uses a
    temporary file, because copies have up to 25 MiB, and removes it after sending."""
    handle, path = tempfile.mkstemp(prefix="vedette-", suffix=".zip")
    try:
        with os.fdopen(handle, "wb") as file:
            _write(file, copy, metadata)
    except BaseException:  # such as a full disk
        os.unlink(path)
        raise
    return FileResponse(
        path,
        media_type="application/zip",
        filename=f"{name}.zip",
        background=BackgroundTask(os.unlink, path),
    )


def _write(file: IO[bytes], copy: IO[bytes], metadata: dict[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        with made.open("filedata", "w") as member:
            shutil.copyfileobj(copy, member)
        made.writestr("metadata", orjson.dumps(metadata))
