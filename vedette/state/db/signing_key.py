"""Ed25519 keys of the server, each created on first use.

The state database stores them, so that all servers of a cluster share them and a backup contains
them. Anyone who can read the state database can sign.
"""

from base64 import b64decode, b64encode

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import insert, select

from vedette.state.db.database import Database
from vedette.state.db.schema import VALUE


def signing_key(database: Database, name: str) -> Ed25519PrivateKey:
    """Returns the key with this name; creates it on first use."""
    query = select(VALUE.c.value).where(VALUE.c.name == name)
    with database.reading() as connection:
        kept = connection.scalar(query)
    if kept is None:
        with database.writing() as connection:
            kept = connection.scalar(query.with_for_update())
            if kept is None:
                raw = Ed25519PrivateKey.generate().private_bytes_raw()
                kept = b64encode(raw).decode()
                connection.execute(insert(VALUE).values(name=name, value=kept))
    return Ed25519PrivateKey.from_private_bytes(b64decode(kept))


def public_half(key: Ed25519PrivateKey) -> str:
    """Returns the base64 of the key's public half (32 raw bytes)."""
    return b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
