"""Converts Sigma correlation rules for evaluation by `detect/correlation.py`."""

from typing import Any, Final

from sigma.correlations import SigmaCorrelationRule

from vedette.detect.correlation import Correlation, CorrelationType, Operator
from vedette.detect.rule import Level
from vedette.detect.sigma.errors import UnsupportedError
from vedette.limits import Limit

CORRELATION_TIMESPAN_S_MAX: Limit[int] = 7 * 24 * 3600
"""Longest time span of a correlation rule (s). All its hits are stored."""

CORRELATION_COUNT_MAX: Limit[int] = 10_000
"""Greatest number in the condition of a correlation rule. Up to this many hits of a group are
stored."""


_TYPES: Final[dict[str, CorrelationType]] = {
    "event_count": "event_count",
    "value_count": "value_count",
    "temporal": "temporal",
    "temporal_ordered": "temporal_ordered",
}
_OPERATORS: Final[dict[str, Operator]] = {"gt": "gt", "gte": "gte", "eq": "eq"}


def correlation_of(document: dict[Any, Any], id_: str, level: Level) -> Correlation:
    """Converts a document to a correlation. Raises UnsupportedError, SigmaError, ValueError."""
    parsed = SigmaCorrelationRule.from_dict(document)
    name = parsed.type.name.lower()
    kind = _TYPES.get(name)
    if kind is None:
        message = f"correlations of type {name}: values are counted, not reckoned with"
        raise UnsupportedError("unsupported_correlation", message)
    rules = tuple(one.reference for one in parsed.rules or ())
    if not rules:
        raise UnsupportedError("malformed", "a correlation names the rules that it is about")
    operator, count, fields = _condition(parsed.condition, kind, len(rules))
    seconds = parsed.timespan.seconds
    if seconds > CORRELATION_TIMESPAN_S_MAX:
        raise UnsupportedError("too_large", f"timespan: longer than {CORRELATION_TIMESPAN_S_MAX} s")
    return Correlation(
        id=id_,
        title=parsed.title,
        level=level,
        kind=kind,
        rules=rules,
        group_by=tuple(parsed.group_by or ()),
        timespan_us=seconds * 1_000_000,
        operator=operator,
        count=count,
        fields=fields,
        aliases=tuple(
            (alias.alias, tuple((rule.reference, field) for rule, field in alias.mapping.items()))
            for alias in parsed.aliases
        ),
        generate=bool(parsed.generate),
        name=parsed.name or "",
        tags=tuple(str(tag) for tag in parsed.tags),
        false_positives=tuple(map(str, parsed.falsepositives or ())),
        description=parsed.description or "",
    )


def _condition(
    condition: Any, kind: CorrelationType, rules: int
) -> tuple[Operator, int, tuple[str, ...]]:
    """Returns operator, number and fields. Temporal types require all rules by default."""
    if condition is None:
        return "gte", rules, ()
    operator = _OPERATORS.get(getattr(getattr(condition, "op", None), "name", "").lower())
    count = getattr(condition, "count", None)
    if operator is None or not isinstance(count, int):
        message = "condition: must be a count that is reached (gte, gt or eq)"
        raise UnsupportedError("unsupported_correlation", message)
    if kind == "temporal_ordered" and (operator, count) != ("gte", rules):
        message = "condition: an ordered correlation is about all of its rules"
        raise UnsupportedError("unsupported_correlation", message)
    named = condition.fieldref or ()
    fields = (named,) if isinstance(named, str) else tuple(named)
    if (kind == "value_count") is not bool(fields):
        raise UnsupportedError("malformed", "condition: field belongs to value_count")
    if not 0 <= count <= CORRELATION_COUNT_MAX:
        raise UnsupportedError("too_large", f"condition: a count above {CORRELATION_COUNT_MAX}")
    return operator, count, fields
