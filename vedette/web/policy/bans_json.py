"""Serializes the effect of bans as JSON, and validates the hashes of programs to ban."""

from collections.abc import Sequence
from typing import Any

from vedette.errors import BadRequestError
from vedette.limits import BAN_LIST_MAX
from vedette.respond.ban_reach import BanReach
from vedette.store.read.running_hosts import RunsOn
from vedette.web.json.wire_values import instant


def wanted_hashes(given: Sequence[str]) -> list[str]:
    """Returns the distinct hashes of a list in lower case, in order. Raises BadRequestError for an
    empty list and for more than BAN_LIST_MAX entries. The caller checks that they are hashes."""
    if not 0 < len(given) <= BAN_LIST_MAX:
        raise BadRequestError(f"md5hashes: from 1 to {BAN_LIST_MAX} at once")
    return list(dict.fromkeys(one.strip().lower() for one in given))


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
