"""Responses about watchlists other than the watchlist itself: statistics, and previews of a
query."""

from collections.abc import Mapping
from typing import Any

from vedette.errors import BadRequestError
from vedette.query.check.time import time_bounds
from vedette.query.nodes import Exact, Range
from vedette.record.answers import Answer
from vedette.record.objects.watchlist import id_of_watchlist
from vedette.watchlists.backtest import Backtest, without
from vedette.watchlists.watch_query import MODULES
from vedette.web.json.wire_values import instant
from vedette.web.processes.models import process_body
from vedette.web.programs.models import binary_body

Body = dict[str, Any]


class WatchlistStats(Answer):
    """Hits of a watchlist on hosts that the caller sees, and its cost."""

    id: str
    last_hit: str | None
    total_hits: str
    last_execution_time_ms: str
    cost_ms: int
    search_timestamp: str | None
    hits_per_hour: list[int] | None
    hits_per_day: list[int] | None
    fields_never_seen: list[str]


def watchlist_id(text: object, name: str = "id") -> int:
    """Parses an id in a path or parameter. Raises BadRequestError."""
    try:
        return id_of_watchlist(text)
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None


def preview_bounds(body: Mapping[str, Any], now_us: int, days: int) -> tuple[int, int]:
    """Returns the time range of a preview in epoch milliseconds. Raises BadRequestError."""
    until_us = _moment("to", body.get("to"), now_us) if body.get("to") else now_us
    day_us = 24 * 3600 * 1_000_000
    from_us = until_us - days * day_us
    if body.get("from"):
        from_us = _moment("from", body["from"], now_us)
    if from_us >= until_us:
        raise BadRequestError("from: must be before to")
    return from_us // 1_000, -(-until_us // 1_000)


def preview_body(found: Backtest, search_query: str) -> Body:
    """Returns the hits that a query would have had as a watchlist."""
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
    """Parses a time in the notation of queries."""
    if not isinstance(value, str):
        raise BadRequestError(f"{name}: must be a string")
    try:
        if value.startswith(("-", "now", "NOW")):
            return time_bounds(Range(value, "*"), now_us)[0]
        return time_bounds(Exact(value), now_us)[0]
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None
