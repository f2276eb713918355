"""Completes a query while the user types: field names, and values present in the scope."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import re2

from vedette.errors import BadRequestError, QueryError, UnavailableError
from vedette.limits import Limit
from vedette.model.alert_fields import ALERT
from vedette.model.binary_fields import BINARY
from vedette.model.field import Catalogue
from vedette.model.fields import PROCESS
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.processes.process_search import SearchSettings, search_processes
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alert_facets import FACETS as ALERT_FACETS
from vedette.store.read.segment_facets import FACETS as PROCESS_FACETS

SUGGESTIONS_MAX: Limit[int] = 12
"""Suggestions for a query: users do not read a longer list."""


Index = Literal["process", "binary", "alert"]

CATALOGUES: Final[Mapping[str, Catalogue]] = {
    "process": PROCESS,
    "binary": BINARY,
    "alert": ALERT,
}

_WORD: Final = re2.compile(r'[-+(]*((?:(\w+):)?("[^"]*|[^\s()"]*))$')
_PLAIN: Final = re.compile(r"[\w.@-]+")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A completion: `text` replaces the query from `start` to the caret."""

    text: str
    start: int
    kind: Literal["field", "value"]
    count: int | None = None
    """Number of processes or alerts with the value."""


def suggest(
    engine: Engine,
    scope: Scope,
    index: str,
    query: str,
    at: int,
    settings: SearchSettings,
    now_us: int,
) -> Sequence[Suggestion]:
    """Returns completions of the word before the caret (`at`, in characters). Values come from
    facets within the scope, so they reveal nothing about hosts that the caller may not see. Raises
    BadRequestError."""
    if index not in CATALOGUES:
        raise BadRequestError(f"index: {index[:40]!r} is not one of {', '.join(CATALOGUES)}")
    before = query[: max(0, at)]
    found = _WORD.search(before)
    if found is None:
        return []
    whole, name, rest = found.group(1), found.group(2), found.group(3)
    start = len(before) - len(whole)
    if name is None:
        return _fields(CATALOGUES[index], rest, start)
    values = _values(engine, scope, index, name.lower(), rest.strip('"'), settings, now_us)
    return [
        Suggestion(f"{name}:{_written(value)}", start, "value", count) for value, count in values
    ]


def _fields(catalogue: Catalogue, begun: str, start: int) -> list[Suggestion]:
    """Returns fields that begin with `begun`, then fields that contain it."""
    lowered = begun.lower()
    if not lowered:
        return []
    names = sorted(
        (name for name in catalogue.by_name if lowered in name),
        key=lambda name: (not name.startswith(lowered), name),
    )
    return [Suggestion(f"{name}:", start, "field") for name in names[:SUGGESTIONS_MAX]]


def _values(
    engine: Engine,
    scope: Scope,
    index: str,
    name: str,
    begun: str,
    settings: SearchSettings,
    now_us: int,
) -> list[tuple[str, int]]:
    """Returns the most frequent values of a facet that begin with `begun`; none for fields without
    a facet."""
    facets = {"process": PROCESS_FACETS, "alert": ALERT_FACETS}.get(index, ())
    if name not in facets or not (_PLAIN.fullmatch(begun) or not begun):
        return []
    parts = (("q", f"{name}:{begun}*"),) if begun else ()
    sort = "created_time" if index == "alert" else "last_update"
    request = SearchRequest(parts, 0, 0, (Sort(sort, is_descending=True),), facets=(name,))
    look = alert_search.search if index == "alert" else search_processes
    try:
        counted = look(engine, scope, request, settings, now_us).facets.get(name, ())
    except (QueryError, BadRequestError, UnavailableError):
        return []  # a half-typed word
    lowered = begun.lower()
    return [
        (str(value), count) for value, count in counted if str(value).lower().startswith(lowered)
    ][:SUGGESTIONS_MAX]


def _written(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else '"' + value.replace('"', " ") + '"'
