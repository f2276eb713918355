"""Conditions of rules: frozen nodes in one union, built by `sigma`, read by `anchors` and `verify`.

Text comparison ignores case unless a test is `cased`. Values of tests that are not cased are stored
in lower case. A test of a field that the event lacks is false, except `IsNull` and `Exists(False)`.
"""

from dataclasses import dataclass
from typing import Literal

Where = Literal["equals", "contains", "startswith", "endswith"]
Comparison = Literal["lt", "lte", "gt", "gte"]


@dataclass(frozen=True, slots=True)
class Text:
    """The value equals, contains, starts or ends with a literal."""

    where: Where
    value: str
    cased: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """The whole value matches wildcards: literal pieces separated by `*` (any run). Within a piece,
    `?` (any character) is a separate element, `None`."""

    pieces: tuple[tuple[str | None, ...], ...]
    cased: bool = False


@dataclass(frozen=True, slots=True)
class Regex:
    """An RE2 pattern matches anywhere in the value. Case-sensitive unless the flags say
    otherwise."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """The value is an address within a network in CIDR notation."""

    cidr: str


@dataclass(frozen=True, slots=True)
class Compare:
    """The value is a number that satisfies a comparison."""

    operator: Comparison
    number: float


@dataclass(frozen=True, slots=True)
class IsNull:
    """The field is missing or empty."""


@dataclass(frozen=True, slots=True)
class Exists:
    """The event has the field, even if empty; with `wanted` False, it does not."""

    wanted: bool


@dataclass(frozen=True, slots=True)
class SameAs:
    """The value equals, contains, starts or ends with the value of another field of the same
    event."""

    field: str
    where: Where


Test = Text | Like | Regex | Network | Compare | IsNull | Exists | SameAs


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A test of a field."""

    field: str
    test: Test


@dataclass(frozen=True, slots=True)
class Keyword:
    """A test that is true if any value of the event passes it."""

    test: Text | Like | Regex


@dataclass(frozen=True, slots=True)
class And:
    """True if all nodes are."""

    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if any node is."""

    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True if the node is false."""

    node: "Node"


Node = FieldTest | Keyword | And | Or | Not


def fields_of(node: Node) -> frozenset[str]:
    """Returns every field that a condition names."""
    match node:
        case FieldTest(field=field, test=SameAs(field=other)):
            return frozenset((field, other))
        case FieldTest(field=field):
            return frozenset((field,))
        case And(nodes=nodes) | Or(nodes=nodes):
            return frozenset().union(*map(fields_of, nodes))
        case Not(node=inner):
            return fields_of(inner)
    return frozenset()


def size_of(node: Node) -> int:
    """Returns the number of tests in a condition."""
    match node:
        case And(nodes=nodes) | Or(nodes=nodes):
            return sum(map(size_of, nodes))
        case Not(node=inner):
            return size_of(inner)
    return 1
