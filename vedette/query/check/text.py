"""Checks keywords, hosts, accounts, hashes, texts and kinds (docs/query-values.md#keyword)."""

import re
from collections.abc import Iterable
from itertools import chain

import re2

from vedette.limits import Limit
from vedette.model.field import Field
from vedette.model.fields import BLOCK_STATUSES, CROSS_CODES
from vedette.model.tokens import fold, pattern_words
from vedette.query.check.glob import (
    index_words,
    is_any,
    is_wild,
    pattern,
    present,
    whole,
    without_outer_stars,
)
from vedette.query.parse.escape import unescape
from vedette.query.pattern import GAP, LETTER
from vedette.query.typed import NEVER, NumberTest, PresentTest, Test, Tests, TextTest

QUERY_WORDS_MAX: Limit[int] = 100
"""Maximum words of a value in a text field. The gap between two words is a class of all letters
too: no engine compiles the pattern of 500 words, and 40,000 words take minutes until the engine
gives up."""


_NO_SEPARATOR = r"[^\\]"
_NO_DOT = r"[^.]"
_HASH_CHARS = {"md5": 32, "sha1": 40, "sha256": 64}
_HASH = re.compile(r"[0-9a-f*?]+")


def keyword(field: Field, source: str) -> Tests:
    """Returns tests of the whole value."""
    value = fold(unescape(source))
    if is_any(value):
        return present(field.sources)
    return tuple(whole(column, "folded", value) for column in field.sources)


def hostname(field: Field, source: str) -> Tests:
    """Returns tests of the whole name, or of its first label, because sensors report hosts without
    their domain."""
    value = fold(unescape(source))
    if is_any(value):
        return present(field.sources)
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
    """Returns tests of `HOST|sensor id`, or of the host alone if the value has no bar
    (docs/query-objects.md#binaries)."""
    whole_column, host_column = field.sources
    value = fold(unescape(source))
    if is_any(value):
        return (PresentTest(whole_column),)
    if "|" in value:
        return (whole(whole_column, "folded", value),)
    return _host_tests(host_column, value)


def host_type(field: Field, source: str) -> Tests:
    """Returns keyword tests; an unknown value is read as `workstation`."""
    found = keyword(field, source)
    value = fold(unescape(source))
    if is_any(value) or _names_matching(value, ("workstation",)):
        return (*found, *(TextTest(name, "folded", "equals", "") for name in field.sources))
    return found


def account(field: Field, source: str) -> Tests:
    r"""Returns tests of the whole `DOMAIN\user`, or of the part after the last backslash."""
    value = fold(unescape(source))
    if is_any(value):
        return present(field.sources)
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
    """Returns tests of hashes; () for a value that no hash of this kind can match."""
    value = fold(unescape(source))
    if is_any(value):
        return present(field.sources)
    if not _HASH.fullmatch(value):
        return NEVER
    if not is_wild(value) and len(value) != _HASH_CHARS[field.type]:
        return NEVER
    return tuple(whole(column, "exact", value) for column in field.sources)


def alert_id(field: Field, source: str) -> Tests:
    """Returns tests of an id that is stored in lower case, so that the primary key can be used."""
    value = fold(unescape(source))
    if is_any(value):
        return present(field.sources)
    return tuple(whole(column, "exact", value) for column in field.sources)


def text(field: Field, source: str) -> Tests:
    """Returns tests for the value's words in order. A value without a word matches nothing. Raises
    ValueError beyond `QUERY_WORDS_MAX`."""
    given = pattern_words(unescape(source))
    if not given:
        return NEVER
    words = without_outer_stars(given)
    if not words:
        return present(field.sources)
    if len(words) > QUERY_WORDS_MAX:
        raise ValueError(f"takes at most {QUERY_WORDS_MAX} words")
    bodies = [
        LETTER + "+" if word == "*" else pattern(word, LETTER + "*", LETTER) for word in words
    ]
    needle = f"(?s)(?:^|{GAP}){f'{GAP}+'.join(bodies)}(?:{GAP}|$)"
    spaced = f" {' '.join(words)} "
    return tuple(
        TextTest(column, "folded", "matches", needle, index_words(column, spaced))
        for column in field.sources
    )


def _names_matching(value: str, names: Iterable[str]) -> list[str]:
    """Returns the names of a short fixed list that a folded value with wildcards matches as a
    whole."""
    if not is_wild(value):
        return [name for name in names if fold(name) == value]
    expression = re2.compile(f"(?s){pattern(value)}")
    return [name for name in names if expression.fullmatch(fold(name))]


def cross_type(field: Field, source: str) -> Tests:
    """Returns tests for names of kinds, ignoring `_` and case."""
    value = fold(unescape(source)).replace("_", "")
    if is_any(value):
        return tuple(NumberTest(name, 1, 255) for name in field.sources)
    codes = [CROSS_CODES[name] for name in _names_matching(value, CROSS_CODES)]
    return tuple(NumberTest(name, code, code) for name in field.sources for code in codes)


def block_status(field: Field, source: str) -> Tests:
    """Returns tests for the numbers of the matching result names."""
    matching = _names_matching(fold(unescape(source)), BLOCK_STATUSES)
    codes = [BLOCK_STATUSES.index(name) for name in matching]
    return tuple(NumberTest(name, code, code) for name in field.sources for code in codes)
