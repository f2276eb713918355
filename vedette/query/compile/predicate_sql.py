r"""Tests of one column as ClickHouse expressions, with every value bound.

The normal forms of `model/tokens.py` are repeated here in SQL; a property test keeps both equal.
Tests of one text in one form are combined into one pass: equal values into a set, others into one
RE2 alternation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, assert_never

from vedette.model.fields import (
    DERIVED,
    JOINS,
    NOT_WRITTEN,
    OPERATION,
    WRITTEN,
    WRITTEN_JOIN,
)
from vedette.model.host import UTC_CLOCK
from vedette.model.indexes import FOLDED_SQL
from vedette.query.check.glob import literal
from vedette.query.compile.binary_sql import hashes_sql
from vedette.query.compile.document import BINARY, Document
from vedette.query.compile.prefilter import Substring, prefilter_substrings
from vedette.query.typed import (
    NUMBER_MAX,
    AddressTest,
    Form,
    JoinTest,
    NumberTest,
    PresentTest,
    Shape,
    Test,
    TextTest,
    TimeTest,
    source_of,
)

_ALTERNATIVES_MAX = 100
_ALTERNATION_CHARS_MAX = 8_000
"""Patterns and characters of one alternation, so that RE2's automaton stays small."""

_PLAIN_TESTS_MAX = 3
"""Comparisons of one form that stay single; more become one pattern."""

_ADDRESSES_MAX: Final = 8

RARE_HASHES_MAX: Final = 16
"""Hashes of a join up to which the indexes of hash arrays are used as a prefilter."""

LOCAL_START: Final = f"addMinutes(start, if(host_clock = 0, 0, toInt32(host_clock) - {UTC_CLOCK}))"
"""SQL: start time in the host's local time."""

DERIVED_SQL: dict[str, tuple[str, str]] = {
    "destination_port": (
        "arrayExists((o, r, l) -> {}, netconn_outbound, netconn_remote_port, netconn_local_port)",
        "if(o = 1, r, l)",
    ),
    "cross_code": (
        "arrayExists((k, t) -> {}, crossproc_kind, crossproc_is_target)",
        "2 * k + t",
    ),
    "start_hour": ("{}", f"if(toUnixTimestamp64Micro(start) > 0, toHour({LOCAL_START}), 255)"),
    "start_weekday": (
        "{}",
        f"if(toUnixTimestamp64Micro(start) > 0, toDayOfWeek({LOCAL_START}, 2), 255)",
    ),
}
"""SQL of the numbers of `fields.DERIVED`: the expression around a condition, and the number."""


class Binder:
    """Collects the bound values of one statement; parameters are `<prefix>0`, `<prefix>1` ..."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.params: dict[str, Any] = {}

    def __call__(self, kind: str, value: Any) -> str:
        """Bind a value of a ClickHouse type; returns its placeholder."""
        name = f"{self.prefix}{len(self.params)}"
        self.params[name] = value
        return f"{{{name}:{kind}}}"


def either(parts: Iterable[str]) -> str:
    """OR of distinct expressions, in brackets where there are several."""
    found = list(dict.fromkeys(parts))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def is_whole(test: Test) -> bool:
    """Whether the test compares the whole stored value, as an index of values can answer."""
    return isinstance(test, TextTest) and test.shape == "equals" and test.form == "exact"


def few_addresses(tests: Iterable[Test]) -> list[str]:
    """The addresses when the tests are `_ADDRESSES_MAX` single addresses at most, else []: a bloom
    filter is probed for each of them in every granule."""
    found: dict[str, None] = {}
    for test in tests:
        if not isinstance(test, AddressTest) or test.low != test.high:
            return []
        found[_colons(test.low)] = None
    return list(found) if len(found) <= _ADDRESSES_MAX else []


def by_source(tests: Iterable[Test]) -> list[tuple[str, list[Test]]]:
    """Tests grouped by source, so that each column is read once."""
    found: dict[str, list[Test]] = {}
    for test in tests:
        found.setdefault(source_of(test), []).append(test)
    return list(found.items())


def asked_columns(source: str) -> frozenset[str]:
    """The columns behind a source."""
    of_clock = {"host_clock"} if source in ("start_hour", "start_weekday") else ()
    return frozenset((*DERIVED.get(source, (source,)), *of_clock))


def tests_sql(source: str, tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """SQL: one of the tests of a source is true of the row."""
    if source in JOINS:
        return _joined(source, tests, bind, document)
    if source in WRITTEN:
        return _written(WRITTEN[source], tests, bind)
    if source in DERIVED_SQL:
        outer, number = DERIVED_SQL[source]
        return outer.format(_numbers(number, tests, bind))
    if source not in document.lists:
        exact, shown = _element(f"`{source}`", tests, bind), prefilter_substrings(tests)
        return (
            exact
            if shown is None
            else f"({_has_substring(f'`{source}`', shown, bind)} AND {exact})"
        )
    addresses = few_addresses(tests)
    if addresses:
        return _has(source, "IPv6", addresses, bind)
    values = [test.needle for test in tests if isinstance(test, TextTest) and is_whole(test)]
    others = [test for test in tests if not is_whole(test)]
    parts = [_has(source, "String", list(dict.fromkeys(values)), bind)] if values else []
    if others:
        values_sql = _prefiltered(source, others, bind)
        parts.append(f"arrayExists(x -> {_element('x', others, bind)}, {values_sql})")
    return either(parts)


def _written(column: str, tests: Sequence[Test], bind: Binder) -> str:
    """One of the tests is true of a hash of a file that was not deleted. Whole hashes are
    prefiltered by the index of the column."""
    found = f"arrayExists((x, o) -> {_is_written('o')} AND {_element('x', tests, bind)}, "
    found += f"`{column}`, `{OPERATION}`)"
    if not all(map(is_whole, tests)):
        return found
    values = dict.fromkeys(test.needle for test in tests if isinstance(test, TextTest))
    return f"({_has(column, 'String', list(values), bind)} AND {found})"


def _is_written(operation: str) -> str:
    return f"{operation} != {NOT_WRITTEN:d}"


def _prefiltered(source: str, tests: Sequence[Test], bind: Binder) -> str:
    """SQL: the array, prefiltered by substrings that every match shows."""
    shown = prefilter_substrings(tests)
    if shown is None:
        return f"`{source}`"
    return f"arrayFilter(x -> {_has_substring('x', shown, bind)}, `{source}`)"


def _has_substring(value: str, shown: Sequence[Substring], bind: Binder) -> str:
    """SQL: the value has one of the substrings, or is not ASCII."""
    return either(
        [f"NOT isASCII({value})", *(_substring_sql(value, trait, bind) for trait in shown)]
    )


def _substring_sql(value: str, trait: Substring, bind: Binder) -> str:
    text = bind("String", trait.text)
    if trait.is_end:
        return f"endsWithCaseInsensitive({value}, {text})"
    return f"positionCaseInsensitive({value}, {text}) > 0"


def _joined(source: str, tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """One of the joined hashes belongs to a binary for which one of the tests is true. The columns
    repeat the same subquery, which the engine runs once."""
    hashes = _hashes(tests, bind)
    return either(
        _one_joined(column, hashes, document, is_written=source == WRITTEN_JOIN)
        for column in JOINS[source]
    )


def _one_joined(column: str, hashes: str, document: Document, *, is_written: bool) -> str:
    if is_written:
        wanted = f"{_is_written('o')} AND x GLOBAL IN ({hashes})"
        return f"arrayExists((x, o) -> {wanted}, `{column}`, `{OPERATION}`)"
    if column in document.lists:
        return f"arrayExists(x -> x GLOBAL IN ({hashes}), `{column}`)"
    return f"`{column}` GLOBAL IN ({hashes})"


def _hashes(tests: Sequence[Test], bind: Binder) -> str:
    """A SELECT of the hashes of the matching binaries."""
    asked = [one for test in tests if isinstance(test, JoinTest) for one in test.tests]
    grouped = by_source(asked)
    of_binary = either(tests_sql(*found, bind, BINARY) for found in grouped)
    return hashes_sql(of_binary, [source for source, _ in grouped])


def on_column(source: str, tests: Sequence[Test]) -> tuple[str, Sequence[Test]]:
    """A source and its tests for index prefilters: a source of `WRITTEN` is replaced by its
    column, which widens the tests to deleted files."""
    column = WRITTEN.get(source)
    if column is None:
        return source, tests
    return column, [
        replace(test, column=column) for test in tests if isinstance(test, TextTest | PresentTest)
    ]


def rarely_joined(source: str, tests: Sequence[Test], bind: Binder) -> str:
    """Prefilter of a join on arrays of hashes: uses the indexes of the hashes when at most
    `RARE_HASHES_MAX` binaries match, else true everywhere."""
    few = f"(SELECT groupUniqArray({RARE_HASHES_MAX + 1:d})(digest) FROM ({_hashes(tests, bind)}))"
    found = " OR ".join(f"hasAny(`{column}`, {few})" for column in JOINS[source])
    return f"(length({few}) > {RARE_HASHES_MAX:d} OR {found})"


def _has(source: str, kind: str, values: list[str], bind: Binder) -> str:
    """SQL that the array's index answers: it has one of the values."""
    if len(values) == 1:
        return f"has(`{source}`, {bind(kind, values[0])})"
    return f"hasAny(`{source}`, {bind(f'Array({kind})', values)})"


def _element(value: str, tests: Sequence[Test], bind: Binder) -> str:
    """SQL: one of the tests is true of one value. Tests of one column have one type; a text may
    also have a `PresentTest`."""
    first = tests[0]
    match first:
        case NumberTest():
            return _numbers(value, tests, bind)
        case TimeTest():
            return either(_time(value, test, bind) for test in tests if isinstance(test, TimeTest))
        case AddressTest():
            return _addresses(value, tests, bind)
        case TextTest() | PresentTest():
            return _texts(value, tests, bind)
        case JoinTest():
            raise AssertionError(f"a join asks hashes, not {value}")
    assert_never(first)


def _numbers(value: str, tests: Sequence[Test], bind: Binder) -> str:
    numbers = [test for test in tests if isinstance(test, NumberTest)]
    single = list(dict.fromkeys(test.low for test in numbers if test.low == test.high))
    parts = [_range(value, test, bind) for test in numbers if test.low != test.high]
    if len(single) == 1:
        parts.append(f"{value} = {bind('Int64', single[0])}")
    elif single:
        parts.append(f"has({bind('Array(Int64)', single)}, toInt64({value}))")
    return either(parts)


def _range(value: str, test: NumberTest, bind: Binder) -> str:
    parts = []
    if test.low > -NUMBER_MAX:
        parts.append(f"{value} >= {bind('Int64', test.low)}")
    if test.high < NUMBER_MAX:
        parts.append(f"{value} <= {bind('Int64', test.high)}")
    return f"({' AND '.join(parts)})" if parts else "1"


def _time(value: str, test: TimeTest, bind: Binder) -> str:
    low, high = bind("Int64", test.low_us), bind("Int64", test.high_us)
    moment = "fromUnixTimestamp64Micro({}, 'UTC')"
    return f"({value} BETWEEN {moment.format(low)} AND {moment.format(high)})"


def _addresses(value: str, tests: Sequence[Test], bind: Binder) -> str:
    addresses = [test for test in tests if isinstance(test, AddressTest)]
    single = list(dict.fromkeys(_colons(test.low) for test in addresses if test.low == test.high))
    parts = [_address(value, test, bind) for test in addresses if test.low != test.high]
    if len(single) == 1:
        parts.append(f"{value} = {bind('IPv6', single[0])}")
    elif single:
        parts.append(f"has({bind('Array(IPv6)', single)}, {value})")
    return either(parts)


def _address(value: str, test: AddressTest, bind: Binder) -> str:
    low, high = bind("IPv6", _colons(test.low)), bind("IPv6", _colons(test.high))
    return f"({value} BETWEEN {low} AND {high})"


def _colons(packed: bytes) -> str:
    return ":".join(packed[i : i + 2].hex() for i in range(0, 16, 2))


def _texts(value: str, tests: Sequence[Test], bind: Binder) -> str:
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
    """SQL of `tokens.<form>_form`."""
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
    """SQL of the tests of one text in one form."""
    equal = list(dict.fromkeys(test.needle for test in tests if test.shape == "equals"))
    others = list(
        dict.fromkeys((test.shape, test.needle) for test in tests if test.shape != "equals")
    )
    parts = []
    if len(equal) == 1:
        parts.append(f"{text} = {bind('String', equal[0])}")
    elif equal:
        parts.append(f"has({bind('Array(String)', equal)}, {text})")
    if len(others) <= _PLAIN_TESTS_MAX:
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
    """A test as an RE2 pattern for an unanchored search, without flags."""
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
    """Patterns batched into alternations of bounded size."""
    found: list[str] = []
    batch: list[str] = []
    chars = 0
    for pattern in patterns:
        if len(batch) == _ALTERNATIVES_MAX or chars > _ALTERNATION_CHARS_MAX:
            found.append(f"(?s)(?:{'|'.join(batch)})")
            batch, chars = [], 0
        batch.append(pattern)
        chars += len(pattern)
    return [*found, f"(?s)(?:{'|'.join(batch)})"]
