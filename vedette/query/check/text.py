"""Meaning of text values, type by type (query-language 3.1-3.7): value to tests."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import re2

from vedette.model.field import Field
from vedette.model.fields import BLOCK_STATUSES, CROSS_CODES
from vedette.model.indexes import INDEX_OF
from vedette.model.tokens import UNIT, cmdline_pieces, fold, pattern_words
from vedette.query.check.glob import index_words, is_any, is_wild, literal, pattern, suffix, whole
from vedette.query.check.hives import hive_paths
from vedette.query.parse.escape import unescape
from vedette.query.typed import NEVER, Form, NumberTest, PresentTest, Test, TextTest

Tests = tuple[Test, ...]

_ROOTED = re.compile(r"[a-z]:(?:\\|$)")
_RUN = re.compile(r"\\{2,}")
_CONTROL_SET = re.compile(r"\\controlset00[12]")
_CONTROL_SET_WORDS = frozenset({"currentcontrolset", "controlset001", "controlset002"})
_NO_SEPARATOR = r"[^\\]"
_NO_DOT = r"[^.]"
_HASH_CHARS = {"md5": 32, "sha1": 40, "sha256": 64}
_HASH = re.compile(r"[0-9a-f*?]+")
_WORD_CHAR = r"[\p{L}\p{N}_]"
_GAP = r"[^\p{L}\p{N}_]"
_PIECE_CHAR = r"[^\x1f\x1c]"
_MARK = r"(?:\x1c\x1f)?"
CMDLINE_TOKENS = {"cmdline": "cmdline_tokens", "parent_cmdline": "parent_cmdline_tokens"}


def _present(columns: Iterable[str]) -> Tests:
    return tuple(PresentTest(column) for column in columns)


def keyword(field: Field, source: str) -> Tests:
    """3.1: the whole value."""
    value = fold(unescape(source))
    if is_any(value):
        return _present(field.sources)
    return tuple(whole(column, "folded", value) for column in field.sources)


def hostname(field: Field, source: str) -> Tests:
    """The whole name, or its first label: sensors name hosts without their domain."""
    value = fold(unescape(source))
    if is_any(value):
        return _present(field.sources)
    return tuple(chain.from_iterable(_host_tests(column, value) for column in field.sources))


def _host_tests(column: str, value: str) -> Tests:
    found = whole(column, "folded", value)
    tokens = index_words(column, f" {value}.")
    if "." in value or value.endswith("*"):
        return (found,)
    if not is_wild(value):
        return found, TextTest(column, "folded", "starts", f"{value}.", tokens)
    label = pattern(value, _NO_DOT + "*", _NO_DOT)
    return found, TextTest(column, "folded", "matches", rf"^{label}\.", tokens)


def endpoint(field: Field, source: str) -> Tests:
    """A keyword on `HOST|sensor id`; without the bar on the host (query-language 4.2)."""
    whole_column, host_column = field.sources
    value = fold(unescape(source))
    if is_any(value):
        return (PresentTest(whole_column),)
    if "|" in value:
        return (whole(whole_column, "folded", value),)
    return _host_tests(host_column, value)


def host_type(field: Field, source: str) -> Tests:
    """A keyword whose unknown value reads `workstation`."""
    found = keyword(field, source)
    value = fold(unescape(source))
    if is_any(value) or _names_matching(value, ("workstation",)):
        return (*found, *(TextTest(name, "folded", "equals", "") for name in field.sources))
    return found


def account(field: Field, source: str) -> Tests:
    r"""3.1: the whole `DOMAIN\user`, or what follows its last backslash."""
    value = fold(unescape(source))
    if is_any(value):
        return _present(field.sources)
    found: list[Test] = []
    for column in field.sources:
        if not is_wild(value):
            tokens = index_words(column, f"\\{value} ")
            found.append(TextTest(column, "account", "ends", "\\" + value, tokens))
            continue
        found.append(whole(column, "folded", value))
        body = pattern(value, _NO_SEPARATOR + "*", _NO_SEPARATOR)
        tokens = index_words(column, f"\\{value} ")
        found.append(TextTest(column, "account", "matches", rf"\\{body}$", tokens))
    return tuple(found)


def hexadecimal(field: Field, source: str) -> Tests:
    """3.2: hashes. A value that no hash of the kind can match has no tests."""
    value = fold(unescape(source))
    if is_any(value):
        return _present(field.sources)
    if not _HASH.fullmatch(value):
        return NEVER
    if not is_wild(value) and len(value) != _HASH_CHARS[field.type]:
        return NEVER
    return tuple(whole(column, "exact", value) for column in field.sources)


def text(field: Field, source: str) -> Tests:
    """3.3 and 3.6: words in order."""
    words = _without_outer_stars(pattern_words(unescape(source)))
    if not words:
        return _present(field.sources)
    bodies = [
        _WORD_CHAR + "+" if word == "*" else pattern(word, _WORD_CHAR + "*", _WORD_CHAR)
        for word in words
    ]
    needle = f"(?s)(?:^|{_GAP}){f'{_GAP}+'.join(bodies)}(?:{_GAP}|$)"
    spaced = f" {' '.join(words)} "
    return tuple(
        TextTest(column, "folded", "matches", needle, index_words(column, spaced))
        for column in field.sources
    )


def _without_outer_stars(words: list[str]) -> list[str]:
    first, last = 0, len(words)
    while first < last and is_any(words[first]):
        first += 1
    while last > first and is_any(words[last - 1]):
        last -= 1
    return words[first:last]


def path(field: Field, source: str) -> Tests:
    """3.4, in both readings of backslashes."""
    return path_in(field.sources, source, is_registry=field.type == "registry")


def path_in(columns: tuple[str, ...], source: str, *, is_registry: bool = False) -> Tests:
    """The path rule on the given columns."""
    readings = dict.fromkeys((unescape(source), source))
    found = (_path_reading(columns, reading, is_registry) for reading in readings)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _path_reading(columns: tuple[str, ...], reading: str, is_registry: bool) -> Tests:
    value = _RUN.sub(r"\\", fold(reading).replace("/", "\\"))
    is_rooted = reading.startswith("/") or _ROOTED.match(value) is not None
    if value.startswith(":\\"):
        value = value[1:]
    value = value.removeprefix("\\")
    if value.endswith("\\"):
        value += "*"
    if is_registry:
        value = _CONTROL_SET.sub(r"\\currentcontrolset", "\\" + value)[1:]
    if not value.strip("*"):
        return _present(columns)
    found: list[Test] = []
    for column in columns:
        found.extend(_path_tests(column, value, is_registry))
        if is_registry:
            found.extend(chain.from_iterable(_hive_tests(column, value)))
        if is_rooted and not is_registry and not is_wild(value):
            needle = f"\\{value}\\"
            found.append(TextTest(column, "path", "starts", needle, index_words(column, needle)))
    return tuple(found)


def _path_tests(column: str, value: str, is_registry: bool) -> list[TextTest]:
    form: Form = "registry" if is_registry else "path"
    if "\\" not in value and value[0] in ".?":
        found = _extension_tests(column, value, is_registry)
    else:
        found = [suffix(column, form, value, "\\")]
    if is_registry:
        return [_without_control_sets(test) for test in found]
    return found


def _hive_tests(column: str, value: str) -> Iterator[list[TextTest]]:
    for path in hive_paths(value):
        if not path.has_user:
            yield _path_tests(column, path.root + path.rest, is_registry=True)
            continue
        body = pattern(path.rest.rstrip("*"))
        end = "" if path.rest.endswith("*") else "$"
        needle = rf"(?s)^\\{literal(path.root)}\\{_NO_SEPARATOR}+{body}{end}"
        tokens = index_words(column, rf"\{path.root}\*{path.rest} ")
        yield [_without_control_sets(TextTest(column, "registry", "matches", needle, tokens))]


def _extension_tests(column: str, value: str, is_registry: bool) -> list[TextTest]:
    """A last part, or its extension from any dot after the first character."""
    form: Form = "registry" if is_registry else "path"
    if not is_wild(value):
        return [TextTest(column, form, "ends", value, index_words(column, value + " "))]
    # A `?` in the first place stands for the dot.
    body = literal(".") + pattern(value[1:], _NO_SEPARATOR + "*", _NO_SEPARATOR)
    needle = f"{_NO_SEPARATOR}{body}$"
    return [
        suffix(column, form, value, "\\"),
        TextTest(column, form, "matches", needle, index_words(column, "." + value[1:] + " ")),
    ]


def _without_control_sets(test: TextTest) -> TextTest:
    """The index holds the words as stored, not the made-equal ones."""
    kept = tuple(word for word in test.tokens if word not in _CONTROL_SET_WORDS)
    return TextTest(test.column, test.form, test.shape, test.needle, kept)


def name(field: Field, source: str) -> Tests:
    """3.1: the file name; a value that still holds a separator asks the full path."""
    value = fold(unescape(source)).replace("/", "\\")
    if value.startswith(":\\"):
        value = value[1:]
    value = value.lstrip("\\")
    if "\\" in value:
        return path_in(field.paths, source)
    if not value.strip("*"):
        return _present(field.sources or field.paths)
    if field.sources:
        return tuple(whole(column, "folded", value) for column in field.sources)
    return tuple(_last_part(column, value) for column in field.paths)


def _last_part(column: str, value: str) -> TextTest:
    tokens = index_words(column, f"\\{value} ")
    if not is_wild(value):
        return TextTest(column, "path", "ends", "\\" + value, tokens)
    body = pattern(value, _NO_SEPARATOR + "*", _NO_SEPARATOR)
    return TextTest(column, "path", "matches", rf"\\{body}$", tokens)


def domain(field: Field, source: str) -> Tests:
    """3.7: labels."""
    value = fold(unescape(source))
    core = value.strip(".")
    if not core:  # dots alone are no label
        return NEVER if value else _present(field.sources)
    if is_wild(core):
        return _wild_domain(field.sources, value, core)
    found = (_domain_tests(column, value, core) for column in field.sources)
    return tuple(chain.from_iterable(found))


def _wild_domain(columns: tuple[str, ...], value: str, core: str) -> Tests:
    """A pattern, at that place of the name which the dots around it say."""
    begins, ends = value.startswith("."), value.endswith(".")
    if not ends:  # `.x` and `x`: one of the suffixes of labels
        if is_any(core):
            return _present(columns)
        return tuple(suffix(column, "domain", core, ".") for column in columns)
    form: Form = "labels" if begins else "domain"
    after = r"\." if begins else r"(?:\.|$)"
    body = ".+" if is_any(core) else pattern(core)
    needle = rf"(?s){'' if begins else '^'}\.{body}{after}"
    return tuple(
        TextTest(column, form, "matches", needle, index_words(column, f".{core}."))
        for column in columns
    )


def _domain_tests(column: str, value: str, core: str) -> Tests:
    tokens = index_words(column, f" {core} ")
    at_end = TextTest(column, "domain", "ends", "." + core, tokens)
    match value.startswith("."), value.endswith("."):
        case True, True:
            return (TextTest(column, "labels", "contains", f".{core}.", tokens),)
        case True, False:
            return (at_end,)
        case False, True:
            return (
                TextTest(column, "domain", "starts", f".{core}.", tokens),
                TextTest(column, "domain", "equals", "." + core, tokens),
            )
    if "." in core:
        return (at_end,)
    return (at_end, TextTest(column, "domain", "contains", f".{core}.", tokens))


def cmdline(field: Field, source: str) -> Tests:
    """3.5 and 3.6: pieces in order."""
    pieces = _without_outer_stars(cmdline_pieces(unescape(source)))
    if not pieces:
        return _present(field.sources)
    if pieces[-1] == "/":  # where a value ends in one, a switch may begin
        pieces[-1] = "/*"
    found: list[Test] = []
    for column in field.sources:
        found.extend(_piece_tests(CMDLINE_TOKENS[column], pieces))
    return tuple(found)


def _piece_tests(column: str, pieces: list[str]) -> list[TextTest]:
    """The pieces anywhere, with the alias of the first piece of a command line, and with what
    may stand in front of a slash that the value begins with."""
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
    """The pieces where a slash is stored apart from the first one: `/bin` as the alias of the
    first piece of a command line, `/x` as the end of `//x`, and `//x` as that of `http://x`."""
    if pieces[0] == "/":
        return r"\x1c" + _pieces_pattern(pieces[1:], is_first=True)
    aliased = pieces[0].lstrip("*")
    if len(aliased) < 2 or aliased[0] not in "/?":
        return None
    start = r"(?:^|\x1f)/" if pieces[0][0] == "/" else "^/"
    return start + _pieces_pattern([aliased[1:], *pieces[1:]], is_first=True)


def _plain_needle(pieces: list[str]) -> str | None:
    """The pieces as one run of stored text, where that says it all: no inner wildcard, no
    colon that may be an alias, no extension but at the beginning."""
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
    """The pieces as a pattern on the stored text with its marks of inner colons."""
    bodies = []
    for number, piece in enumerate(pieces):
        has_extension = not (is_first and number == 0)
        bodies.append(_piece_pattern(piece, has_extension))
    return r"\x1f" + "".join(bodies)


def _piece_pattern(piece: str, has_extension: bool) -> str:
    if is_any(piece):
        return rf"{_PIECE_CHAR}+\x1f{_MARK}"
    core = piece.rstrip("*")
    if _asks_colon(piece):  # a colon is the last character of a piece, or of its alias
        body = _piece_body(core[:-1], has_extension)
        return rf"{body}(?:\x3a\x1f|\x1f\x1c\x1f)"
    body = _piece_body(piece, has_extension)
    if len(core) > 1 and core.endswith("?"):  # the colon of an alias is a character too
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
    """Pieces that are stored as they are: no wildcard, no alias, no extension."""
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


def _names_matching(value: str, names: Iterable[str]) -> list[str]:
    """Names of a short fixed list that a folded value with wildcards matches whole."""
    if not is_wild(value):
        return [name for name in names if fold(name) == value]
    expression = re2.compile(f"(?s){pattern(value)}")
    return [name for name in names if expression.fullmatch(fold(name))]


def cross_type(field: Field, source: str) -> Tests:
    """3.1: names of kinds, `_` and case aside."""
    value = fold(unescape(source)).replace("_", "")
    if is_any(value):
        return tuple(NumberTest(name, 1, 255) for name in field.sources)
    codes = [CROSS_CODES[name] for name in _names_matching(value, CROSS_CODES)]
    return tuple(NumberTest(name, code, code) for name in field.sources for code in codes)


def block_status(field: Field, source: str) -> Tests:
    """Names of results, as numbers."""
    matching = _names_matching(fold(unescape(source)), BLOCK_STATUSES)
    codes = [BLOCK_STATUSES.index(name) for name in matching]
    return tuple(NumberTest(name, code, code) for name in field.sources for code in codes)
