"""Serializes rules: for transfer to the processes that evaluate events, and for storage in the
state database, so that a file of rules is parsed once.

A condition is encoded as nested lists that start with a letter. Data from an older version is
detected by `CODEC_VERSION` and rebuilt from the rule's text.
"""

from typing import Any, Final, get_args

import msgspec

from vedette.detect.correlation import Correlation
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
    fields_of,
)
from vedette.detect.rule import SEVERITY, Rule
from vedette.detect.rule_filter import RuleFilter

CODEC_VERSION: Final = 3
"""Increment with every change of this encoding or of the conversion from text to conditions."""

_WHERE: Final[tuple[Where, ...]] = get_args(Where)
_COMPARISONS: Final[tuple[Comparison, ...]] = get_args(Comparison)


class CodecError(ValueError):
    """Raised for data that this module did not write."""


def encoded_rule(rule: Rule) -> bytes:
    """Returns a complete rule as bytes."""
    return msgspec.json.encode(
        {
            "id": rule.id,
            "title": rule.title,
            "level": rule.level,
            "sources": rule.sources,
            "condition": _encoded(rule.condition),
            "status": rule.status,
            "description": rule.description,
            "author": rule.author,
            "version": rule.version,
            "tags": rule.tags,
            "false_positives": rule.false_positives,
            "references": rule.references,
            "name": rule.name,
            "obsoletes": rule.obsoletes,
        }
    )


def decoded_rule(data: bytes) -> Rule:
    """Decodes a rule. Raises CodecError."""
    try:
        body = msgspec.json.decode(data)
        condition = decoded_condition(body["condition"])
        return Rule(
            id=body["id"],
            title=body["title"],
            level=next(level for level in SEVERITY if level == body["level"]),
            sources=tuple(body["sources"]),
            condition=condition,
            status=body["status"],
            description=body["description"],
            author=body["author"],
            version=body["version"],
            tags=tuple(body["tags"]),
            false_positives=tuple(body["false_positives"]),
            references=tuple(body["references"]),
            name=body["name"],
            fields=fields_of(condition),
            obsoletes=tuple(body.get("obsoletes", ())),
        )
    except (msgspec.DecodeError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise CodecError(f"not a rule: {error}") from None


def encoded_filter(one: RuleFilter) -> bytes:
    """Returns a complete filter as bytes."""
    body = {
        "id": one.id,
        "title": one.title,
        "rules": one.rules,
        "sources": one.sources,
        "condition": _encoded(one.condition),
    }
    return msgspec.json.encode(body)


def decoded_filter(data: bytes) -> RuleFilter:
    """Decodes a filter. Raises CodecError."""
    try:
        body = msgspec.json.decode(data)
        return RuleFilter(
            id=body["id"],
            title=body["title"],
            rules=tuple(body["rules"]),
            sources=tuple(body["sources"]),
            condition=decoded_condition(body["condition"]),
        )
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError) as error:
        raise CodecError(f"not a filter: {error}") from None


def encoded_correlation(one: Correlation) -> bytes:
    """Returns a complete correlation as bytes."""
    return msgspec.json.encode(one)


def decoded_correlation(data: bytes) -> Correlation:
    """Decodes a correlation. Raises CodecError."""
    try:
        return msgspec.json.decode(data, type=Correlation)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CodecError(f"not a correlation: {error}") from None


def encoded_condition(node: Node) -> list[Any]:
    """Returns a condition as nested lists of text and numbers."""
    return _encoded(node)


def decoded_condition(data: Any) -> Node:
    """Decodes a condition. Raises CodecError."""
    try:
        return _decoded(data)
    except (IndexError, TypeError, ValueError) as error:
        raise CodecError(f"not a condition: {error}") from None


def _encoded(node: Node) -> list[Any]:
    match node:
        case And(nodes=nodes):
            return ["&", *map(_encoded, nodes)]
        case Or(nodes=nodes):
            return ["|", *map(_encoded, nodes)]
        case Not(node=inner):
            return ["!", _encoded(inner)]
        case Keyword(test=test):
            return ["k", *_encoded_test(test)]
        case FieldTest(field=field, test=test):
            return ["f", field, *_encoded_test(test)]


def _decoded(data: list[Any]) -> Node:
    match data:
        case ["&", *nodes]:
            return And(tuple(map(_decoded, nodes)))
        case ["|", *nodes]:
            return Or(tuple(map(_decoded, nodes)))
        case ["!", inner]:
            return Not(_decoded(inner))
        case ["k", *parts]:
            test = _decoded_test(parts)
            if isinstance(test, Text | Like | Regex):
                return Keyword(test)
        case ["f", str(field), *parts]:
            return FieldTest(field, _decoded_test(parts))
    raise CodecError(f"node {str(data)[:80]}")


def _encoded_test(test: Test) -> list[Any]:
    match test:
        case Text(where=where, value=value, cased=cased):
            return ["t", _WHERE.index(where), value, int(cased)]
        case Like(pieces=pieces, cased=cased):
            return ["l", [list(piece) for piece in pieces], int(cased)]
        case Regex(pattern=pattern, flags=flags):
            return ["r", pattern, flags]
        case Network(cidr=cidr):
            return ["n", cidr]
        case Compare(operator=operator, number=number):
            return ["c", _COMPARISONS.index(operator), number]
        case IsNull():
            return ["0"]
        case Exists(wanted=wanted):
            return ["e", int(wanted)]
        case SameAs(field=field, where=where):
            return ["s", field, _WHERE.index(where)]


def _decoded_test(parts: list[Any]) -> Test:
    match parts:
        case ["t", int(where), str(value), cased]:
            return Text(_WHERE[where], value, bool(cased))
        case ["l", list(pieces), cased]:
            return Like(tuple(tuple(piece) for piece in pieces), bool(cased))
        case ["r", str(pattern), str(flags)]:
            return Regex(pattern, flags)
        case ["n", str(cidr)]:
            return Network(cidr)
        case ["c", int(operator), int() | float() as number]:
            return Compare(_COMPARISONS[operator], float(number))
        case ["0"]:
            return IsNull()
        case ["e", wanted]:
            return Exists(bool(wanted))
        case ["s", str(field), int(where)]:
            return SameAs(field, _WHERE[where])
    raise CodecError(f"test {str(parts)[:80]}")
