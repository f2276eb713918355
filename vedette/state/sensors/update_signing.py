"""Signatures of sensor packages, with an Ed25519 key of the server (`state/db/signing_key.py`).

Sensors get the public key with their installer and at enrolment (`update_public_key`), and install
only packages that it verifies.
"""

from base64 import b64encode

from vedette.state.db.database import Database
from vedette.state.db.signing_key import public_half, signing_key

_NAME = "sensor update key"

SIGNED_PREFIX = b"vedette-sensor-update\n"
"""Prefix of every signed message, so that the signature cannot be used for another purpose."""


def sign_update(database: Database, version: str, sha256: str) -> str:
    """Returns the base64 of the signature over prefix, version, line feed, and SHA-256 in
    hexadecimal."""
    message = SIGNED_PREFIX + version.encode() + b"\n" + sha256.encode()
    return b64encode(signing_key(database, _NAME).sign(message)).decode()


def update_public_key(database: Database) -> str:
    """Returns the base64 of the public key (32 raw bytes)."""
    return public_half(signing_key(database, _NAME))
