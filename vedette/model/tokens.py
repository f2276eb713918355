r"""Tokenization of texts by field type, before comparison (docs/query-values.md#text).

Pure functions that fold, query compiler and matcher share, so that the three agree. A *form* is a
stored text prepared for plain comparisons ("ends with", "contains"). SQL has the same forms
(`query/compile/text_sql.py`); a test compares both.

`cmdline_tokens` is a form that is computed once, at ingest, and stored:

    "\x1f" piece "\x1f" piece ... "\x1f"      "" when there is no piece
    a leading "/"        the first chunk began with "/": its first piece has the alias "/piece"
    a piece "\x1c"       after a piece that an inner colon followed: alias "piece:"

Extension tokens (`.exe`) are not stored: they are the ends of pieces.
"""

import re

from vedette.model.memoize import memoize

UNIT = "\x1f"
"""Separator around every piece of a stored command line."""

COLON = "\x1c"
"""A piece of its own. The preceding piece was followed by a colon inside its chunk."""

SHAPE_WORD = "[a-z]*[0-9][0-9a-z-]*"
"""RE2, on the lower-case command line: words that have a digit, which are numbers, ids and most
encoded texts. What follows a dash belongs to the word, because parts of ids may have no digit. One
simple pattern takes half a microsecond; one for each kind of id takes four times as long."""

SHAPE_WORD_SHOWN = "<n>"
"""Such a word in the shape of a command line. Lines of one shape are alike."""

_SEPARATORS = str.maketrans(dict.fromkeys("\\\"'()[]{},=<>&|;", " "))
_WORD = re.compile(r"\w+")
_PATTERN_WORD = re.compile(r"[\w*?]+")
_INDEX_WORD = re.compile(r"[0-9a-z]+")
_INDEX_LETTER = re.compile(r"[0-9a-z]")


def fold(text: str) -> str:
    """Returns the Unicode casefold of a text, for case-insensitive comparison."""
    return text.casefold()


def _pieces_of_chunk(chunk: str, *, is_path: bool) -> list[tuple[str, bool]]:
    """Applies steps 3 and 4 to one chunk. Returns pieces, each with whether an inner colon followed
    it."""
    body = chunk.rstrip(":")
    keeps_colon = len(chunk) - len(body) == 1
    is_switch = body.startswith("/") and not is_path
    pieces: list[tuple[str, bool]] = []
    parts = body[1:].split(":") if is_switch else body.split(":")
    last = len(parts) - 1
    for number, part in enumerate(parts):
        segments = part.split("/")
        if is_switch and number == 0:
            segments[0] = "/" + segments[0]
        found = [segment for segment in segments if segment]
        pieces.extend((segment, False) for segment in found[:-1])
        if found:
            pieces.append((found[-1], number < last))
    if keeps_colon and pieces:
        pieces[-1] = (pieces[-1][0] + ":", False)
    return pieces


@memoize(8_192)
def cmdline_tokens(cmdline: str) -> str:
    """Returns the stored form of a command line (docs/query-values.md#cmdline steps 1-6). Cached,
    because most command lines repeat: as `parent_cmdline` of children, and on every host."""
    chunks = cmdline.casefold().translate(_SEPARATORS).split()
    pieces: list[str] = []
    alias = ""
    for number, chunk in enumerate(chunks):
        if ":" not in chunk and "/" not in chunk:
            pieces.append(chunk)
            continue
        cut = _pieces_of_chunk(chunk, is_path=number == 0)
        if number == 0 and cut and chunk[0] == "/":
            alias = "/"
        for piece, has_colon in cut:
            pieces.append(piece)
            if has_colon:
                pieces.append(COLON)
    return f"{alias}{UNIT}{UNIT.join(pieces)}{UNIT}" if pieces else ""


def cmdline_pieces(value: str) -> list[str]:
    """Returns the pieces of a query value: steps 1-5, a leading slash always a switch, `*` and `?`
    kept."""
    return [
        piece
        for chunk in value.casefold().translate(_SEPARATORS).split()
        for piece, _ in _pieces_of_chunk(chunk, is_path=False)
    ]


def words_form(stored: str) -> str:
    """Returns a stored command line without the marks of inner colons."""
    return stored.replace(COLON + UNIT, "")


def path_form(path: str) -> str:
    r"""Returns `\` and the folded path, with single `\` as separators. Every suffix token of the
    path (docs/query-values.md#path) follows a `\`; the longest is the whole path."""
    text = "\\" + path.casefold().replace("/", "\\")
    for _ in range(3):  # collapses runs of up to eight separators, like the SQL form
        text = text.replace("\\\\", "\\")
    return text


def registry_form(path: str) -> str:
    """Returns `path_form` with numbered control sets replaced by the current control set."""
    text = path_form(path)
    for number in ("001", "002"):
        text = text.replace("\\controlset" + number, "\\currentcontrolset")
    return text


def account_form(username: str) -> str:
    r"""Returns `\` and the folded name. The whole name and the part after its last `\` each follow
    a `\`."""
    return "\\" + username.casefold()


def domain_form(name: str) -> str:
    """Returns `.` and the folded name without final dots. Every suffix of labels follows a dot."""
    return "." + name.casefold().rstrip(".")


def text_words(value: str) -> list[str]:
    """Returns the words of a text (docs/query-values.md#text): runs of letters, digits and `_`,
    folded."""
    return _WORD.findall(value.casefold())


def pattern_words(value: str) -> list[str]:
    """Returns the words of a query value for a text field. `*` and `?` stay in their words."""
    return _PATTERN_WORD.findall(value.casefold())


def whole_index_words(run: str) -> tuple[str, ...]:
    """Returns the words of a folded text that a `words` index certainly contains if the text
    occurs.

    A word at either end of `run` may continue outside it and is left out. Put a space at an end of
    `run` where it is known to begin or end.
    """
    found = _INDEX_WORD.findall(run)
    if found and _INDEX_LETTER.match(run[0]):
        found = found[1:]
    if found and _INDEX_LETTER.match(run[-1]):
        found = found[:-1]
    return tuple(found)
