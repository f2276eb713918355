"""Updates: verifies a newer version of this program and replaces the running one.

An update order names a version, the SHA-256 of the file, and an Ed25519 signature over both
(`signed_text`). The order is rejected, and the reason reported, unless the signature verifies with
this sensor's key and the version is newer than the running one. An attacker who controls the server
or its database, but not the signing key, can neither install a program nor bring back an old
version with a known vulnerability.

Only a sensor that runs from a single file (a zip) replaces itself. The new file must have the
signed hash, start, and report the signed version. The old file is kept as `.old`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import SENSOR_VERSION, ed25519
from ..durable_files import sync_folder, write_durably
from ..host.self_exec import home
from ..limits import UPDATE_BYTES_MAX, UPDATE_TRIAL_S, VERSION_CHARS_MAX
from ..transport.https_client import Client, ServerUnavailableError

_CONTEXT = b"vedette-sensor-update\n"
_HEX_DIGITS = frozenset("0123456789abcdef")


class UpdateError(Exception):
    """Raised if an update was rejected. The old program continues."""


@dataclass(frozen=True)
class Update:
    """An update order with well-formed members."""

    version: str
    sha256: str
    signature: bytes
    url_path: str

    def check(self, key: bytes | None) -> None:
        """Raises UpdateError unless this is a newer version, signed with `key`."""
        if version_number(self.version) <= version_number(SENSOR_VERSION):
            raise UpdateError(f"{self.version} is not newer than {SENSOR_VERSION}")
        if key is None:
            raise UpdateError("this sensor holds no update_public_key to check it with")
        if not self.signature:
            raise UpdateError("the update is not signed")
        if not ed25519.verify(key, signed_text(self.version, self.sha256), self.signature):
            raise UpdateError("the signature does not fit the update and the sensor's key")


def signed_text(version: str, sha256: str) -> bytes:
    """Returns the text that the signature covers. `sha256` has 64 lower-case hexadecimal digits."""
    return _CONTEXT + version.encode() + b"\n" + sha256.encode()


def version_number(text: str) -> tuple[int, ...]:
    """Converts a version of decimal numbers and dots to a comparable tuple: 1.2 equals 1.2.0.
    Raises UpdateError for any other text."""
    parts = text.split(".")
    is_short = len(text) <= VERSION_CHARS_MAX
    if not is_short or not all(part.isascii() and part.isdecimal() for part in parts):
        raise UpdateError(f"not a version: {text[:VERSION_CHARS_MAX]!r}")
    numbers = [int(part) for part in parts]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def parse(order: dict[str, Any]) -> Update:
    """Parses the update order of a check-in. Raises UpdateError if it is malformed."""
    sha256, path = str(order.get("sha256", "")), str(order.get("url_path", ""))
    if len(sha256) != 64 or not _HEX_DIGITS.issuperset(sha256):
        raise UpdateError("the update names no SHA-256")
    if not path.startswith("/") or path.startswith("//"):
        raise UpdateError(f"not a path on the server: {path}")
    try:
        signature = base64.b64decode(str(order.get("signature") or ""), validate=True)
    except ValueError:
        raise UpdateError("the signature is not base64") from None
    version = str(order.get("version", ""))
    version_number(version)
    return Update(version, sha256, signature, path)


def install(update: Update, client: Client, credential: str, folder: Path) -> None:
    """Downloads a verified update and replaces this program, which must then be restarted. The new
    file is tried in `folder`. Raises UpdateError, ServerUnavailableError or OSError; then nothing
    was changed."""
    program = home()
    if not program.is_file():
        raise UpdateError("this sensor does not run from a file of its own")
    answer = client.request(
        "GET", update.url_path, credential=credential, bytes_max=UPDATE_BYTES_MAX
    )
    if answer.status != 200:
        raise ServerUnavailableError(f"the server answers {answer.status} to the update")
    if hashlib.sha256(answer.content).hexdigest() != update.sha256:
        raise UpdateError("the file has another hash than the one that was signed")
    draft = folder / "update.pyz"
    try:
        write_durably(draft, answer.content, mode=0o700)
        _try(draft, update.version)
        _replace(program, answer.content)
    finally:
        draft.unlink(missing_ok=True)


def _try(draft: Path, version: str) -> None:
    command = [sys.executable, "-I", str(draft), "version"]
    try:
        done = subprocess.run(  # noqa: S603 - a file whose hash was signed
            command, capture_output=True, timeout=UPDATE_TRIAL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UpdateError(f"the new program does not start: {error}") from error
    if done.returncode:
        raise UpdateError(f"the new program does not start: {done.stderr[-200:]!r}")
    if done.stdout.decode(errors="replace").strip() != version:
        raise UpdateError(f"the new program says that it is {done.stdout[:40]!r}, not {version}")


def _replace(program: Path, content: bytes) -> None:
    """Replaces the program and keeps the old file as `.old`. The name refers to a complete program
    at every moment."""
    old = program.with_name(program.name + ".old")
    old.unlink(missing_ok=True)
    os.link(program, old)
    write_durably(program, content, mode=0o755)
    sync_folder(program.parent)
