"""Checks values of command lines (docs/query-values.md#cmdline)."""

import re

from vedette.model.field import Field
from vedette.model.indexes import INDEX_OF
from vedette.model.tokens import UNIT, cmdline_pieces
from vedette.query.check.glob import is_any, is_wild, pattern, present, without_outer_stars
from vedette.query.parse.escape import unescape
from vedette.query.typed import NEVER, Test, Tests, TextTest

_PIECE_CHAR = r"[^\x1f\x1c]"
_MARK = r"(?:\x1c\x1f)?"
_BEGINS_AT_SLASH = re.compile(r"\*+/(?!/)")
_ENDS_AT_COLON = re.compile(r":\*+$")
CMDLINE_TOKENS = {"cmdline": "cmdline_tokens", "parent_cmdline": "parent_cmdline_tokens"}
"""Maps a command line column to the column with its tokens."""


def cmdline(field: Field, source: str) -> Tests:
    """Returns tests for the value's pieces in order. A value without a piece matches nothing."""
    value = unescape(source)
    given = cmdline_pieces(value)
    if not given:
        return NEVER
    pieces = without_outer_stars(given)
    if not pieces:
        return present(field.sources)
    if pieces[-1] == "/":  # a trailing slash may be the start of a switch
        pieces[-1] = "/*"
    found: list[Test] = []
    for column in field.sources:
        for variant in _variants(value, pieces):
            found.extend(_piece_tests(CMDLINE_TOKENS[column], variant))
    return tuple(found)


def _variants(value: str, pieces: list[str]) -> list[list[str]]:
    """Returns the pieces, plus alternatives where a star adjoins a character that sometimes belongs
    to a piece and sometimes separates pieces: the slash of `*/user*` may start a switch, the colon
    of `*c:*` may be the last character of a piece."""
    found = [pieces]
    if _BEGINS_AT_SLASH.match(value) and pieces[0][0] not in "/*":
        found.append(["/" + pieces[0], *pieces[1:]])
    if _ENDS_AT_COLON.search(value) and pieces[-1][-1] not in ":*":
        found += [[*variant[:-1], variant[-1] + ":"] for variant in found]
    return found


def _piece_tests(column: str, pieces: list[str]) -> list[TextTest]:
    """Returns tests for the pieces at any position, including the alias of a command line's first
    piece and the forms of a slash at the start of the value."""
    tokens = _piece_tokens(column, pieces)
    needle = _plain_needle(pieces)
    if needle is not None:
        found = [TextTest(column, "pieces", "contains", needle, tokens)]
    else:
        found = [TextTest(column, "exact", "matches", _pieces_pattern(pieces), tokens)]
    needle = _after_slash(pieces)
    if needle is not None:
        found.append(TextTest(column, "exact", "matches", needle, tokens))
    return found


def _after_slash(pieces: list[str]) -> str | None:
    """Returns the pattern of pieces whose leading slash is stored separately from the first piece:
    `/bin` as alias of the first piece of a command line, `/x` as the end of `//x`, and `//x` as the
    end of `http://x`."""
    if pieces[0] == "/":
        return r"\x1c" + _pieces_pattern(pieces[1:], is_first=True)
    aliased = pieces[0].lstrip("*")
    if len(aliased) < 2 or aliased[0] not in "/?":
        return None
    start = r"(?:^|\x1f)/" if pieces[0][0] == "/" else "^/"
    return start + _pieces_pattern([aliased[1:], *pieces[1:]], is_first=True)


def _plain_needle(pieces: list[str]) -> str | None:
    """Returns the pieces as a plain substring of the stored text. None if a substring search is not
    equivalent: with an inner wildcard, a colon that may be an alias, or an extension except at the
    start."""
    joined = UNIT.join(pieces)
    core = joined.strip("*")
    if is_wild(core) or any(_asks_colon(piece) for piece in pieces):
        return None
    if any(piece[0] == "." for piece in pieces[1:]):
        return None
    opening = "" if joined[0] in "*." else UNIT
    closing = "" if joined[-1] == "*" else UNIT
    return f"{opening}{core}{closing}"


def _asks_colon(piece: str) -> bool:
    return len(piece) > 1 and piece.rstrip("*").endswith(":")


def _pieces_pattern(pieces: list[str], *, is_first: bool = False) -> str:
    """Returns a pattern of the pieces for the stored text, which contains marks of inner colons."""
    bodies = []
    for number, piece in enumerate(pieces):
        has_extension = not (is_first and number == 0)
        bodies.append(_piece_pattern(piece, has_extension))
    return r"\x1f" + "".join(bodies)


def _piece_pattern(piece: str, has_extension: bool) -> str:
    if is_any(piece):
        return rf"{_PIECE_CHAR}+\x1f{_MARK}"
    core = piece.rstrip("*")
    if _asks_colon(piece):  # a colon ends a piece or its alias
        body = _piece_body(core[:-1], has_extension)
        return rf"{body}(?:\x3a\x1f|\x1f\x1c\x1f)"
    body = _piece_body(piece, has_extension)
    if len(core) > 1 and core.endswith("?"):  # `?` also matches the colon of an alias
        return rf"(?:{body}\x1f{_MARK}|{_piece_body(core[:-1], has_extension)}\x1f\x1c\x1f)"
    return rf"{body}\x1f{_MARK}"


def _piece_body(value: str, has_extension: bool) -> str:
    body = pattern(value, _PIECE_CHAR + "*", _PIECE_CHAR)
    if has_extension and value[0] == ".":
        return f"{_PIECE_CHAR}*{body}"
    if has_extension and value[0] == "?":
        rest = pattern(value[1:], _PIECE_CHAR + "*", _PIECE_CHAR)
        return rf"(?:{_PIECE_CHAR}+\.{rest}|{body})"
    return body


def _piece_tokens(column: str, pieces: list[str]) -> tuple[str, ...]:
    """Returns the pieces that are stored unchanged: without wildcard, alias and extension."""
    if INDEX_OF.get(column) != "pieces":
        return ()
    return tuple(
        dict.fromkeys(
            piece
            for number, piece in enumerate(pieces)
            if not is_wild(piece)
            and not _asks_colon(piece)
            and piece[0] != "."
            and not (number == 0 and piece[0] == "/")
        )
    )
