"""Converts Sigma correlation rules for evaluation by `detect/correlation.py`."""

from typing import Any, Final

from sigma.correlations import SigmaCorrelationRule

from vedette.detect.correlation import METRICS, Correlation, CorrelationType, Operator
from vedette.detect.rule import Level
from vedette.detect.sigma.errors import UnsupportedError
from vedette.detect.sigma.extended_condition import Expression, parsed_condition
from vedette.limits import Limit

CORRELATION_TIMESPAN_S_MAX: Limit[int] = 31 * 24 * 3600
"""Longest time span of a correlation rule (s). All its hits are stored."""

CORRELATION_COUNT_MAX: Limit[int] = 10_000
"""Greatest number in the condition of a correlation rule. Up to this many hits of a group are
stored."""


_TYPES: Final[dict[str, CorrelationType]] = {
    "event_count": "event_count",
    "value_count": "value_count",
    "temporal": "temporal",
    "temporal_ordered": "temporal_ordered",
    "value_sum": "value_sum",
    "value_avg": "value_avg",
    "value_median": "value_median",
    "value_percentile": "value_percentile",
}
_OPERATORS: Final[dict[str, Operator]] = {
    "gt": "gt",
    "gte": "gte",
    "eq": "eq",
    "lt": "lt",
    "lte": "lte",
    "neq": "neq",
}
_REACHED: Final = ("gt", "gte", "eq")
_PERCENT_ALL: Final = 100


def correlation_of(document: dict[Any, Any], id_: str, level: Level) -> Correlation:
    """Converts a document to a correlation. Raises UnsupportedError, SigmaError, ValueError."""
    plain, expression = _without_expression(document)
    parsed = SigmaCorrelationRule.from_dict(plain)
    name = parsed.type.name.lower()
    kind = _TYPES.get(name)
    if kind is None:
        raise UnsupportedError("unsupported_correlation", f"correlations of type {name}")
    if expression and kind != "temporal":
        message = f"condition: a text, which only temporal may have, not {name}"
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
        percentile=_percentile(parsed.condition, kind),
        expression=expression,
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


def _without_expression(document: dict[Any, Any]) -> tuple[dict[Any, Any], Expression]:
    """Returns the document without its extended condition, and this condition over the indexes of
    the rules; () if the document has none."""
    body = document.get("correlation")
    text = body.get("condition") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(text, str):
        return document, ()
    rules, expression = parsed_condition(text)
    named = body.get("rules")
    listed = [named] if isinstance(named, str) else named
    if listed is not None and (not isinstance(listed, list) or set(map(str, listed)) != set(rules)):
        raise UnsupportedError(
            "malformed", "condition: must name all rules of the list, only these"
        )
    plain = {name: value for name, value in body.items() if name != "condition"}
    return document | {"correlation": plain | {"rules": list(rules)}}, expression


def _percentile(condition: Any, kind: CorrelationType) -> int:
    found = getattr(condition, "percentile", None)
    if (kind == "value_percentile") is not (found is not None):
        raise UnsupportedError("malformed", "condition: percentile belongs to value_percentile")
    if found is not None and not 0 < found <= _PERCENT_ALL:
        raise UnsupportedError("malformed", "condition: percentile must be 1 to 100")
    return found or 0


def _condition(
    condition: Any, kind: CorrelationType, rules: int
) -> tuple[Operator, int | float, tuple[str, ...]]:
    """Returns operator, number and fields. Temporal types require all rules by default."""
    if condition is None:
        return "gte", rules, ()
    operator = _OPERATORS.get(getattr(getattr(condition, "op", None), "name", "").lower())
    count = getattr(condition, "count", None)
    if operator is None or not isinstance(count, int | float):
        raise UnsupportedError("unsupported_correlation", "condition: must be a comparison")
    if kind in METRICS:
        return _metric_condition(condition, kind, operator, count)
    if operator not in _REACHED or not isinstance(count, int):
        message = (
            f"condition: {operator} of {kind} is only certain when the time span has ended; "
            "must be a whole number that is reached (gte, gt or eq)"
        )
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


def _metric_condition(
    condition: Any, kind: CorrelationType, operator: Operator, number: int | float
) -> tuple[Operator, int | float, tuple[str, ...]]:
    field = condition.fieldref
    if not isinstance(field, str) or not field:
        raise UnsupportedError("malformed", f"condition: {kind} is of one field")
    if kind == "value_sum" and (operator not in ("gt", "gte") or number < 0):
        message = (
            f"condition: {operator} of value_sum is only certain when the time span has ended; "
            "must be a number that is reached (gte or gt)"
        )
        raise UnsupportedError("unsupported_correlation", message)
    return operator, number, (field,)
