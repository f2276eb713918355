"""The tree of a query: frozen nodes in one union, as parsed and as checked.

`Tree` is what the text says: leaves are a field's name and a value as written. `Checked` is
what it means: leaves are tests of columns (`typed.py`). Both share the connectives, so that
one `match` over five cases reads either. Everything is immutable; a pass returns a new tree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as member
from typing import Generic, TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class Text:
    """A word or phrase in its escaped spelling (`escape.unescape` gives its text). Whether it
    stood in quotes does not matter: wildcards are live in both."""

    source: str


@dataclass(frozen=True, slots=True)
class Range:
    """`[low TO high]`; "*" is an open end, `{` and `}` leave the end itself out."""

    low: str
    high: str
    excludes_low: bool = False
    excludes_high: bool = False


@dataclass(frozen=True, slots=True)
class Exact:
    """A whole stored value, as a facet shows it: no wildcards, no escapes. Comes from
    `svc.fq.<field>` only; there is no way to write it in a query."""

    text: str


Value = Text | Range | Exact


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value to find: in the named field, or with None in every default field."""

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
    """AND, flat: nested ANDs are taken in, one child stands for itself, none is Everything."""
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
    """OR, flat like `all_of`. Everything among the children is Everything. Needs a child."""
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
    """NOT; two of them cancel out."""
    return child.child if isinstance(child, Not) else Not(child)
