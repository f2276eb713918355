"""What a ban would hit, as JSON, and the members of a ban that go beyond one program."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from vedette.api.schemas.wire_values import instant
from vedette.errors import BadRequestError
from vedette.limits import BAN_LIST_MAX
from vedette.respond.ban_reach import BanReach
from vedette.store.read.running_hosts import RunsOn

_REACH = ("dry_run", "md5hashes", "expires", "even_protected")
"""Members of a request that are not of the record."""


def without_request_members(body: Mapping[str, Any]) -> dict[str, Any]:
    """The members of the record alone."""
    return {name: value for name, value in body.items() if name not in _REACH}


def wanted_hashes(body: Mapping[str, Any]) -> list[str]:
    """The programs of a list, or the one program. Raises BadRequestError; the caller checks that
    they are hashes."""
    found = body.get("md5hashes", [body.get("md5hash")])
    if not isinstance(found, list) or not found:
        raise BadRequestError("md5hashes: must be a list of MD5 hashes")
    if len(found) > BAN_LIST_MAX:
        raise BadRequestError(f"md5hashes: at most {BAN_LIST_MAX} at once")
    return list(dict.fromkeys(str(one).strip().lower() for one in found))


def expiry_us(body: Mapping[str, Any], now_us: int) -> int:
    """When a ban ends (epoch microseconds), 0 for never. Raises BadRequestError."""
    text = body.get("expires")
    if text is None:
        return 0
    try:
        moment = datetime.fromisoformat(str(text))
        time_us = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        raise BadRequestError(f"expires: {str(text)[:40]!r} is not a time") from None
    if time_us <= now_us:
        raise BadRequestError("expires: must be in the future")
    return time_us


def runs_on_body(one: RunsOn) -> dict[str, Any]:
    return {
        "sensor_id": one.sensor_id,
        "hostname": one.hostname,
        "process_count": one.process_count,
        "last_seen": instant(one.last_update_us),
        "process_ids": list(one.process_ids),
    }


def reach_body(one: BanReach, *, is_banned: bool) -> dict[str, Any]:
    return {
        "md5hash": one.digest,
        "known": bool(one.hosts or one.names),
        "hosts": one.hosts,
        "executions": one.executions,
        "running": [runs_on_body(host) for host in one.running],
        "paths": list(one.names),
        "signature": one.signature,
        "publisher": one.publisher,
        "protected": one.protection,
        "banned": is_banned,
    }
