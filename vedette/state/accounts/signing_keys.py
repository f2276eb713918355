"""Keys that sign access tokens (ES256); a new key every month.

An old key stays until every token that it signed has expired. Private keys are sealed
(`sealing.py`). Servers that share a state database share the keys.
"""

import secrets
from dataclasses import dataclass
from typing import Any

import msgspec
from joserfc.jwk import ECKey
from sqlalchemy import delete, insert, select

from vedette.limits import ACCESS_TOKEN_TTL_S_MAX, Limit
from vedette.state.db.database import Database
from vedette.state.db.schema_cloud import SIGNING_KEY
from vedette.state.db.sealing import Sealing

SIGNING_KEY_AGE_S: Limit[int] = 30 * 24 * 3600
"""Age (s) up to which a key signs; then the next key is created."""


ALGORITHM = "ES256"

_SECOND_US = 1_000_000
_PURPOSE = "signing key "


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key pair. `public` is the JWK for verifying tokens."""

    id: str
    pair: ECKey
    public: dict[str, Any]
    created_us: int

    def signs_at(self, now_us: int) -> bool:
        """Whether the key is recent enough to sign; a clock that went back is tolerated."""
        return abs(now_us - self.created_us) < SIGNING_KEY_AGE_S * _SECOND_US


def load(database: Database, sealing: Sealing) -> list[SigningKey]:
    """Returns all keys, newest first. Raises UnavailableError if they were sealed with another key
    file."""
    query = select(SIGNING_KEY).order_by(SIGNING_KEY.c.created_us.desc(), SIGNING_KEY.c.id)
    with database.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [
        SigningKey(
            row["id"],
            _pair(sealing.open(row["sealed"], _PURPOSE + row["id"])),
            msgspec.json.decode(row["public"]),
            row["created_us"],
        )
        for row in rows
    ]


def _pair(text: str) -> ECKey:
    return ECKey.import_key(msgspec.json.decode(text))


def rotate(database: Database, sealing: Sealing, now_us: int, *, at_once: bool = False) -> str:
    """Adds a key, removes keys whose tokens have all expired, and returns the new key's id.
    `at_once` removes all older keys, which invalidates every access token."""
    key_id = secrets.token_hex(8)
    pair = ECKey.generate_key("P-256", {"kid": key_id, "use": "sig", "alg": ALGORITHM})
    private = msgspec.json.encode(pair.as_dict(private=True)).decode()
    kept_us = (SIGNING_KEY_AGE_S + 2 * ACCESS_TOKEN_TTL_S_MAX) * _SECOND_US
    with database.writing() as connection:
        ended = SIGNING_KEY.c.created_us < (now_us + 1 if at_once else now_us - kept_us)
        connection.execute(delete(SIGNING_KEY).where(ended))
        connection.execute(
            insert(SIGNING_KEY).values(
                id=key_id,
                sealed=sealing.seal(private, _PURPOSE + key_id),
                public=msgspec.json.encode(pair.as_dict(private=False)).decode(),
                created_us=now_us,
            )
        )
    return key_id
