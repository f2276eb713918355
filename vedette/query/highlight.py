r"""RE2 patterns that mark matches in the values of results
(docs/query-language.md#one-segment-at-a-time, highlights). The
first group of a pattern is the part to mark; `mark.py` applies them.

Highlighting is by text, not by field: `process_name:notepad.exe` also marks the end of a path. A
leaf that is not negated and has a text value is tried in all default fields, each by the rule of
its type. A leaf with a field is tried in that field and in metadata only, because reading other
kinds of events costs more than a mark is worth. Numbers, dates, addresses, ranges, `*`, joins and
exact filters mark nothing.

The rules are those of `query/check` on text as stored: any run of separators, any case. A
value that matches only by Unicode folding (`ß` for `ss`) is found and not marked.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from vedette.limits import HIGHLIGHT_LEAVES_MAX, HIGHLIGHT_PATTERN_CHARS_MAX
from vedette.model.field import Catalogue, Field, FieldType
from vedette.model.fields import PROCESS, WRITTEN
from vedette.model.tokens import cmdline_pieces, fold, pattern_words
from vedette.query.check.glob import is_any, is_wild, pattern
from vedette.query.check.hives import hive_paths
from vedette.query.compile.document import SEGMENT, Document
from vedette.query.nodes import And, Everything, Leaf, Not, Or, Text, Tree
from vedette.query.parse.escape import unescape
from vedette.query.pattern import GAP, LETTER


@dataclass(frozen=True, slots=True)
class Marker:
    """A column, and an RE2 pattern whose first group is marked in its values."""

    column: str
    pattern: str


Patterns = tuple[str, ...]
Rule = Callable[[str], Patterns]
"""From a value as written to patterns."""

_SEPARATOR = r"[\\/]"
_IN_NAME = r"[^\\/]"
_CUT = r"""\s\\"'()\[\]{},=<>&|;"""
"""Separators of a command line, as the inside of a character class."""

_PIECE = rf"[^{_CUT}:/]"
_HASH = re.compile(r"[0-9a-f*?]+")
_ROOTED = re.compile(r"(?:[a-z]:)?[\\/]|[a-z]:$", re.IGNORECASE)


def markers(
    tree: Tree, catalogue: Catalogue = PROCESS, *, document: Document = SEGMENT
) -> list[Marker]:
    """The distinct markers of the leaves that are not negated."""
    found: dict[Marker, None] = {}
    for leaf in _positive(tree, is_negated=False)[:HIGHLIGHT_LEAVES_MAX]:
        # "" would match the empty text, "*" every text: neither marks anything.
        if isinstance(leaf.value, Text) and unescape(leaf.value.source).strip("*"):
            marks = _of_leaf(leaf, leaf.value.source, catalogue, document.lists)
            found.update(dict.fromkeys(marks))
    return list(found)


def _positive(tree: Tree, *, is_negated: bool) -> list[Leaf]:
    match tree:
        case Leaf():
            return [] if is_negated else [tree]
        case Not(child):
            return _positive(child, is_negated=not is_negated)
        case And(children) | Or(children):
            return [leaf for one in children for leaf in _positive(one, is_negated=is_negated)]
        case Everything():
            return []


def _of_leaf(
    leaf: Leaf, source: str, catalogue: Catalogue, lists: frozenset[str]
) -> Iterator[Marker]:
    own = catalogue.find(leaf.field) if leaf.field is not None else None
    if leaf.field is not None and (own is None or own.type not in RULES or own.kind != "column"):
        return
    for field in dict.fromkeys([*catalogue.defaults, *([own] if own is not None else [])]):
        rule = RULES.get(field.type)
        if rule is None or field.kind != "column":
            continue
        for column in _columns(field):
            if own in (None, field) or column not in lists:
                yield from _marks(column, _rule_of(field, column, rule)(source))


def _marks(column: str, patterns: Patterns) -> Iterator[Marker]:
    for one in patterns:
        if len(one) <= HIGHLIGHT_PATTERN_CHARS_MAX:
            yield Marker(column, f"(?is){one}")


def _columns(field: Field) -> tuple[str, ...]:
    return tuple(WRITTEN.get(one, one) for one in field.sources or field.paths)


def _rule_of(field: Field, column: str, rule: Rule) -> Rule:
    """The rule of a field, adapted for names that are the last parts of paths."""
    return _last_part if field.type == "name" and column in field.paths else rule


def _whole(source: str) -> Patterns:
    return (rf"^({pattern(fold(unescape(source)))})$",)


def _account(source: str) -> Patterns:
    value = pattern(fold(unescape(source)))
    return (rf"^({value})$", rf"\\({value})$")


def _hexadecimal(source: str) -> Patterns:
    value = fold(unescape(source))
    return (rf"^({pattern(value)})$",) if _HASH.fullmatch(value) else ()


def _name(source: str) -> Patterns:
    value = _stripped(fold(unescape(source)))
    if not value.strip("*") or re.search(_SEPARATOR, value):
        return ()
    return (f"^({pattern(value)})$",)


def _last_part(source: str) -> Patterns:
    value = _stripped(fold(unescape(source)))
    if re.search(_SEPARATOR, value):
        return _path(source)
    if not value.strip("*"):
        return ()
    return (f"(?:^|{_SEPARATOR})({pattern(value, _IN_NAME + '*', _IN_NAME)})$",)


def _stripped(value: str) -> str:
    """A path or name without leading separators."""
    return value.removeprefix(":").lstrip("\\/")


def _path(source: str) -> Patterns:
    readings = dict.fromkeys((unescape(source), source))
    return tuple(one for reading in readings for one in _path_reading(reading))


def _path_reading(reading: str) -> Patterns:
    value = _stripped(fold(reading))
    is_open = value.endswith(("\\", "/"))
    value = value.rstrip("\\/") if is_open else value
    if not value.strip("*"):
        return ()
    body = _parts(value)
    if is_open:
        return (f"(?:^|{_SEPARATOR})({body}{_SEPARATOR}.*)$",)
    if value[0] in ".?" and not re.search(_SEPARATOR, value):
        rest = pattern(value[1:], _IN_NAME + "*", _IN_NAME)
        return (rf"(?:^|{_SEPARATOR})({body})$", rf"{_IN_NAME}(\.{rest})$")
    found = [f"(?:^|{_SEPARATOR})({body})$"]
    if _ROOTED.match(reading) and not is_wild(value):
        found.append(f"^{_SEPARATOR}*({body}){_SEPARATOR}")
    return tuple(found)


def _parts(value: str) -> str:
    """Pattern of a path in which any run of separators matches one."""
    parts = [part for part in re.split(_SEPARATOR + "+", value) if part]
    bodies = [
        "(?:currentcontrolset|controlset00[12])"
        if re.fullmatch("currentcontrolset|controlset00[12]", part)
        else pattern(part)
        for part in parts
    ]
    return f"{_SEPARATOR}+".join(bodies)


def _cmdline(source: str) -> Patterns:
    """Pieces in order. A `/` begins a piece after a separator, and separates pieces elsewhere."""
    pieces = cmdline_pieces(unescape(source))
    while pieces and is_any(pieces[0]):
        del pieces[0]
    while pieces and is_any(pieces[-1]):
        del pieces[-1]
    if not pieces:
        return ()
    if pieces[-1] == "/":
        pieces[-1] = "/*"
    begin = rf"(?:^/?|[{_CUT}:]|[^{_CUT}]/)"
    if pieces[0][0] == "." and len(pieces[0]) > 1:
        begin = f"(?:{begin}|{_PIECE})"
    elif pieces[0] == "/":
        begin = rf"(?:^|[{_CUT}:])"
    elif pieces[0][0] == "/":
        begin = rf"(?:^|[{_CUT}])/?"
    body = _piece(pieces[0])
    for before, piece in pairwise(pieces):
        gap = "*" if before[-1] == ":" or piece[0] == "/" else "+"
        body += rf"[{_CUT}:/]{gap}{_piece(piece)}"
    end = "" if pieces[-1][-1] == ":" else rf"(?:$|[{_CUT}:/])"
    return (f"{begin}({body}){end}",)


def _piece(piece: str) -> str:
    extension = f"{_PIECE}*" if piece[0] == "." and len(piece) > 1 else ""
    return extension + pattern(piece, _PIECE + "*", _PIECE)


def _text(source: str) -> Patterns:
    words = [word for word in pattern_words(unescape(source)) if not is_any(word)]
    if not words:
        return ()
    body = f"{GAP}+".join(pattern(word, LETTER + "*", LETTER) for word in words)
    return (f"(?:^|{GAP})({body})(?:$|{GAP})",)


def _domain(source: str) -> Patterns:
    value = fold(unescape(source))
    core = value.strip(".")
    if not core.strip("*"):
        return ()
    body = pattern(core)
    begins, ends = value.startswith("."), value.endswith(".")
    if ends:
        return (rf"\.({body})\." if begins else rf"^({body})(?:\.|$)",)
    is_label = "." not in core and not is_wild(core)
    end = r"(?:$|\.)" if is_label and not begins else r"\.*$"
    return (rf"(?:^|\.)({body}){end}",)


def _hostname(source: str) -> Patterns:
    value = fold(unescape(source))
    whole = rf"^({pattern(value)})$"
    if "." in value:
        return (whole,)
    return whole, rf"^({pattern(value, '[^.]*', '[^.]')})\."


def _registry(source: str) -> Patterns:
    readings = dict.fromkeys((unescape(source), source))
    return (*_path(source), *(one for reading in readings for one in _hives(reading)))


def _hives(reading: str) -> Iterator[str]:
    value = re.sub(_SEPARATOR + "+", r"\\", _stripped(fold(reading)))
    for path in hive_paths(value + "*" if value.endswith("\\") else value):
        root = _parts(path.root)
        user = f"{_SEPARATOR}{_IN_NAME}+" if path.has_user else ""
        yield f"^{_SEPARATOR}({root}{user}{_rest(path.rest)})$"


def _rest(rest: str) -> str:
    """What follows a hive: parts behind separators, or the end of a name."""
    name, separator, below = rest.partition("\\")
    found = pattern(name)
    return f"{found}{_SEPARATOR}+{_parts(below)}" if separator and below else found


RULES: Mapping[FieldType, Rule] = MappingProxyType(
    {
        "keyword": _whole,
        "host_type": _whole,
        "sign": _whole,
        "name": _name,
        "path": _path,
        "registry": _registry,
        "cmdline": _cmdline,
        "text": _text,
        "domain": _domain,
        "hostname": _hostname,
        "account": _account,
        "md5": _hexadecimal,
        "sha1": _hexadecimal,
        "sha256": _hexadecimal,
    }
)
"""The rule of each type that is marked."""
