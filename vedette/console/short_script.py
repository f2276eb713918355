"""Scripts as they are served: no comments, no needless spaces and brackets, short local names.

A name is shortened wherever its module has it as a variable, and to one that the module has nowhere
else: so each still means what it meant, and no scope has to be known. Not shortened are properties,
what is imported or exported, and names that the browser has as well. Lines end where they ended
wherever a statement could, so that the place of an error can be found.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product
from string import ascii_letters
from typing import Final

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser, TreeCursor

OF_THE_BROWSER: Final = frozenset(
    {
        *("alert", "close", "document", "event", "fetch", "find", "focus", "history", "length"),
        *("location", "name", "navigation", "open", "opener", "origin", "parent", "performance"),
        *("print", "screen", "scroll", "self", "status", "stop", "top", "when", "window"),
    }
)
"""Names that are variables of some module and of every page, which other functions may mean."""

_DECLARED: Final = frozenset(
    {
        ("variable_declarator", "name"),
        ("function_declaration", "name"),
        ("class_declaration", "name"),
        ("arrow_function", "parameter"),
        ("formal_parameters", None),
        ("array_pattern", None),
        ("rest_pattern", None),
        ("pair_pattern", "value"),
        ("catch_clause", "parameter"),
        ("assignment_pattern", "left"),
        ("object_assignment_pattern", "left"),
        ("for_in_statement", "left"),
    }
)
"""Where a name is given, by the node around it and its part of that."""
_EXPORTED: Final = frozenset(
    {
        ("export_statement", "function_declaration"),
        ("export_statement", "class_declaration"),
        ("export_statement", "lexical_declaration", "variable_declarator"),
    }
)
_SHARED: Final = frozenset({"import_specifier", "export_specifier", "namespace_import"})
_NAMES: Final = frozenset(
    {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
)
_WHOLE: Final = frozenset({"string", "regex"})
_LISTS: Final = frozenset(
    {"arguments", "array", "formal_parameters", "named_imports", "object", "object_pattern"}
)
"""What may end with a comma that means nothing."""
_RESERVED: Final = frozenset({b"as", b"do", b"if", b"in", b"is", b"of"})
_WORD: Final = re.compile(rb"[\w$#\x80-\xff]")


@dataclass(frozen=True, slots=True)
class _Token:
    text: bytes
    node: Node
    is_content: bool
    """Of a template: what is before it belongs to the template too."""

    @property
    def is_shorthand(self) -> bool:
        return self.node.type.startswith("shorthand")


@dataclass(slots=True)
class _Script:
    source: bytes
    tokens: list[_Token] = field(default_factory=list)
    declared: set[bytes] = field(default_factory=set)
    fixed: set[bytes] = field(default_factory=lambda: {one.encode() for one in OF_THE_BROWSER})


def shortened(script: str) -> str:
    """The same script. ValueError for one that is none."""
    read = _read(script.encode())
    return _written(read, _short_names(read)).decode()


def short_names(script: str) -> Mapping[str, str]:
    """Which local names are shortened, and to what."""
    names = _short_names(_read(script.encode()))
    return {name.decode(): short.decode() for name, short in names.items()}


def _read(source: bytes) -> _Script:
    tree = Parser(Language(tree_sitter_javascript.language())).parse(source)
    if tree.root_node.has_error:
        raise ValueError("this is no script")
    read = _Script(source)
    _collect(read, tree.walk(), ("",))
    return read


def _collect(read: _Script, at: TreeCursor, around: tuple[str, ...]) -> None:
    node = at.node
    if node is None or node.type == "comment":
        return
    if node.type in _WHOLE or not at.goto_first_child():
        _note(read, node, at.field_name, around)
        return
    within, is_bare = (*around[-2:], node.type), _is_bare(node, around)
    begins_template, goes_on = node.type == "template_string", True
    while goes_on:
        if not (is_bare and at.node and at.node.type in "()"):
            _collect(read, at, ("", *within[:2]) if begins_template else within)
        begins_template = False
        goes_on = at.goto_next_sibling()
    at.goto_parent()


def _is_bare(node: Node, around: tuple[str, ...]) -> bool:
    """Whether these are the parameters of an arrow function that needs no brackets."""
    if node.type != "formal_parameters" or around[-1] != "arrow_function":
        return False
    return [one.type for one in node.named_children] == ["identifier"]


def _note(read: _Script, node: Node, part: str | None, around: tuple[str, ...]) -> None:
    text = read.source[node.start_byte : node.end_byte]
    is_content = node.type == "${" or around[-1] == "template_string"
    _drop_comma(read, text, around)
    read.tokens.append(_Token(text, node, is_content))
    if node.type == "shorthand_property_identifier_pattern" or (
        node.type == "identifier" and (around[-1], part) in _DECLARED
    ):
        read.declared.add(text)
    if around[-1] in _SHARED or (part == "name" and {around, around[-2:]} & _EXPORTED):
        read.fixed.add(text)


def _drop_comma(read: _Script, text: bytes, around: tuple[str, ...]) -> None:
    ends = text in (b")", b"]", b"}") and around[-1] in _LISTS and len(read.tokens) > 1
    if ends and read.tokens[-1].text == b"," != read.tokens[-2].text:
        read.tokens.pop()


def _short_names(read: _Script) -> Mapping[bytes, bytes]:
    """Those names that are worth it, the most frequent first."""
    names = [one for one in read.tokens if one.node.type in _NAMES]
    used = {one.text for one in read.tokens} | _RESERVED
    often = Counter(one.text for one in names)
    shorthand = Counter(one.text for one in names if one.is_shorthand)
    free, found = _free_names(used), dict[bytes, bytes]()
    for name, times in often.most_common():
        short_bytes = 1 if len(found) < len(ascii_letters) else 2
        saved = times * (len(name) - short_bytes) - shorthand[name] * (len(name) + 1)
        if name in read.declared - read.fixed and saved > 0:
            found[name] = next(free)
    return found


def _free_names(used: set[bytes]) -> Iterator[bytes]:
    for length in count(1):
        for letters in product(ascii_letters, repeat=length):
            name = "".join(letters).encode()
            if name not in used:
                yield name


def _written(read: _Script, names: Mapping[bytes, bytes]) -> bytes:
    made = bytearray()
    before: _Token | None = None
    for token in read.tokens:
        text = token.text
        if token.node.type in _NAMES and text in names:
            text = names[text] if not token.is_shorthand else text + b":" + names[text]
        if before is not None:
            made += _between(read.source, before, token, bytes(made[-1:]), text[:1])
        made += text
        before = token
    return bytes(made)


def _between(source: bytes, before: _Token, token: _Token, last: bytes, first: bytes) -> bytes:
    """What has to stand between two tokens, of which one ends and the other begins so."""
    gap = source[before.node.end_byte : token.node.start_byte]
    if token.is_content:
        return gap
    goes_on = last in b";{,([" or first in b")].?:;," or last == first == b"}"
    if b"\n" in gap and not goes_on:
        return b"\n"
    joins = last == first and first in b"+-" and gap
    return b" " if joins or (_WORD.match(last) and _WORD.match(first)) else b""
