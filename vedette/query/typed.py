"""What a checked query asks of a document: tests of single columns, ready to be rendered.

All decisions are made by `check`; SQL and the matcher only write these tests down, each in its
language. A test of a column that holds many values is true when it is true of one of them.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from vedette.query.nodes import Leaf, Node

Form = Literal[
    "exact",  # as stored
    "folded",  # tokens.fold
    "account",  # tokens.account_form
    "path",  # tokens.path_form
    "registry",  # tokens.registry_form
    "domain",  # tokens.domain_form
    "labels",  # the domain form without the dot before it
    "pieces",  # tokens.words_form
]
"""How stored text is made ready for comparing."""

Shape = Literal[
    "equals",
    "starts",
    "ends",
    "ends_after",  # ends with the needle, and is longer
    "contains",
    "matches",  # the needle is an RE2 pattern of our own making, searched for anywhere
]


@dataclass(frozen=True, slots=True)
class TextTest:
    """The column, in that form, relates to the needle."""

    column: str
    form: Form
    shape: Shape
    needle: str
    tokens: tuple[str, ...] = ()
    """What the column's index surely holds whenever the test is true; () when nothing."""


@dataclass(frozen=True, slots=True)
class PresentTest:
    """The text column is not ""."""

    column: str


@dataclass(frozen=True, slots=True)
class NumberTest:
    """A number, or a number of `fields.DERIVED`, within both bounds."""

    source: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class TimeTest:
    """A time within both bounds, epoch microseconds."""

    column: str
    low_us: int
    high_us: int


@dataclass(frozen=True, slots=True)
class AddressTest:
    """An address within both bounds, 16 bytes each."""

    column: str
    low: bytes
    high: bytes


ColumnTest: TypeAlias = TextTest | PresentTest | NumberTest | TimeTest | AddressTest


@dataclass(frozen=True, slots=True)
class JoinTest:
    """A binary that the document leads to answers to one of the tests (query-language 5)."""

    source: str
    """Of `fields.JOINS`: which hashes of the document are looked up."""
    tests: tuple[ColumnTest, ...]
    """Tests of a binary's columns; never without any."""


Test: TypeAlias = ColumnTest | JoinTest


@dataclass(frozen=True, slots=True)
class Match:
    """One leaf of the query: true when one of the tests is; never without any."""

    tests: tuple[Test, ...]
    leaf: Leaf = field(compare=False)
    """Where it came from, for highlights and explanations."""


Checked: TypeAlias = Node[Match]

NEVER: tuple[Test, ...] = ()
NUMBER_MAX = 2**63 - 1
"""The greatest number a query can name."""


def source_of(test: Test) -> str:
    """The column that a test reads, or the name of `fields.DERIVED`."""
    return test.source if isinstance(test, NumberTest | JoinTest) else test.column
