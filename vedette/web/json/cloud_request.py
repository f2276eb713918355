"""Parses bodies of alert search v7: filters, order, page (docs/cloud-alerts.md#alerts)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import (
    ALERT_V7_ROWS_MAX,
    ALERT_V7_SORTS_MAX,
    ALERT_V7_VALUES_MAX,
    QUERY_CHARS_MAX,
    Limit,
)
from vedette.search.alerts.cloud_search import AlertFilter
from vedette.store.read.detection.cloud_alerts import AlertSpan, FieldFilter, SortTerm
from vedette.web.json.parameters import bounded_number

ALERT_V7_ROWS_DEFAULT: Limit[int] = 100
"""Default number of alerts in a response, equal to the page size of the clients."""

ALERT_V7_CRITERIA_MAX: Limit[int] = 100
"""Criteria and exclusions of a request; alerts have about 50 fields."""

ALERT_V7_FACETS_MAX: Limit[int] = 50
"""Facets of a request."""


Body = Mapping[str, Any]

_RANGE: Final = re.compile(r"-?([0-9]{1,6})([yMwdhms])")
_SECONDS: Final = {
    "y": 365 * 86_400,
    "M": 30 * 86_400,
    "w": 7 * 86_400,
    "d": 86_400,
    "h": 3_600,
    "m": 60,
    "s": 1,
}
_MINIMUM: Final = "minimum_severity"
_NAMES: Final = {"last_update_time": "backend_update_timestamp", "threat_name": "reason"}
"""Maps field names of older clients to current names."""


@dataclass(frozen=True, slots=True)
class PageWanted:
    """Requested rows and their order. `start` counts from 0."""

    start: int
    rows: int
    sorts: tuple[SortTerm, ...]


def alert_filter(body: Body, now_us: int) -> AlertFilter:
    """Parses the filter of a body. Raises BadRequestError with the location of the error."""
    given = body.get("time_range")
    query = body.get("query") or ""
    if not isinstance(query, str) or len(query) > QUERY_CHARS_MAX:
        raise BadRequestError(f"query: must be a string of at most {QUERY_CHARS_MAX} characters")
    filters = [*_filters(body, "criteria", now_us), *_filters(body, "exclusions", now_us)]
    span = None if given is None else span_of(given, "time_range", now_us)
    return AlertFilter(span, tuple(filters), query)


def page_wanted(body: Body) -> PageWanted:
    """Parses page and order. Raises BadRequestError. `start` 0 and 1 both mean the first row
    (docs/clients.md)."""
    rows = body.get("rows")
    start = body.get("start")
    return PageWanted(
        max(_whole("start", start, 0, 1 << 40), 1) - 1,
        _whole("rows", rows, ALERT_V7_ROWS_DEFAULT, ALERT_V7_ROWS_MAX),
        _sorts(body.get("sort")),
    )


def facet_fields(body: Body) -> tuple[list[str], int]:
    """Returns the fields to count and the maximum number of values per field; 0 means no
    maximum."""
    terms = body.get("terms")
    if not isinstance(terms, dict):
        raise BadRequestError("terms: must be an object with fields")
    fields = terms.get("fields")
    is_list = isinstance(fields, list) and all(isinstance(one, str) for one in fields)
    if not is_list or not fields or len(fields) > ALERT_V7_FACETS_MAX:
        raise BadRequestError(f"terms.fields: must be 1 to {ALERT_V7_FACETS_MAX} field names")
    return list(dict.fromkeys(fields)), _whole("terms.rows", terms.get("rows"), 0, 1 << 31)


def span_of(given: object, place: str, now_us: int) -> AlertSpan:
    """Parses a time range: `start` and `end` (exclusive), or a `range` back from now."""
    if not isinstance(given, dict):
        raise BadRequestError(f"{place}: must be an object with start and end, or with range")
    text = given.get("range")
    if text is not None:
        found = _RANGE.fullmatch(text) if isinstance(text, str) else None
        if found is None or "start" in given or "end" in given:
            raise BadRequestError(f"{place}.range: must be like -2w (units y, M, w, d, h, m, s)")
        return AlertSpan(now_us - int(found[1]) * _SECONDS[found[2]] * 1_000_000)
    span = AlertSpan(_time(given, "start", place), _time(given, "end", place))
    if span.from_us is None and span.to_us is None:
        raise BadRequestError(f"{place}: needs start, end, or range")
    if span.from_us is not None and span.to_us is not None and span.to_us < span.from_us:
        raise BadRequestError(f"{place}: end is before start")
    return span


def _time(given: Body, name: str, place: str) -> int | None:
    text = given.get(name)
    return None if text is None else moment_us(text, f"{place}.{name}")


def moment_us(text: object, place: str) -> int:
    """Parses an ISO 8601 time, in UTC unless it names a zone, to epoch microseconds; times before
    1970 become 0. Raises BadRequestError."""
    try:
        if not isinstance(text, str) or len(text) > 40:
            raise ValueError
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequestError(f"{place}: must be a time like 2026-03-04T05:06:07.000Z") from None
    seconds = int(moment.replace(microsecond=0).timestamp())
    return max(0, seconds * 1_000_000 + moment.microsecond)


def _filters(body: Body, place: str, now_us: int) -> list[FieldFilter]:
    given = body.get(place)
    if given is None:
        return []
    if not isinstance(given, dict) or len(given) > ALERT_V7_CRITERIA_MAX:
        raise BadRequestError(f"{place}: must be an object of at most {ALERT_V7_CRITERIA_MAX}")
    return [_filter(name, value, place, now_us) for name, value in given.items()]


def _filter(name: str, value: object, place: str, now_us: int) -> FieldFilter:
    excludes = place == "exclusions"
    if name == _MINIMUM:
        least = _whole(f"{place}.{name}", value, 1, 10)
        return FieldFilter("severity", at_least=least, excludes=excludes)
    field = _NAMES.get(name, name)
    if isinstance(value, dict):
        return FieldFilter(field, span=span_of(value, f"{place}.{name}", now_us), excludes=excludes)
    values: list[Any] = value if isinstance(value, list) else [value]
    if not values or len(values) > ALERT_V7_VALUES_MAX:
        raise BadRequestError(f"{place}.{name}: must have 1 to {ALERT_V7_VALUES_MAX} values")
    if not all(isinstance(one, str | int | bool) for one in values):
        raise BadRequestError(f"{place}.{name}: values must be strings, numbers or true and false")
    return FieldFilter(field, tuple(values), excludes=excludes)


def _sorts(given: object) -> tuple[SortTerm, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > ALERT_V7_SORTS_MAX:
        raise BadRequestError(f"sort: must be a list of at most {ALERT_V7_SORTS_MAX}")
    sorts = []
    for one in given:
        name = one.get("field") if isinstance(one, dict) else None
        order = one.get("order", "ASC") if isinstance(one, dict) else None
        if not isinstance(name, str) or str(order).upper() not in ("ASC", "DESC"):
            raise BadRequestError(
                "sort: entries must be objects with field and order (ASC or DESC)"
            )
        sorts.append((_NAMES.get(name, name), str(order).upper() == "DESC"))
    return tuple(sorts)


def _whole(name: str, given: object, default: int, most: int) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise BadRequestError(f"{name}: must be a whole number")
    return bounded_number(name, given, most=most)
