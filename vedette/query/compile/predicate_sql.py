"""Tests of one source (a column, a column computed from others, or a join) as ClickHouse
expressions on a row, with every value bound."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from vedette.limits import QUERY_RARE_HASHES_MAX
from vedette.model.fields import (
    DERIVED,
    JOINS,
    NOT_WRITTEN,
    OPERATION,
    WRITTEN,
    WRITTEN_JOIN,
)
from vedette.model.findings.tag import TAGS
from vedette.model.host import UTC_CLOCK
from vedette.query.compile.binary_sql import IN_SCOPE, hashes_sql
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.document import BINARY, Document
from vedette.query.compile.prefilter import Substring, prefilter_substrings
from vedette.query.compile.tag_sql import tags_sql
from vedette.query.compile.value_sql import few_addresses, is_whole, numbers_sql, value_sql
from vedette.query.typed import JoinTest, PresentTest, Test, TextTest, source_of

LOCAL_START: Final = f"addMinutes(start, if(host_clock = 0, 0, toInt32(host_clock) - {UTC_CLOCK}))"
"""SQL: start time in the host's local time."""

_KNOWN_SCOPE: Final = IN_SCOPE.replace("{", "{{").replace("}", "}}")


def _common(key: str, known: str) -> tuple[str, str]:
    """SQL of a number of `fields.RARITIES`: hosts of the scope with rows of the same key."""
    counted = (
        f"SELECT {key} AS place, uniqExact(sensor_id) AS hosts FROM segment "
        f"WHERE {_KNOWN_SCOPE} AND process_name != '' AND {known} GROUP BY place"
    )
    return f"{key} GLOBAL IN (SELECT place FROM ({counted}) WHERE {{}})", "hosts"


DERIVED_SQL: dict[str, tuple[str, str]] = {
    "pair_hosts": _common(
        "cityHash64(lower(process_name), lower(parent_name))", "parent_name != ''"
    ),
    "shape_hosts": _common("cityHash64(lower(process_name), cmdline_shape)", "cmdline_shape != 0"),
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


def by_source(tests: Iterable[Test]) -> list[tuple[str, list[Test]]]:
    """Tests grouped by source, so that each column is read once."""
    found: dict[str, list[Test]] = {}
    for test in tests:
        found.setdefault(source_of(test), []).append(test)
    return list(found.items())


def asked_columns(source: str) -> frozenset[str]:
    """The columns behind a source; tags are found by key."""
    if source == TAGS:
        return frozenset({"window_ms"})
    of_clock = {"host_clock"} if source in ("start_hour", "start_weekday") else ()
    return frozenset((*DERIVED.get(source, (source,)), *of_clock))


def tests_sql(source: str, tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """SQL: one of the tests of a source is true of the row."""
    if source == TAGS:
        return tags_sql(tests, bind, document)
    if source in JOINS:
        return _joined(source, tests, bind, document)
    if source in WRITTEN:
        return _written(WRITTEN[source], tests, bind)
    if source in DERIVED_SQL:
        outer, number = DERIVED_SQL[source]
        return outer.format(numbers_sql(number, tests, bind))
    if source not in document.lists:
        exact, shown = value_sql(f"`{source}`", tests, bind), prefilter_substrings(tests)
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
        parts.append(f"arrayExists(x -> {value_sql('x', others, bind)}, {values_sql})")
    return either(parts)


def _written(column: str, tests: Sequence[Test], bind: Binder) -> str:
    """One of the tests is true of a hash of a file that was not deleted. Whole hashes are
    prefiltered by the index of the column."""
    found = f"arrayExists((x, o) -> {_is_written('o')} AND {value_sql('x', tests, bind)}, "
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
    used = "" if document.lists.intersection(JOINS[source]) else _used(*JOINS[source])
    hashes = _hashes(tests, bind, used)
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


def _used(md5: str, sha256: str) -> str:
    """SQL on the `hash` of a binary: a segment may lead to it. A file is stored by its MD5 where
    that is known, so those that segments name by SHA-256 alone are looked up."""
    sha256s = f"SELECT DISTINCT `{sha256}` FROM segment WHERE `{md5}` = '' AND `{sha256}` != ''"
    return (
        f"(hash GLOBAL IN (SELECT DISTINCT `{md5}` FROM segment "
        f"UNION ALL SELECT DISTINCT `{sha256}` FROM segment) "
        f"OR hash GLOBAL IN (SELECT hash FROM binary WHERE sha256 GLOBAL IN ({sha256s})))"
    )


def _hashes(tests: Sequence[Test], bind: Binder, used: str = "") -> str:
    """A SELECT of the hashes of the matching binaries, at least of those that are used."""
    asked = [one for test in tests if isinstance(test, JoinTest) for one in test.tests]
    grouped = by_source(asked)
    of_binary = either(tests_sql(*found, bind, BINARY) for found in grouped)
    return hashes_sql(of_binary, [source for source, _ in grouped], used)


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
    `QUERY_RARE_HASHES_MAX` binaries match, else true everywhere."""
    hashes = _hashes(tests, bind)
    few = f"(SELECT groupUniqArray({QUERY_RARE_HASHES_MAX + 1:d})(digest) FROM ({hashes}))"
    found = " OR ".join(f"hasAny(`{column}`, {few})" for column in JOINS[source])
    return f"(length({few}) > {QUERY_RARE_HASHES_MAX:d} OR {found})"


def _has(source: str, kind: str, values: list[str], bind: Binder) -> str:
    """SQL that the array's index answers: it has one of the values."""
    if len(values) == 1:
        return f"has(`{source}`, {bind(kind, values[0])})"
    return f"hasAny(`{source}`, {bind(f'Array({kind})', values)})"
