"""What the terms of a query that all results must agree with say about single values: so that a
facet shows which of its values the query takes in or leaves out."""

from typing import Literal

from vedette.query.nodes import And, Exact, Leaf, Not, Text, Tree
from vedette.query.parse.escape import unescape

Narrowing = Literal["included", "excluded"]
Narrowed = dict[tuple[str, str], Narrowing]


def phrase(field: str, value: str) -> str:
    """A query for one value; quotes would end the phrase."""
    return f'{field}:"{value.replace(chr(34), " ")}"' if value else f"-{field}:*"


def narrowed(tree: Tree) -> Narrowed:
    """By field and value, both in lower case."""
    found: Narrowed = {}
    for one in tree.children if isinstance(tree, And) else (tree,):
        is_excluded = isinstance(one, Not)
        leaf = one.child if isinstance(one, Not) else one
        if not isinstance(leaf, Leaf) or leaf.field is None:
            continue
        match leaf.value:
            case Text(source):
                text = unescape(source)
            case Exact(text):
                pass
            case _:
                continue
        found[leaf.field.lower(), text.lower()] = "excluded" if is_excluded else "included"
    return found
