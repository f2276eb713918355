"""The license: a signed token with an end date and a number of sensors.

A server without a license works and reports that in its status. A license is a JWT that the
provider signed with Ed25519; a setting holds the provider's public key. Its `aud` is the token of
the server it was issued for, or `*`. An expired license remains valid and is reported as expired.
"""

import base64
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey
from sqlalchemy import and_, delete, func, insert, or_, select

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.state.db import key_values
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database
from vedette.state.db.schema import LICENSE, SENSOR

LICENSE_CHARS_MAX: Limit[int] = 10_000
"""Characters of a license; a signed token has a few hundred."""


_ALGORITHM: Final = "Ed25519"
_SERVER_ID: Final = "license server id"
_SECOND_US: Final = 1_000_000
_DAY_US: Final = 24 * 3600 * _SECOND_US


@dataclass(frozen=True, slots=True)
class License:
    """Contents of a license. `end_us` is its last moment; 0 for no end."""

    sensors: int
    end_us: int
    server: str


@dataclass(frozen=True, slots=True)
class Status:
    """The license of this server, and the counts that it limits."""

    license: License | None
    """None if no license was applied, or the provider's key is missing or does not verify it."""
    server_token: str
    sensors: int
    """Sensors that were active on the previous day (UTC)."""


def status(database: Database, provider_key: Path | None, now_us: int) -> Status:
    """Returns the applied license after verifying it again, with the counts."""
    license = applied(database, provider_key)
    return Status(license, server_token(database), active_yesterday(database, now_us))


def applied(database: Database, provider_key: Path | None) -> License | None:
    """Returns the applied license; None if there is none, or the provider's key is missing or does
    not verify it."""
    with database.reading() as connection:
        token = connection.scalar(select(LICENSE.c.token))
    if token is None or provider_key is None:
        return None
    try:
        return checked(token, provider_key, server_token(database))
    except BadRequestError:
        return None


def apply(database: Database, token: str, provider_key: Path | None, now_us: int) -> License:
    """Replaces the license. Raises BadRequestError for a license that the provider did not sign or
    that is for another server."""
    if provider_key is None:
        raise BadRequestError("license: cannot be verified; set license_provider_key")
    text = token.strip()
    found = checked(text, provider_key, server_token(database))
    before = status(database, provider_key, now_us).license
    with database.writing() as connection:
        entry = Entry("change", "license", found.server, _audited(before), _audited(found))
        note(connection, entry)
        connection.execute(delete(LICENSE))
        connection.execute(insert(LICENSE).values(id=1, token=text, applied_us=now_us))
    return found


def _audited(found: License | None) -> dict[str, Any] | None:
    """Returns a license for the audit log. `end` is the last day; None for no end."""
    if found is None:
        return None
    end = datetime.fromtimestamp(found.end_us // _SECOND_US, UTC).date() if found.end_us else None
    return {"sensors": found.sensors, "end": end and end.isoformat()}


def checked(token: str, provider_key: Path, server: str) -> License:
    """Verifies a token and returns its license. Raises BadRequestError."""
    if len(token) > LICENSE_CHARS_MAX:
        raise BadRequestError("license: is too long")
    try:
        key = OKPKey.import_key(provider_key.read_bytes())
        claims = jwt.decode(token, key, algorithms=[_ALGORITHM]).claims
    except (OSError, ValueError) as error:
        raise BadRequestError(f"license: the provider's key cannot be used: {error}") from None
    except JoseError:
        raise BadRequestError("license: the signature is invalid") from None
    if claims.get("aud") not in (server, "*"):
        raise BadRequestError("license: was issued for another server")
    sensors, end_s = claims.get("sensors"), claims.get("exp", 0)
    if type(sensors) is not int or sensors < 0 or type(end_s) is not int or not _is_time(end_s):
        raise BadRequestError("license: has no sensor count or expiry date")
    return License(sensors, end_s * _SECOND_US, server)


def _is_time(seconds: int) -> bool:
    """Whether the timestamp is a date that Python can represent."""
    try:
        return seconds >= 0 and bool(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return False


def issue(private_key: Path, server: str, sensors: int, end_day: str) -> str:
    """Signs a license; providers use it. `end_day` is the last day, YYYY-MM-DD; "" for no end.
    Raises BadRequestError for an invalid day or key."""
    claims: dict[str, Any] = {"aud": server, "sensors": sensors}
    if end_day:
        try:
            day = datetime.fromisoformat(end_day).replace(tzinfo=UTC)
        except ValueError:
            raise BadRequestError(f"{end_day!r} is not a date (YYYY-MM-DD)") from None
        claims["exp"] = int(day.timestamp()) + _DAY_US // _SECOND_US - 1
    try:
        key = OKPKey.import_key(private_key.read_bytes())
        return jwt.encode({"alg": _ALGORITHM}, claims, key, algorithms=[_ALGORITHM])
    except (OSError, ValueError, JoseError) as error:
        raise BadRequestError(f"{private_key}: cannot be used to sign: {error}") from None


def read(path: Path) -> str:
    """Reads a license file. Raises BadRequestError."""
    try:
        with path.open(encoding="ascii") as file:
            return file.read(LICENSE_CHARS_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"{path}: cannot be read: {error}") from None


def server_token(database: Database) -> str:
    """Returns the token that identifies this installation to a provider; creates it on first
    use."""
    known = key_values.load(database, _SERVER_ID)
    if known is None:
        made = secrets.token_hex(16)
        key_values.save_new(database, _SERVER_ID, made)  # one of two racing calls wins
        known = key_values.load(database, _SERVER_ID) or made
    return known


def request_block(found: Status, version: str) -> str:
    """Returns the request that an operator sends to a provider: base64 of JSON."""
    body = {"server_token": found.server_token, "version": version, "sensors": found.sensors}
    return base64.b64encode(orjson.dumps(body)).decode()


def active_yesterday(database: Database, now_us: int) -> int:
    """Counts the sensors with a contact yesterday (midnight to midnight, UTC). Each sensor stores
    its last contact and the last contact on an earlier day (`state/sensors/silent_sensors.py`)."""
    today_us = now_us - now_us % _DAY_US
    yesterday_us = today_us - _DAY_US
    last, earlier = SENSOR.c.last_seen_us, SENSOR.c.earlier_seen_us
    was_there = or_(
        and_(last >= yesterday_us, last < today_us),
        and_(last >= today_us, earlier >= yesterday_us),
    )
    query = select(func.count()).select_from(SENSOR).where(was_there)
    with database.reading() as connection:
        return connection.scalar(query) or 0
