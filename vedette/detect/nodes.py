"""The condition of a rule: frozen nodes in one union, made by `sigma`, read by `anchors` and
`verify`.

Text compares without regard to case unless a test says `cased`; values of tests that are not cased
are stored in lower case. A test of a field that the event lacks is false, except `IsNull` and
`Exists(False)`.
"""

from dataclasses import dataclass
from typing import Literal

Where = Literal["equals", "contains", "startswith", "endswith"]
Comparison = Literal["lt", "lte", "gt", "gte"]


@dataclass(frozen=True, slots=True)
class Text:
    """A value that is equal to, contains, begins or ends with a literal."""

    where: Where
    value: str
    cased: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """A whole value with wildcards inside: literal pieces with `*` (any run) between them. A piece
    may hold `?` for one character only as an element of its own, `None`."""

    pieces: tuple[tuple[str | None, ...], ...]
    cased: bool = False


@dataclass(frozen=True, slots=True)
class Regex:
    """A match of an RE2 pattern anywhere in the value, case and all, unless its flags say so."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """An address within a network, in the notation of CIDR."""

    cidr: str


@dataclass(frozen=True, slots=True)
class Compare:
    """A number compared with another."""

    operator: Comparison
    number: float


@dataclass(frozen=True, slots=True)
class IsNull:
    """A field that is not there or empty."""


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether the event has the field at all."""

    wanted: bool


@dataclass(frozen=True, slots=True)
class SameAs:
    """A value compared with another field's value of the same event."""

    field: str
    where: Where


Test = Text | Like | Regex | Network | Compare | IsNull | Exists | SameAs


@dataclass(frozen=True, slots=True)
class FieldTest:
    """One test of one field."""

    field: str
    test: Test


@dataclass(frozen=True, slots=True)
class Keyword:
    """A test that any value of the event may pass."""

    test: Text | Like | Regex


@dataclass(frozen=True, slots=True)
class And:
    """True when all nodes are."""

    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when any node is."""

    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True when the node is not."""

    node: "Node"


Node = FieldTest | Keyword | And | Or | Not


def fields_of(node: Node) -> frozenset[str]:
    """Every field that a condition names."""
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
    """How many tests a condition has."""
    match node:
        case And(nodes=nodes) | Or(nodes=nodes):
            return sum(map(size_of, nodes))
        case Not(node=inner):
            return size_of(inner)
    return 1
