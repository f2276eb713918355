"""Parses search parameters from a URL or a JSON body (docs/clients.md#aliases,
docs/query-language.md#query-parameters).

Names may start with `svc.` or `cb.`, which are equivalent. Unknown parameters are ignored,
including `params`, which a certain client sends by mistake. Query parts are passed on unparsed to
`query/parse/query_params.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vedette import limits
from vedette.errors import BadRequestError
from vedette.query.check.time import moment_us
from vedette.query.parse.query_params import is_part_of_query
from vedette.search.search_request import SearchRequest, Sort, Windows
from vedette.web.json.parameters import MOST, bounded_number, truth_of

Pairs = Iterable[tuple[str, str]]
"""Parameters in order as (name, value); a name may repeat."""

PREFIXES: Final = ("svc.", "cb.")

PROCESS_SORT_DEFAULT: Final = "last_update desc"

FACETS_AND_TIMES: Final = (
    ("svc.facet.order", "count_asc for the least frequent values of facets; default count_desc"),
    (
        "svc.facet.limit",
        f"Values of each facet; default and most {limits.SEGMENT_FACET_VALUES_MAX}",
    ),
    (
        "svc.buckets",
        f"Intervals of the histogram at most, from 1 to {limits.HISTOGRAM_BUCKETS_MAX}; "
        f"default {limits.HISTOGRAM_BUCKETS}",
    ),
)
"""OpenAPI description of parameters that searches of processes and alerts share."""

_DIRECTIONS: Final = {"asc": False, "desc": True}

_TYPED: Final = frozenset(
    (
        "rows",
        "start",
        "facet.limit",
        "buckets",
        "comprehensive_search",
        "facet",
        "facets",
        "facet.fuzzy",
    )
)
"""Numeric and boolean parameters. The server rejects them if empty; other empty parameters count as
missing."""

_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "min_last_update": ("svc.q.last_update", "[{} TO *]"),
    "max_last_update": ("svc.q.last_update", "[* TO {}]"),
    "min_last_server_update": ("svc.q.last_server_update", "[{} TO *]"),
    "max_last_server_update": ("svc.q.last_server_update", "[* TO {}]"),
}
"""Parameters for inclusive ranges of a field, with the equivalent query part
(docs/query-language.md#query-parameters)."""


def body_pairs(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the parameters of a JSON body, whose values are scalars or lists of scalars.

    Raises BadRequestError if a value is an object.
    """
    return [(name, text) for name, value in body.items() for text in _texts(name, value)]


def search_request(
    pairs: Pairs,
    sort_default: str = PROCESS_SORT_DEFAULT,
    facets_default: tuple[str, ...] = (),
) -> SearchRequest:
    """Parses the parameters of a search. `facets_default` applies if the request enables facets
    without names. Caps rows at `ROWS_MAX`. Raises BadRequestError for invalid numbers, flags and
    sorts."""
    all_pairs = list(pairs)
    given = [(name, value) for name, value in all_pairs if value.strip()]
    values: dict[str, str] = {}
    for name, value in all_pairs:
        if not value.strip() and _without_prefix(name) not in _TYPED:
            continue
        values.setdefault(_without_prefix(name), value.strip())
    return SearchRequest(
        parts=tuple(part for name, value in given if (part := _part(name, value)) is not None),
        rows=min(_number("rows", values, limits.ROWS_DEFAULT), limits.ROWS_MAX),
        start=_number("start", values, 0),
        sorts=_sorts(values.get("sort") or sort_default),
        group=_prefixed("group", given),
        is_comprehensive=_flag("comprehensive_search", values) or False,
        facets=_facets(given, values, facets_default),
        is_fuzzy=_flag("facet.fuzzy", values),
        facet_values=_number(
            "facet.limit",
            values,
            limits.SEGMENT_FACET_VALUES_MAX,
            1,
            limits.SEGMENT_FACET_VALUES_MAX,
        ),
        is_rarest=_is_rarest(values),
        histogram=_prefixed("histogram", given),
        histogram_by=_prefixed("histogram.by", given),
        buckets=_number(
            "buckets", values, limits.HISTOGRAM_BUCKETS, 1, limits.HISTOGRAM_BUCKETS_MAX
        ),
        windows=Windows(before_ms=window_of("svc.before", _prefixed("before", given))),
    )


def window_of(name: str, text: str) -> int:
    """Parses a window boundary as responses report it in `read`, to epoch ms; 0 if empty. Raises
    BadRequestError for an invalid or relative time."""
    if not text:
        return 0
    try:
        time_ms = moment_us(text, 0) // 1_000
    except ValueError:
        time_ms = 0
    if time_ms <= 0:
        raise BadRequestError(f"{name}: {text[:40]!r} is not a time")
    return time_ms


def _texts(name: str, value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [_text(name, item) for item in values if item is not None]


def _text(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            raise BadRequestError(f"{name}: must be a value or a list of values")


def _without_prefix(name: str) -> str:
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def _part(name: str, value: str) -> tuple[str, str] | None:
    """Returns the query part of a parameter, None if the parameter is not one."""
    if is_part_of_query(name):
        return name, value
    bound = _BOUNDS.get(_without_prefix(name))
    return None if bound is None else (bound[0], bound[1].format(value.strip()))


def _prefixed(wanted: str, pairs: Pairs) -> str:
    """Returns a parameter that requires a prefix, because other tools use the bare name."""
    names = {prefix + wanted for prefix in PREFIXES}
    return next((value.strip() for name, value in pairs if name in names), "")


def _facets(pairs: Pairs, values: Mapping[str, str], default: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the requested facets. `facet` and `facets` are the same flag
    (docs/api-process-search.md); without it the search counts none."""
    if not (_flag("facet", values) or _flag("facets", values)):
        return ()
    wanted = (value.strip() for name, value in pairs if name == "facet.field")
    return tuple(dict.fromkeys(wanted)) or default


def _flag(name: str, values: Mapping[str, str]) -> bool | None:
    text = values.get(name)
    return None if text is None else truth_of(name, text)


def _is_rarest(values: Mapping[str, str]) -> bool:
    order = values.get("facet.order", "").lower() or "count_desc"
    if order not in ("count_desc", "count_asc"):
        raise BadRequestError(f"facet.order: {order[:40]!r} must be count_desc or count_asc")
    return order == "count_asc"


def _number(
    name: str, values: Mapping[str, str], default: int, least: int = 0, most: int = MOST
) -> int:
    return bounded_number(name, values.get(name, default), least=least, most=most)


def _sorts(text: str) -> tuple[Sort, ...]:
    return tuple(_sort(part) for part in text.split(",") if part.strip())


def _sort(text: str) -> Sort:
    match text.split():
        case [field]:
            return Sort(field, is_descending=False)
        case [field, direction] if direction.lower() in _DIRECTIONS:
            return Sort(field, _DIRECTIONS[direction.lower()])
        case _:
            raise BadRequestError(f"sort: {text[:60]!r} must be a field and asc or desc")
