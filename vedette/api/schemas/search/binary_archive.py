"""The bytes of a program as clients expect them: a zip with `filedata` and `metadata`."""

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import orjson
from starlette.background import BackgroundTask
from starlette.responses import FileResponse


def zip_answer(copy: Path, metadata: dict[str, Any], name: str) -> FileResponse:
    """A zip of a kept copy and what is known of it (clients.md 2.1). It is made on disk, since
    copies have up to 25 MiB, and taken away when it is sent."""
    handle, path = tempfile.mkstemp(prefix="vedette-", suffix=".zip")
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(copy, "filedata")
        made.writestr("metadata", orjson.dumps(metadata))
    return FileResponse(
        path,
        media_type="application/zip",
        filename=f"{name}.zip",
        background=BackgroundTask(os.unlink, path),
    )
