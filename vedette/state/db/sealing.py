"""Encryption of secrets that the server must be able to read again.

AES-256-GCM with a key in a file that only the owner of the data directory can read. The purpose of
a secret is authenticated with it, so a sealed text that is copied to another row or column does not
decrypt.
"""

import base64
import os
import secrets
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vedette.errors import StartError, UnavailableError

KEY_FILE: Final = "secrets.key"
"""Name in the data directory. Servers that share a state database need the same file."""

_KEY_LENGTH: Final = 32
_NONCE_LENGTH: Final = 12
_PREFIX: Final = "v1:"


class Sealing:
    """Encrypts and decrypts texts with one key. Safe to share between threads."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, text: str, purpose: str) -> str:
        """Returns the encrypted text; "" stays ""."""
        if not text:
            return ""
        nonce = secrets.token_bytes(_NONCE_LENGTH)
        sealed = self._cipher.encrypt(nonce, text.encode(), purpose.encode())
        return _PREFIX + base64.b64encode(nonce + sealed).decode("ascii")

    def open(self, sealed: str, purpose: str) -> str:
        """Decrypts a text that was sealed for this purpose.

        Raises UnavailableError (`reason` "secret_unreadable") if it was sealed with another key.
        """
        if not sealed:
            return ""
        try:
            raw = base64.b64decode(sealed.removeprefix(_PREFIX), validate=True)
            nonce, rest = raw[:_NONCE_LENGTH], raw[_NONCE_LENGTH:]
            return self._cipher.decrypt(nonce, rest, purpose.encode()).decode()
        except (InvalidTag, ValueError):
            raise UnavailableError(
                f"{purpose}: cannot be decrypted, {KEY_FILE} has changed; enter the secret again",
                reason="secret_unreadable",
            ) from None


def open_sealing(data: Path) -> Sealing:
    """Reads the key file of a data directory; creates it if it is missing. Raises StartError for a
    damaged or unreadable file."""
    path = data / KEY_FILE
    try:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return Sealing(_read(path))
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(_KEY_LENGTH)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return Sealing(_read(path))
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}") from None


def _read(path: Path) -> bytes:
    try:
        key = base64.b64decode(path.read_bytes().strip(), validate=True)
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise StartError(f"{path} is damaged: restore it, or delete it and enter all secrets again")
    return key
