"""Converts conditions parsed by pySigma to nodes.

Sigma's string semantics apply: `*` and `?` are wildcards, all other characters are literal, and
text without a modifier is compared as a whole. Raises UnsupportedError for parts that cannot be
evaluated; a rule is never widened silently.
"""

from typing import Any, Final

import re2
from sigma import conditions, types

from vedette.detect.nodes import (
    And,
    Compare,
    Comparison,
    Exists,
    FieldTest,
    IsNull,
    Keyword,
    Like,
    Network,
    Node,
    Not,
    Or,
    Regex,
    SameAs,
    Test,
    Text,
    Where,
)
from vedette.detect.sigma.errors import UnsupportedError

_COMPARISONS: Final[dict[types.CompareOperators, Comparison]] = {
    types.CompareOperators.LT: "lt",
    types.CompareOperators.LTE: "lte",
    types.CompareOperators.GT: "gt",
    types.CompareOperators.GTE: "gte",
}
_FLAGS: Final = types.SigmaRegularExpression.sigma_to_re_flag
NAMED_NUMBERS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "Level": (
        ("1", "critical"),
        ("2", "error"),
        ("3", "warning"),
        ("4", "information", "informational", "info"),
        ("5", "verbose"),
    ),
    "Protocol": (("1", "icmp"), ("6", "tcp"), ("17", "udp"), ("58", "icmpv6")),
}
"""Fields that are a number in some events and a name in others, and in rules either: the level of
the Windows event log, the protocol of Security 5156 and Sysmon 3."""

_ANY: Final = types.SpecialChars.WILDCARD_MULTI
_ONE: Final = types.SpecialChars.WILDCARD_SINGLE


def node_of(parsed: Any) -> Node:
    """Returns the node of a condition parsed by pySigma."""
    match parsed:
        case conditions.ConditionAND():
            return all_of([node_of(one) for one in parsed.args])
        case conditions.ConditionOR():
            return any_of([node_of(one) for one in parsed.args])
        case conditions.ConditionNOT():
            return Not(node_of(parsed.args[0]))
        case conditions.ConditionFieldEqualsValueExpression():
            return _field(parsed.field, parsed.value)
        case conditions.ConditionValueExpression():
            return _keyword(parsed.value)
    raise UnsupportedError("unsupported_condition", f"condition {type(parsed).__name__}")


def all_of(nodes: list[Node]) -> Node:
    """Returns a node that is true if all of the nodes are."""
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def any_of(nodes: list[Node]) -> Node:
    """Returns a node that is true if any of the nodes is."""
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))


def _field(field: str, value: Any) -> Node:
    if isinstance(value, types.SigmaExpansion):
        return any_of([_field(field, one) for one in value.values])
    test = _test(value)
    numbers = NAMED_NUMBERS.get(field)
    if numbers is not None and isinstance(test, Text) and test.where == "equals":
        same = next((names for names in numbers if test.value.lower() in names), (test.value,))
        return any_of([FieldTest(field, Text("equals", one)) for one in same])
    return FieldTest(field, test)


def _keyword(value: Any) -> Node:
    if isinstance(value, types.SigmaExpansion):
        return any_of([_keyword(one) for one in value.values])
    if isinstance(value, types.SigmaNumber) and not isinstance(value, types.SigmaTimestampPart):
        value = types.SigmaString(str(value.number))
    test = _test(value)
    match test:
        case Text(value=text, cased=cased):
            # A keyword matches anywhere in a value, with or without `*` at its ends.
            return Keyword(Text("contains", text, cased))
        case Like(pieces=pieces, cased=cased):
            return Keyword(Like(((), *pieces, ()), cased))
        case Regex():
            return Keyword(test)
    raise UnsupportedError("unsupported_keyword", f"keyword of type {type(value).__name__}")


def _test(value: Any) -> Test:
    match value:
        case types.SigmaCasedString():
            return _text(value, cased=True)
        case types.SigmaString():
            return _text(value, cased=False)
        case types.SigmaBool():
            return Text("equals", str(value.boolean).lower())
        case types.SigmaTimestampPart():
            part = value.timestamp_part.name.lower()
            raise UnsupportedError("unsupported_modifier", f"time modifier {part}")
        case types.SigmaNumber():
            return Text("equals", str(value.number))
        case types.SigmaRegularExpression():
            return _regex(value)
        case types.SigmaCIDRExpression():
            return Network(str(value.cidr))
        case types.SigmaCompareExpression():
            return Compare(_compared(value.op), float(value.number.number))
        case types.SigmaNull():
            return IsNull()
        case types.SigmaExists():
            return Exists(value.exists)
        case types.SigmaFieldReference():
            return SameAs(value.field, _where(value.starts_with, value.ends_with))
    raise UnsupportedError("unsupported_value", f"value of type {type(value).__name__}")


def _compared(operator: types.CompareOperators) -> Comparison:
    found = _COMPARISONS.get(operator)
    if found is None:
        raise UnsupportedError("unsupported_value", f"comparison {operator.name.lower()}")
    return found


def _where(starts: bool, ends: bool) -> Where:
    if starts and ends:
        return "contains"
    return "startswith" if starts else "endswith" if ends else "equals"


def _text(value: types.SigmaString, *, cased: bool) -> Test:
    pieces: list[list[str | None]] = [[]]
    for part in value.s:
        if part == _ANY:
            pieces.append([])
        elif part == _ONE:
            pieces[-1].append(None)
        elif isinstance(part, str):
            pieces[-1].append(part if cased else part.lower())
        else:
            raise UnsupportedError("unresolved_placeholder", f"placeholder {part}")
    if any(None in piece for piece in pieces):
        return Like(tuple(map(tuple, pieces)), cased)
    texts = ["".join(str(part) for part in piece) for piece in pieces]
    match texts:
        case [whole]:
            return IsNull() if not whole else Text("equals", whole, cased)
        case ["", ""]:
            return Exists(True)
        case [begin, ""]:
            return Text("startswith", begin, cased)
        case ["", end]:
            return Text("endswith", end, cased)
        case ["", middle, ""] if middle:
            return Text("contains", middle, cased)
    return Like(tuple((text,) if text else () for text in texts), cased)


def _regex(value: types.SigmaRegularExpression) -> Regex:
    pattern = str(value.regexp)
    flags = "".join(sorted(_FLAGS[flag] for flag in value.flags))
    try:
        re2.compile(f"(?{flags}){pattern}" if flags else pattern)
    except re2.error as error:
        raise UnsupportedError("unsupported_regex", f"RE2 refuses {pattern!r}: {error}") from None
    return Regex(pattern, flags)
