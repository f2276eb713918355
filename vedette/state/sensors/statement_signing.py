"""Signatures of statements about the server, for storage outside the server.

A signed statement is an object with `statement` (any JSON object), `public_key`, and `signature`:
base64 of Ed25519 over `SIGNED_PREFIX` and the statement as JSON with sorted members and without
spaces.
"""

from base64 import b64decode, b64encode
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from vedette.errors import BadRequestError
from vedette.state.db.database import Database
from vedette.state.db.signing_key import public_half, signing_key

_NAME: Final = "statement key"

SIGNED_PREFIX: Final = b"vedette-statement\n"


def statement_public_key(database: Database) -> str:
    """Returns the base64 of the public key (32 raw bytes)."""
    return public_half(signing_key(database, _NAME))


def signed(database: Database, statement: dict[str, Any]) -> dict[str, Any]:
    """Returns the statement with its signature."""
    key = signing_key(database, _NAME)
    return {
        "statement": statement,
        "public_key": public_half(key),
        "signature": b64encode(key.sign(_message(statement))).decode(),
    }


def verify_signed(content: bytes, public_key: str) -> dict[str, Any]:
    """Returns the statement if `public_key` signed it; ignores the key in the file.

    Raises BadRequestError for anything else.
    """
    try:
        body = orjson.loads(content)
        statement, signature = body["statement"], b64decode(body["signature"], validate=True)
        key = Ed25519PublicKey.from_public_bytes(b64decode(public_key, validate=True))
        key.verify(signature, _message(statement))
    except (ValueError, KeyError, TypeError):
        raise BadRequestError("this is not a signed statement, or the key is invalid") from None
    except InvalidSignature:
        raise BadRequestError(
            "the signature does not match the key: the file was changed or is from another server"
        ) from None
    if not isinstance(statement, dict):
        raise BadRequestError("this is not a signed statement")
    return statement


def _message(statement: Any) -> bytes:
    return SIGNED_PREFIX + orjson.dumps(statement, option=orjson.OPT_SORT_KEYS)
