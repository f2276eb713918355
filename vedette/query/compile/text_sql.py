"""Tests of a text as ClickHouse expressions. All values are bound.

Repeats the normal forms of `model/tokens.py` in SQL; a property test compares both. Tests of a text
in one form are combined into one pass: equal values into a set, others into an RE2 alternation.
"""

from collections.abc import Sequence
from typing import assert_never

from vedette.limits import Limit
from vedette.model.indexes import FOLDED_SQL
from vedette.query.check.glob import literal
from vedette.query.compile.binder import Binder, either
from vedette.query.typed import Form, PresentTest, Shape, Test, TextTest

QUERY_ALTERNATIVES_MAX: Limit[int] = 100
"""Maximum patterns of an alternation, to keep RE2's automaton small."""

QUERY_ALTERNATION_CHARS_MAX: Limit[int] = 8_000
"""Maximum characters of an alternation, to keep RE2's automaton small."""

QUERY_LETTERS_CHARS: Limit[int] = 50
"""Size that a class of all letters counts for in an alternation. It takes 830 instructions in
UTF-8."""

QUERY_PLAIN_TESTS_MAX: Limit[int] = 3
"""Maximum separate comparisons of a form. More become one pattern, which reads each value once."""


def texts_sql(value: str, tests: Sequence[Test], bind: Binder) -> str:
    """Returns SQL that is true if any of the tests, of text or of presence, is true for a text."""
    by_form: dict[Form, list[TextTest]] = {}
    parts = []
    for test in tests:
        match test:
            case PresentTest():
                parts.append(f"{value} != ''")
            case TextTest():
                by_form.setdefault(test.form, []).append(test)
    for form, found in by_form.items():
        parts.extend(_comparisons(form_sql(form, value), found, bind))
    return either(parts)


def form_sql(form: Form, text: str) -> str:
    """Returns the SQL equivalent of `tokens.<form>_form`."""
    folded = FOLDED_SQL.format(text)
    match form:
        case "exact":
            return text
        case "folded":
            return folded
        case "account":
            return rf"concat('\\', {folded})"
        case "path":
            return _path_sql(folded)
        case "registry":
            found = _path_sql(folded)
            for number in ("001", "002"):
                old, new = rf"\\controlset{number}", r"\\currentcontrolset"
                found = f"replaceAll({found}, '{old}', '{new}')"
            return found
        case "domain":
            return f"concat('.', {form_sql('labels', text)})"
        case "labels":
            return f"trim(TRAILING '.' FROM {folded})"
        case "pieces":
            return rf"replaceAll({text}, '\x1c\x1f', '')"
    assert_never(form)


def _path_sql(folded: str) -> str:
    found = rf"concat('\\', replaceAll({folded}, '/', '\\'))"
    for _ in range(3):
        found = rf"replaceAll({found}, '\\\\', '\\')"
    return found


def _comparisons(text: str, tests: Sequence[TextTest], bind: Binder) -> list[str]:
    """Returns SQL of the tests of a text in one form."""
    equal = list(dict.fromkeys(test.needle for test in tests if test.shape == "equals"))
    others = list(
        dict.fromkeys((test.shape, test.needle) for test in tests if test.shape != "equals")
    )
    parts = []
    if len(equal) == 1:
        parts.append(f"{text} = {bind('String', equal[0])}")
    elif equal:
        parts.append(f"has({bind('Array(String)', equal)}, {text})")
    if len(others) <= QUERY_PLAIN_TESTS_MAX:
        return [*parts, *(_comparison(text, *other, bind) for other in others)]
    patterns = [_as_pattern(shape, needle) for shape, needle in others]
    return [*parts, *(f"match({text}, {bind('String', one)})" for one in _alternatives(patterns))]


def _comparison(text: str, shape: Shape, needle: str, bind: Binder) -> str:
    bound = bind("String", needle)
    match shape:
        case "equals":
            return f"{text} = {bound}"
        case "starts":
            return f"startsWith({text}, {bound})"
        case "ends":
            return f"endsWith({text}, {bound})"
        case "ends_after":
            return f"(endsWith({text}, {bound}) AND {text} != {bound})"
        case "contains":
            return f"position({text}, {bound}) > 0"
        case "matches":
            return f"match({text}, {bound})"
    assert_never(shape)


def _as_pattern(shape: Shape, needle: str) -> str:
    """Returns a test as an RE2 pattern for an unanchored search, without flags."""
    match shape:
        case "equals":
            return f"^{literal(needle)}$"
        case "starts":
            return f"^{literal(needle)}"
        case "ends":
            return f"{literal(needle)}$"
        case "ends_after":
            return f".{literal(needle)}$"
        case "contains":
            return literal(needle)
        case "matches":
            return needle.removeprefix("(?s)")
    assert_never(shape)


def _alternatives(patterns: Sequence[str]) -> list[str]:
    """Batches patterns into alternations of bounded size."""
    found: list[str] = []
    batch: list[str] = []
    chars = 0
    for pattern in patterns:
        size = len(pattern) + QUERY_LETTERS_CHARS * pattern.count(r"\p{L}")
        too_large = chars + size > QUERY_ALTERNATION_CHARS_MAX
        if batch and (too_large or len(batch) == QUERY_ALTERNATIVES_MAX):
            found.append(f"(?s)(?:{'|'.join(batch)})")
            batch, chars = [], 0
        batch.append(pattern)
        chars += size
    return [*found, f"(?s)(?:{'|'.join(batch)})"]
