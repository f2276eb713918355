"""Formats counted facets (docs/api-objects.md#facets; the formats that clients parse,
docs/clients.md#search-and-facets).

The most frequent value is first; for times (`start`, `hour_of_day`, `day_of_week`) the earliest.
Names are valid in a query: `start:2026-03-04T00:00:00Z` matches that day.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from vedette.store.read.segment_facets import Value
from vedette.web.processes.models import Body

_IN_ORDER: Final = frozenset({"start", "hour_of_day", "day_of_week"})
_EPOCH: Final = date(1970, 1, 1)

Counts = Sequence[tuple[Value, int]]


def process_facets(facets: Mapping[str, Counts]) -> dict[str, list[Body]]:
    """Returns the facets of a process search by field."""
    return {
        name: facet_list(
            [(value_name(name, value), count) for value, count in _ordered(name, values)]
        )
        for name, values in facets.items()
    }


def facet_list(counts: Sequence[tuple[str, int]]) -> list[Body]:
    """Returns the entries of a facet. `percent` is a number relative to the largest count. `ratio`
    is relative to the sum, as text without a percent sign, because clients call float() on it."""
    largest = max((count for _, count in counts), default=0)
    total = sum(count for _, count in counts)
    return [
        {
            "name": name,
            "value": count,
            "percent": round(100 * count / largest, 1) if largest else 0.0,
            "ratio": f"{100 * count / total:.1f}" if total else "0.0",
        }
        for name, count in counts
    ]


def _ordered(name: str, values: Counts) -> Counts:
    return sorted(values) if name in _IN_ORDER else values


def value_name(name: str, value: Value) -> str:
    """Formats a facet value as queries accept it."""
    if name == "start":
        return f"{_EPOCH + timedelta(days=int(value))}T00:00:00Z"
    return str(value)
