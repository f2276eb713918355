"""The typed tree: tests of single columns. SQL and the matcher implement the same tests.

`check` decides everything. A test of an array column is true if it is true for any element.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from vedette.model.findings.tag import TAGS, TagFamily
from vedette.query.nodes import Leaf, Node

Form = Literal[
    "exact",  # as stored
    "folded",  # tokens.fold
    "account",  # tokens.account_form
    "path",  # tokens.path_form
    "registry",  # tokens.registry_form
    "domain",  # tokens.domain_form
    "labels",  # the domain form without its leading dot
    "pieces",  # tokens.words_form
]
"""Normal form of stored text for the comparison."""

Shape = Literal[
    "equals",
    "starts",
    "ends",
    "ends_after",  # ends with the needle and is longer
    "contains",
    "matches",  # the needle is an unanchored RE2 pattern built by `check`
]


@dataclass(frozen=True, slots=True)
class TextTest:
    """Compares a column, in a normal form, with the needle."""

    column: str
    form: Form
    shape: Shape
    needle: str
    tokens: tuple[str, ...] = ()
    """Index tokens that every match contains; () if there are none."""


@dataclass(frozen=True, slots=True)
class PresentTest:
    """The text column is not ""."""

    column: str


@dataclass(frozen=True, slots=True)
class NumberTest:
    """A number column, or a number of `fields.DERIVED`, is within both bounds."""

    source: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class TimeTest:
    """A time is within both bounds, epoch microseconds."""

    column: str
    low_us: int
    high_us: int


@dataclass(frozen=True, slots=True)
class AddressTest:
    """An address is within both bounds, 16 bytes each."""

    column: str
    low: bytes
    high: bytes


ColumnTest: TypeAlias = TextTest | PresentTest | NumberTest | TimeTest | AddressTest


@dataclass(frozen=True, slots=True)
class JoinTest:
    """A binary joined to the document satisfies one of the tests
    (docs/query-files.md)."""

    source: str
    """Key of `fields.JOINS`: the hashes of the document that are joined."""
    tests: tuple[ColumnTest, ...]
    """Tests of a binary's columns, at least one."""


@dataclass(frozen=True, slots=True)
class TagTest:
    """A tag of the document, from a watchlist or feed, satisfies the test."""

    family: TagFamily
    name: str
    test: ColumnTest
    """Test of one of `tag.TAG_COLUMNS`."""


Test: TypeAlias = ColumnTest | JoinTest | TagTest
Tests: TypeAlias = tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A leaf of the query. True if any of its tests is; never true without tests."""

    tests: tuple[Test, ...]
    leaf: Leaf = field(compare=False)
    """The parsed leaf, for explanations."""


Checked: TypeAlias = Node[Match]

NEVER: tuple[Test, ...] = ()
NUMBER_MAX = 2**63 - 1
"""Largest number that a query can specify."""


def source_of(test: Test) -> str:
    """Returns the column, or the key of `fields.DERIVED`, that a test reads; `TAGS` for tests of
    tags."""
    if isinstance(test, TagTest):
        return TAGS
    return test.source if isinstance(test, NumberTest | JoinTest) else test.column
