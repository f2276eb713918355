"""Finds the values that a query requires or excludes, so that a facet can mark them."""

from typing import Literal

from vedette.query.nodes import And, Exact, Leaf, Not, Text, Tree
from vedette.query.parse.escape import unescape

Narrowing = Literal["included", "excluded"]
Narrowed = dict[tuple[str, str], Narrowing]


def phrase(field: str, value: str) -> str:
    """Returns a query for a single value. Replaces quotes, which would end the phrase."""
    return f'{field}:"{value.replace(chr(34), " ")}"' if value else f"-{field}:*"


def narrowed(tree: Tree) -> Narrowed:
    """Maps (field, value), both in lower case, to whether the query includes or excludes the value.
    Considers only terms that every result must match."""
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
