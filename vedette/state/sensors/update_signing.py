"""Signatures of sensor packages: an Ed25519 key of the server's own (`state/db/signing_key.py`).

Sensors get its public half with their installer and enrolment (`update_public_key`) and install
only what it signed.
"""

from base64 import b64encode

from vedette.state.db.database import Database
from vedette.state.db.signing_key import public_half, signing_key

_NAME = "sensor update key"

SIGNED_PREFIX = b"vedette-sensor-update\n"
"""What every signed message begins with, so that a signature is good for nothing else."""


def sign_update(database: Database, version: str, sha256: str) -> str:
    """Base64 of the signature over prefix, version, line feed, SHA-256 in hexadecimal."""
    message = SIGNED_PREFIX + version.encode() + b"\n" + sha256.encode()
    return b64encode(signing_key(database, _NAME).sign(message)).decode()


def update_public_key(database: Database) -> str:
    """Base64 of the 32 raw bytes of the public key."""
    return public_half(signing_key(database, _NAME))
