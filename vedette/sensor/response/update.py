"""A new version of this program: fetched, checked, tried, and put in place of the old one.

Only a sensor that runs from one file (a zip) replaces itself. The new file has to have the hash
that the check-in named, and to start; the old one is kept beside it as `.old`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .. import SENSOR_VERSION
from ..host.durable_files import sync_folder, write_durably
from ..host.self_exec import home
from ..limits import UPDATE_BYTES_MAX
from ..transport.https_client import Client

_TRY_S = 30.0


class UpdateError(Exception):
    """The update was not taken; the old program goes on."""


def update(order: dict[str, Any], client: Client, credential: str, folder: Path) -> bool:
    """True when the program was replaced and has to be started again; False when this is it."""
    wanted = str(order["sha256"]).lower()
    program = home()
    if str(order.get("version")) == SENSOR_VERSION or _sha256(program) == wanted:
        return False
    if not program.is_file():
        raise UpdateError("this sensor does not run from a file of its own")
    content = _fetch(order, client, credential)
    if hashlib.sha256(content).hexdigest() != wanted:
        raise UpdateError("what was fetched has another hash")
    draft = folder / "update.pyz"
    write_durably(draft, content, mode=0o700)
    _try(draft)
    _replace(program, content)
    draft.unlink()
    return True


def _sha256(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest() if program.is_file() else ""


def _fetch(order: dict[str, Any], client: Client, credential: str) -> bytes:
    path = str(order["url_path"])
    if not path.startswith("/") or path.startswith("//"):
        raise UpdateError(f"not a path on the server: {path}")
    if int(order.get("size", 0)) > UPDATE_BYTES_MAX:
        raise UpdateError("the update is too large")
    answer = client.request("GET", path, credential=credential, bytes_max=UPDATE_BYTES_MAX)
    if answer.status != 200:
        raise UpdateError(f"the server answers {answer.status}")
    return answer.content


def _try(draft: Path) -> None:
    command = [sys.executable, "-I", str(draft), "version"]
    try:
        done = subprocess.run(  # noqa: S603 - what the server signed off by its hash
            command, capture_output=True, timeout=_TRY_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UpdateError(f"the new program does not start: {error}") from error
    if done.returncode:
        raise UpdateError(f"the new program does not start: {done.stderr[-200:]!r}")


def _replace(program: Path, content: bytes) -> None:
    """The name always leads to a whole program."""
    old = program.with_name(program.name + ".old")
    old.unlink(missing_ok=True)
    os.link(program, old)
    write_durably(program, content, mode=0o755)
    sync_folder(program.parent)
