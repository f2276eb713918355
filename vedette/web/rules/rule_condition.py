"""Renders the parsed condition of a Sigma rule: a line per test, indented by nesting level."""

from collections.abc import Iterator
from typing import assert_never

from vedette.detect.nodes import (
    And,
    Compare,
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
)

Line = tuple[int, str]
"""Nesting level and text."""


def condition_lines(node: Node) -> Iterator[Line]:
    """Yields the lines from the top. Not recursive, because conditions can be deep."""
    waiting: list[tuple[int, Node]] = [(0, node)]
    while waiting:
        depth, one = waiting.pop()
        match one:
            case And(nodes=nodes):
                yield depth, "all of"
                waiting += [(depth + 1, inner) for inner in reversed(nodes)]
            case Or(nodes=nodes):
                yield depth, "any of"
                waiting += [(depth + 1, inner) for inner in reversed(nodes)]
            case Not(node=inner):
                yield depth, "not"
                waiting.append((depth + 1, inner))
            case FieldTest(field=field, test=test):
                yield depth, f"{field} {_said(test)}"
            case Keyword(test=test):
                yield depth, f"any field {_said(test)}"
            case _:
                assert_never(one)


def _said(test: Test) -> str:
    match test:
        case Text(where=where, value=value, cased=cased):
            return f'{where} "{value}"{_case(is_cased=cased)}'
        case Like(pieces=pieces, cased=cased):
            parts = ("".join("?" if one is None else one for one in piece) for piece in pieces)
            return f'like "{"*".join(parts)}"{_case(is_cased=cased)}'
        case Regex(pattern=pattern, flags=flags):
            return f"matches /{pattern}/{flags}"
        case Network(cidr=cidr):
            return f"in network {cidr}"
        case Compare(operator=operator, number=number):
            return f"{operator} {number:g}"
        case IsNull():
            return "is empty"
        case Exists(wanted=wanted):
            return "exists" if wanted else "does not exist"
        case SameAs(field=other, where=where):
            return f"{where} the value of {other}"
    assert_never(test)


def _case(*, is_cased: bool) -> str:
    return ", case-sensitive" if is_cased else ""
