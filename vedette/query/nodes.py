"""Syntax tree of a query: frozen nodes in one union, parsed (`Tree`) or checked (`Checked`).

Leaves of `Tree` are a field name and a value as written. Leaves of `Checked` are tests of columns
(`typed.py`). Both share the connectives, so one `match` with five cases handles either. Nodes are
immutable; a pass returns a new tree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as member
from typing import Generic, TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class Text:
    """A word or phrase, with its escapes (`escape.unescape` returns its text). Quotes make no
    difference: wildcards work in both."""

    source: str


@dataclass(frozen=True, slots=True)
class Range:
    """`[low TO high]`. "*" is an open end; `{` and `}` exclude the end."""

    low: str
    high: str
    excludes_low: bool = False
    excludes_high: bool = False


@dataclass(frozen=True, slots=True)
class Exact:
    """A whole stored value, as a facet shows it: no wildcards, no escapes. Comes only from
    `svc.fq.<field>`; the query language has no syntax for it."""

    text: str


Value = Text | Range | Exact


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value in a field, or in every default field if `field` is None."""

    field: str | None
    """Lower case; a name or alias of the catalogue."""
    value: Value
    start: int = member(default=0, compare=False)
    end: int = member(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Everything:
    """The empty query, which matches every document."""


L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class And(Generic[L]):
    children: "tuple[Node[L], ...]"


@dataclass(frozen=True, slots=True)
class Or(Generic[L]):
    children: "tuple[Node[L], ...]"


@dataclass(frozen=True, slots=True)
class Not(Generic[L]):
    child: "Node[L]"


Node: TypeAlias = Everything | And[L] | Or[L] | Not[L] | L

Tree: TypeAlias = Node[Leaf]


def all_of(children: Iterable["Node[L]"]) -> "Node[L]":
    """Returns a flat AND: inlines nested ANDs, drops Everything, and returns a single child as it
    is."""
    flat: list[Node[L]] = []
    for child in children:
        if isinstance(child, And):
            flat.extend(child.children)
        elif not isinstance(child, Everything):
            flat.append(child)
    if not flat:
        return Everything()
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(children: Iterable["Node[L]"]) -> "Node[L]":
    """Returns a flat OR, like `all_of`, except that Everything absorbs all others. Needs at least
    one child."""
    flat: list[Node[L]] = []
    for child in children:
        if isinstance(child, Everything):
            return child
        if isinstance(child, Or):
            flat.extend(child.children)
        else:
            flat.append(child)
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negated(child: "Node[L]") -> "Node[L]":
    """Returns the negation. A double negation cancels out."""
    return child.child if isinstance(child, Not) else Not(child)
