"""Renders a tree as text: the canonical spelling of a query, and its terms as the API lists them.

`parse(print_query(tree)) == tree` for every tree that `parse` returns.
"""

import re

from vedette.model.field import QUOTE_ENDS, Catalogue
from vedette.model.fields import PROCESS
from vedette.query.nodes import And, Everything, Exact, Leaf, Not, Or, Range, Text, Tree
from vedette.query.parse.escape import escape, unescape
from vedette.query.parse.field_names import name_at

_PLAIN = re.compile(r'(?:[^\s()"\\]|\\[^\s])++')
_BARE_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_OPERATORS = frozenset({"and", "or", "not"})


def print_query(tree: Tree, catalogue: Catalogue = PROCESS) -> str:
    """Returns the canonical spelling: implied AND, upper-case OR, `-` for NOT, brackets and quotes
    only where needed. "" for Everything."""
    match tree:
        case Everything():
            return ""
        case Leaf():
            return _leaf(tree, catalogue)
        case Not(child):
            return "-" + _bracketed(child, catalogue, And, Or)
        case And(children):
            return " ".join(_bracketed(child, catalogue, Or) for child in children)
        case Or(children):
            return " OR ".join(print_query(child, catalogue) for child in children)


def _bracketed(tree: Tree, catalogue: Catalogue, *looser: type) -> str:
    text = print_query(tree, catalogue)
    return f"({text})" if isinstance(tree, looser) else text


def _leaf(leaf: Leaf, catalogue: Catalogue) -> str:
    prefix = "" if leaf.field is None else leaf.field + ":"
    match leaf.value:
        case Range():
            return prefix + _range(leaf.value)
        case Exact(text):
            return f'{prefix}"{escape(text)}"'
        case Text(source):
            return prefix + _text(leaf.field, source, catalogue)


def _text(field: str | None, source: str, catalogue: Catalogue) -> str:
    known = catalogue.find(field) if field is not None else None
    if known is not None and known.type in QUOTE_ENDS and '"' in source:
        return source  # cannot be quoted; its term had every special character escaped
    is_plain = _PLAIN.fullmatch(source) is not None and source[0] not in "[{"
    if field is None and is_plain:
        is_plain = source[0] != "-" and source.lower() not in _OPERATORS
        is_plain = is_plain and name_at(source, 0, catalogue) is None
    return source if is_plain else f'"{source}"'


def _range(value: Range) -> str:
    opening = "{" if value.excludes_low else "["
    closing = "}" if value.excludes_high else "]"
    return f"{opening}{_end(value.low)} TO {_end(value.high)}{closing}"


def _end(text: str) -> str:
    return f'"{text}"' if re.search(r"\s", text) or not text or text[-1] in "]}" else text


def terms(tree: Tree) -> list[str]:
    """Returns the distinct leaves in query order (docs/query-evaluation.md#one-segment-at-a-time):
    field and value as typed, without escapes, quoted if the value has whitespace. `*` and `*:*`
    match everything and are left out."""
    return list(dict.fromkeys(_term(leaf) for leaf in leaves(tree) if not asks_all(leaf)))


def asks_all(leaf: Leaf) -> bool:
    """Whether a leaf is `*` without a field, which every document matches."""
    return leaf.field is None and isinstance(leaf.value, Text) and set(leaf.value.source) == {"*"}


def _term(leaf: Leaf) -> str:
    prefix = "" if leaf.field is None else leaf.field + ":"
    match leaf.value:
        case Range():
            return prefix + _range(leaf.value)
        case Exact(text):
            value = text
        case Text(source):
            value = unescape(source)
    return prefix + (f'"{value}"' if re.search(r"\s", value) else value)


def leaves(tree: Tree) -> list[Leaf]:
    """Returns all leaves in query order."""
    found: list[Leaf] = []
    waiting: list[Tree] = [tree]
    while waiting:
        match waiting.pop():
            case Leaf() as leaf:
                found.append(leaf)
            case Not(child):
                waiting.append(child)
            case And(children) | Or(children):
                waiting.extend(reversed(children))
            case Everything():
                pass
    return found
