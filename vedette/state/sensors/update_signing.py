"""Signatures of sensor packages: an Ed25519 key of the server's own.

The key is made at first use and kept in the state database, so that all servers of a cluster sign
alike and a backup holds it. Sensors get its public half with their installer and enrolment
(`update_public_key`) and install only what it signed. Whoever reads the state database can sign.
"""

from base64 import b64decode, b64encode

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import insert, select

from vedette.state.db.database import Database
from vedette.state.db.schema import VALUE

_NAME = "sensor update key"

SIGNED_PREFIX = b"vedette-sensor-update\n"
"""What every signed message begins with, so that a signature is good for nothing else."""


def sign_update(database: Database, version: str, sha256: str) -> str:
    """Base64 of the signature over prefix, version, line feed, SHA-256 in hexadecimal."""
    message = SIGNED_PREFIX + version.encode() + b"\n" + sha256.encode()
    return b64encode(_key(database).sign(message)).decode()


def update_public_key(database: Database) -> str:
    """Base64 of the 32 raw bytes of the public key."""
    public = _key(database).public_key()
    return b64encode(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def _key(database: Database) -> Ed25519PrivateKey:
    query = select(VALUE.c.value).where(VALUE.c.name == _NAME)
    with database.reading() as connection:
        kept = connection.scalar(query)
    if kept is None:
        with database.writing() as connection:
            kept = connection.scalar(query.with_for_update())
            if kept is None:
                raw = Ed25519PrivateKey.generate().private_bytes_raw()
                kept = b64encode(raw).decode()
                connection.execute(insert(VALUE).values(name=_NAME, value=kept))
    return Ed25519PrivateKey.from_private_bytes(b64decode(kept))
