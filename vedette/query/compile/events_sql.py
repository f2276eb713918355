"""Compiles an event filter to expressions over the parallel event arrays of a segment.

Each event kind gets a predicate on single elements: a lambda over the columns it needs. It
evaluates one event at a time, so it is valid for partial rows as well as merged rows, and counts
need no FINAL. Values are bound; columns come from the catalogue of facets.
"""

from dataclasses import dataclass
from typing import Any, Final

from vedette.model.columns import EventKind
from vedette.model.event_facets import EVENT_FACETS, EVENT_TYPE, EventFacet, EventFilter, Reading

_FILE_NAME: Final = r"substringIndex(substringIndex({x}, '\\', -1), '/', -1)"
_IS_IPV4: Final = "({x} BETWEEN toIPv6('::ffff:0.0.0.0') AND toIPv6('::ffff:255.255.255.255'))"

_READINGS: Final[dict[Reading, str]] = {
    "text": "{x}",
    "number": "if({x} = 0, '', toString({x}))",
    "directory": f"substring({{x}}, 1, length({{x}}) - length({_FILE_NAME}))",
    "ipv4": f"if({_IS_IPV4}, substring(toString({{x}}), 8), '')",
    "ipv6": f"if({_IS_IPV4} OR {{x}} = toIPv6('::'), '', toString({{x}}))",
    "hive": r"if(startsWith(lower({x}), '\\registry\\'), substringIndex(lower({x}), '\\', 3), "
    r"substringIndex(lower({x}), '\\', 1))",
}
"""SQL of the facet id of a value `{x}`; "" if it has none."""


@dataclass(frozen=True, slots=True)
class KindTest:
    """The predicate on elements of a kind's arrays. `test` is "" if all elements match."""

    kind: EventKind
    columns: tuple[str, ...]
    test: str

    @property
    def count_sql(self) -> str:
        """SQL: number of matching elements of a row."""
        if not self.test:
            return f"`{self.kind.name}_count`"
        return f"arrayCount({self._lambda})"

    @property
    def mask_sql(self) -> str:
        """SQL: array of 1 for matching and 0 for other elements; "" if all match."""
        return f"arrayMap({self._lambda})" if self.test else ""

    @property
    def _lambda(self) -> str:
        names = ", ".join(f"c{number}" for number in range(len(self.columns)))
        return f"({names}) -> {self.test}, {', '.join(f'`{name}`' for name in self.columns)}"


def compile_events(wanted: EventFilter) -> tuple[list[KindTest], dict[str, Any]]:
    """Returns the predicates of the kinds that can match, and their bound values."""
    params: dict[str, Any] = {}
    if wanted.until_us is not None:
        params["until_us"] = wanted.until_us
    asked = [(EVENT_FACETS[name], ids) for name, ids in wanted.criteria if name != EVENT_TYPE]
    for number, (_, ids) in enumerate(asked):
        params[f"ids{number}"] = list(ids)
    return [
        _kind_test(kind, [facet for facet, _ in asked], wanted) for kind in wanted.kinds
    ], params


def _kind_test(kind: EventKind, facets: list[EventFacet], wanted: EventFilter) -> KindTest:
    columns: list[str] = []
    tests: list[str] = []
    for number, facet in enumerate(facets):
        tests.append(f"has({{ids{number}:Array(String)}}, {facet_sql(facet, f'c{len(columns)}')})")
        columns.append(facet.columns[kind.name])
    if wanted.until_us is not None:
        tests.append(f"c{len(columns)} <= fromUnixTimestamp64Micro({{until_us:Int64}}, 'UTC')")
        columns.append(f"{kind.name}_time")
    return KindTest(kind, tuple(columns), " AND ".join(tests))


def facet_sql(facet: EventFacet, element: str) -> str:
    """Returns SQL for the facet id of an element, a String; "" if it has none."""
    return _READINGS[facet.reading].format(x=element)
