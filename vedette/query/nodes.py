"""The syntax tree of a query: frozen nodes in one union, parsed (`Tree`) or checked (`Checked`).

Leaves of `Tree` are a field name and a value as written; leaves of `Checked` are tests of columns
(`typed.py`). Both share the connectives, so one `match` over five cases reads either. Nodes are
immutable; a pass returns a new tree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as member
from typing import Generic, TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class Text:
    """A word or phrase as escaped (`escape.unescape` gives its text). Quotes make no difference:
    wildcards work in both."""

    source: str


@dataclass(frozen=True, slots=True)
class Range:
    """`[low TO high]`; "*" is an open end, `{` and `}` exclude the end."""

    low: str
    high: str
    excludes_low: bool = False
    excludes_high: bool = False


@dataclass(frozen=True, slots=True)
class Exact:
    """A whole stored value, as a facet shows it: no wildcards, no escapes. From `svc.fq.<field>`
    only; a query has no syntax for it."""

    text: str


Value = Text | Range | Exact


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value in a field; None is every default field."""

    field: str | None
    """Lower case, as the catalogue knows it or one of its aliases."""
    value: Value
    start: int = member(default=0, compare=False)
    end: int = member(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Everything:
    """The empty query."""


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
    """Flat AND: nested ANDs are inlined, a single child is returned, no child is Everything."""
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
    """Flat OR: as `all_of`, but Everything absorbs all others, and a child is needed."""
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
    """NOT; a double negation cancels out."""
    return child.child if isinstance(child, Not) else Not(child)
