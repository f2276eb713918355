"""Encryption of backups: AES-256-GCM in pieces, with a separate key for each content.

The key of a content is derived from the master key and the SHA-256 of the content. So equal
contents encrypt to equal bytes, which keeps incremental backups small, and no nonce is ever used
twice for different bytes. The authenticated data of each piece includes its number and whether it
is the last, so pieces can be neither reordered nor cut off.
"""

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vedette.errors import BadRequestError
from vedette.limits import BACKUP_PIECE_BYTES

_TAG_LENGTH: Final = 16
_KEY_LENGTH: Final = 32


class Cipher:
    """Encrypts and decrypts with one master key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encrypted(self, sha256: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Encrypts the pieces, each at most `BACKUP_PIECE_BYTES`, of a content with that hash."""
        cipher = self._cipher(sha256)
        for number, (piece, is_last) in enumerate(_with_end(pieces)):
            yield cipher.encrypt(_nonce(number), piece, _place(number, is_last))

    def decrypted(self, sha256: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yields the input of `encrypted`, from encrypted pieces of any size.

        Raises BadRequestError for another key, and for modified bytes.
        """
        cipher = self._cipher(sha256)
        sized = _resized(pieces, BACKUP_PIECE_BYTES + _TAG_LENGTH)
        for number, (piece, is_last) in enumerate(_with_end(sized)):
            try:
                yield cipher.decrypt(_nonce(number), piece, _place(number, is_last))
            except InvalidTag:
                raise BadRequestError(
                    "the backup cannot be decrypted: the key is another one, or it was changed"
                ) from None

    def _cipher(self, sha256: str) -> AESGCM:
        return AESGCM(hmac.digest(self._key, b"content " + sha256.encode(), hashlib.sha256))


def read_key(path: Path) -> bytes:
    """Returns the key of a file written by `write_key`. Raises BadRequestError."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise BadRequestError(f"{path}: cannot be read as a key: {error}") from None
    if len(key) != _KEY_LENGTH:
        raise BadRequestError(f"{path}: a key has {2 * _KEY_LENGTH} hex digits")
    return key


def write_key(path: Path) -> None:
    """Writes a new key to a new file that only its owner can read. Raises BadRequestError."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise BadRequestError(f"{path}: {error.strerror}") from None
    with os.fdopen(handle, "w") as file:
        file.write(os.urandom(_KEY_LENGTH).hex() + "\n")


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _place(number: int, is_last: bool) -> bytes:
    return b"%d %d" % (number, is_last)


def _with_end(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yields each piece and whether it is the last; a single empty piece if there are none."""
    before: bytes | None = None
    for piece in pieces:
        if before is not None:
            yield before, False
        before = piece
    yield before or b"", True


def _resized(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yields the same bytes in pieces of `size`, the last one shorter."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) > size:
            yield bytes(buffer[:size])
            del buffer[:size]
    if buffer:
        yield bytes(buffer)
