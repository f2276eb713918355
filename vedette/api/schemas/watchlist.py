"""Watchlists on the wire (docs/api-objects.md#watchlist): ids and totals are texts, as clients
expect them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from vedette.api.schemas.search.binary import binary_body
from vedette.api.schemas.search.process import process_body
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.errors import BadRequestError
from vedette.limits import (
    WATCHLIST_DESCRIPTION_CHARS_MAX,
    WATCHLIST_NAME_CHARS_MAX,
    WATCHLIST_QUERY_CHARS_MAX,
)
from vedette.query.check.time import time_bounds
from vedette.query.nodes import Exact, Range
from vedette.state.policy.watchlists import Former, Watchlist
from vedette.watchlists.backtest import Backtest, without
from vedette.watchlists.watch_query import EVENTS, MODULES

Body = dict[str, Any]

ID_MAX: Final = 2**31 - 1

READ_ONLY: Final = frozenset(
    (
        "alliance_id", "cost_ms", "date_added", "from_alliance", "history", "last_error",
        "last_execution_result", "last_execution_time_ms", "last_hit", "last_hit_count",
        "past_pending", "result", "search_timestamp", "stopped", "total_hits", "total_tags", "was",
    )
)  # fmt: skip
"""Members that clients send back with a record and that cannot be set."""

_TEXTS: Final[Mapping[str, int]] = {
    "name": WATCHLIST_NAME_CHARS_MAX,
    "search_query": WATCHLIST_QUERY_CHARS_MAX,
    "description": WATCHLIST_DESCRIPTION_CHARS_MAX,
}


@dataclass(frozen=True, slots=True)
class WatchlistMembers:
    """What a body sets; `values` by column."""

    values: dict[str, Any]
    id: int | None = None
    move_actions_from: int | None = None


def watchlist_body(one: Watchlist) -> Body:
    return {
        "id": str(one.id),
        "name": one.name,
        "description": one.description,
        "search_query": one.search_query,
        "index_type": one.index_type,
        "enabled": one.enabled,
        "readonly": one.readonly,
        "group_id": one.group_id,
        "alliance_id": one.alliance_id or None,
        "from_alliance": one.from_alliance,
        "date_added": instant(one.date_added_us),
        "last_hit": known_instant(one.last_hit_us),
        "last_hit_count": one.last_hit_count,
        "total_hits": str(one.total_hits),
        "total_tags": str(one.total_tags),
        "search_timestamp": instant(one.search_us),
        "last_execution_result": one.last_result,
        "last_execution_time_ms": str(round(one.last_us / 1_000)),
        "last_error": one.last_error or None,
        "stopped": one.stopped or None,
        "cost_ms": round(one.cost_us / 1_000),
        "past_pending": one.has_past,
    }


def history_body(formers: Iterable[Former]) -> list[Body]:
    """The queries that a watchlist had, under which ids."""
    return [
        {
            "id": str(one.id),
            "name": one.name,
            "search_query": one.search_query,
            "index_type": one.index_type,
            "from": instant(one.from_us),
            "until": known_instant(one.until_us),
        }
        for one in formers
    ]


def watchlist_id(text: object, name: str = "id") -> int:
    """An id as a number or its digits. Raises BadRequestError."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise BadRequestError(f"{name}: must be a number")
    digits = str(text).strip()
    is_number = digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) <= 11
    if not is_number or abs(int(digits)) > ID_MAX:
        raise BadRequestError(f"{name}: {digits[:40]!r} is not the number of a watchlist")
    return int(digits)


def watchlist_members(body: Mapping[str, Any]) -> WatchlistMembers:
    """What a body sets. Raises BadRequestError for a member of another type, and for one that
    watchlists do not have."""
    values: dict[str, Any] = {}
    chosen = moved = None
    for name, value in body.items():
        match name:
            case "id":
                chosen = None if value in (None, "") else watchlist_id(value)
            case "move_actions_from_watchlist_id":
                moved = None if value in (None, "") else watchlist_id(value, name)
            case "enabled" | "readonly":
                values[name] = _flag(name, value)
            case "index_type":
                if value not in (EVENTS, MODULES):
                    raise BadRequestError(f"index_type: must be events or modules, not {value!r}")
                values[name] = value
            case "group_id":
                values[name] = watchlist_id(-1 if value is None else value, name)
            case "name" | "search_query" | "description":
                values[name] = _text(name, value)
            case _ if name not in READ_ONLY:
                raise BadRequestError(f"there is no member {name[:60]!r} of a watchlist")
    return WatchlistMembers(values, chosen, moved)


def preview_bounds(body: Mapping[str, Any], now_us: int, days: int) -> tuple[int, int]:
    """The time that a preview searches, epoch milliseconds. Raises BadRequestError."""
    until_us = _moment("to", body.get("to"), now_us) if body.get("to") else now_us
    day_us = 24 * 3600 * 1_000_000
    from_us = until_us - days * day_us
    if body.get("from"):
        from_us = _moment("from", body["from"], now_us)
    if from_us >= until_us:
        raise BadRequestError("from: must be before to")
    return from_us // 1_000, -(-until_us // 1_000)


def preview_body(found: Backtest, search_query: str) -> Body:
    """What a query would have hit."""
    is_modules = found.index_type == MODULES
    samples = [binary_body(row, {}) if is_modules else process_body(row) for row in found.samples]
    return {
        "index_type": found.index_type,
        "from": instant(found.from_ms * 1_000),
        "to": instant(found.until_ms * 1_000),
        "total_hits": found.hits,
        "hits_per_day": [
            {"day": instant(day_ms * 1_000)[:10], "hits": hits}
            for day_ms, hits in sorted(found.by_day.items())
        ],
        "average_hits_per_day": round(found.hits / found.days, 2),
        "total_hosts": len(found.hosts),
        "hosts": [
            {"sensor_id": sensor_id, "hostname": name, "hits": hits}
            for sensor_id, name, hits in found.most_hit()
        ],
        "expected_alerts": found.alerts,
        "expected_alerts_per_day": round(found.alerts / found.days, 2),
        "samples": samples,
        "top_values": [
            {
                "field": name,
                "value": value,
                "hits": hits,
                "search_query": without(search_query, name, value),
            }
            for name, value, hits in found.noisiest()
        ],
        "incomplete_results": found.is_incomplete,
    }


def _moment(name: str, value: object, now_us: int) -> int:
    """A time as queries write it."""
    if not isinstance(value, str):
        raise BadRequestError(f"{name}: must be a text")
    try:
        if value.startswith(("-", "now", "NOW")):
            return time_bounds(Range(value, "*"), now_us)[0]
        return time_bounds(Exact(value), now_us)[0]
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadRequestError(f"{name}: must be true or false")
    return value


def _text(name: str, value: object) -> str | None:
    if value is None and name == "description":
        return None
    if not isinstance(value, str):
        raise BadRequestError(f"{name}: must be a text")
    if len(value) > _TEXTS[name]:
        raise BadRequestError(f"{name}: has more than {_TEXTS[name]:,} characters")
    if "\x00" in value:
        raise BadRequestError(f"{name}: has a zero byte")
    return value
