"""Tests of one source (a column, a computed column, or a join) as ClickHouse expressions on a row.
All values are bound."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from vedette.limits import Limit
from vedette.model.field import is_member
from vedette.model.fields import (
    DERIVED,
    JOINS,
    NOT_WRITTEN,
    OPERATION,
    RULE_HITS,
    WRITTEN,
    WRITTEN_JOIN,
)
from vedette.model.findings.tag import TAGS
from vedette.model.host import UTC_CLOCK
from vedette.model.log_fields import named_member
from vedette.query.compile.binary_sql import IN_SCOPE, hashes_sql
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.document import BINARY, Document
from vedette.query.compile.prefilter import Substring, prefilter_substrings
from vedette.query.compile.tag_sql import tags_sql
from vedette.query.compile.value_sql import few_addresses, is_whole, numbers_sql, value_sql
from vedette.query.typed import JoinTest, PresentTest, Test, TextTest, source_of

QUERY_RARE_HASHES_MAX: Limit[int] = 16
"""Maximum hashes of a join for which the indexes of hash arrays serve as a prefilter."""


LOCAL_START: Final = f"addMinutes(start, if(host_clock = 0, 0, toInt32(host_clock) - {UTC_CLOCK}))"
"""SQL: start time in the host's local time."""

_KNOWN_SCOPE: Final = IN_SCOPE.replace("{", "{{").replace("}", "}}")


def _common(key: str, known: str) -> tuple[str, str]:
    """Returns the SQL of a number of `fields.RARITIES`: hosts of the scope that have rows with the
    same key."""
    counted = (
        f"SELECT {key} AS place, uniqExact(sensor_id) AS hosts FROM segment FINAL "
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
"""SQL of the numbers in `fields.DERIVED`: the expression around a condition, and the number
itself."""


def by_source(tests: Iterable[Test]) -> list[tuple[str, list[Test]]]:
    """Groups tests by source, so that each column is read once."""
    found: dict[str, list[Test]] = {}
    for test in tests:
        found.setdefault(source_of(test), []).append(test)
    return list(found.items())


def asked_columns(source: str) -> frozenset[str]:
    """Returns the columns that a source reads. Tags are found by key."""
    if source == TAGS:
        return frozenset({"window_ms"})
    of_clock = {"host_clock"} if source in ("start_hour", "start_weekday") else ()
    return frozenset((*DERIVED.get(source, (source,)), *of_clock))


def tests_sql(source: str, tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """Returns SQL that is true if any test of the source is true for the row."""
    if source == TAGS:
        return tags_sql(tests, bind, document)
    if source in JOINS:
        return _joined(source, tests, bind, document)
    if source in RULE_HITS:
        return _hit(RULE_HITS[source], tests, bind, document)
    if source in WRITTEN:
        return _written(WRITTEN[source], tests, bind)
    if is_member(source):
        members = member_values_sql(source, bind)
        return f"arrayExists(x -> {value_sql('x', tests, bind)}, {members})"
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


def _hit(column: str, tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """SQL: a rule that meets one of the tests fired on the document."""
    return (
        f"({document.hit_key}) IN (SELECT {document.hit_key} FROM hit "
        f"WHERE notEmpty(process_id) AND {value_sql(f'`{column}`', tests, bind)})"
    )


def member_values_sql(source: str, bind: Binder) -> str:
    """SQL: the values of a member of a record's data (`data.NAME`), an array. The spelling is that
    of `log_fields.data_name`."""
    name = bind("String", named_member(source))
    return f"arrayFilter((v, k) -> {DATA_NAME_SQL.format('k')} = {name}, {DATA_PAIRS_SQL})"


DATA_NAME_SQL: Final = "replaceRegexpAll(lower({}), '[^a-z0-9_.-]', '_')"
DATA_PAIRS_SQL: Final = "mapValues(`fields`), mapKeys(`fields`)"


def _written(column: str, tests: Sequence[Test], bind: Binder) -> str:
    """Returns SQL that is true if any test is true for a hash of a file that was not deleted.
    Complete hashes are prefiltered by the column's index."""
    found = f"arrayExists((x, o) -> {_is_written('o')} AND {value_sql('x', tests, bind)}, "
    found += f"`{column}`, `{OPERATION}`)"
    if not all(map(is_whole, tests)):
        return found
    values = dict.fromkeys(test.needle for test in tests if isinstance(test, TextTest))
    return f"({_has(column, 'String', list(values), bind)} AND {found})"


def _is_written(operation: str) -> str:
    return f"{operation} != {NOT_WRITTEN:d}"


def _prefiltered(source: str, tests: Sequence[Test], bind: Binder) -> str:
    """Returns SQL for the array, filtered to elements with a substring that every match
    contains."""
    shown = prefilter_substrings(tests)
    if shown is None:
        return f"`{source}`"
    return f"arrayFilter(x -> {_has_substring('x', shown, bind)}, `{source}`)"


def _has_substring(value: str, shown: Sequence[Substring], bind: Binder) -> str:
    """Returns SQL that is true if the value contains one of the substrings or is not ASCII."""
    return either(
        [f"NOT isASCII({value})", *(_substring_sql(value, trait, bind) for trait in shown)]
    )


def _substring_sql(value: str, trait: Substring, bind: Binder) -> str:
    text = bind("String", trait.text)
    if trait.is_end:
        return f"endsWithCaseInsensitive({value}, {text})"
    return f"positionCaseInsensitive({value}, {text}) > 0"


def _joined(source: str, tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """Returns SQL that is true if one of the joined hashes belongs to a binary that satisfies any
    test. The columns repeat the same subquery, which the engine runs once."""
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
    """Returns a condition on the `hash` of a binary that is true if a segment may refer to it.
    Files are stored by MD5 if it is known, so files that segments identify only by SHA-256 are
    looked up."""
    sha256s = f"SELECT DISTINCT `{sha256}` FROM segment WHERE `{md5}` = '' AND `{sha256}` != ''"
    return (
        f"(hash GLOBAL IN (SELECT DISTINCT `{md5}` FROM segment "
        f"UNION ALL SELECT DISTINCT `{sha256}` FROM segment) "
        f"OR hash GLOBAL IN (SELECT hash FROM binary WHERE sha256 GLOBAL IN ({sha256s})))"
    )


def _hashes(tests: Sequence[Test], bind: Binder, used: str = "") -> str:
    """Returns a SELECT of the hashes of the matching binaries, at least of those with `used`."""
    asked = [one for test in tests if isinstance(test, JoinTest) for one in test.tests]
    grouped = by_source(asked)
    of_binary = either(tests_sql(*found, bind, BINARY) for found in grouped)
    return hashes_sql(of_binary, [source for source, _ in grouped], used)


def on_column(source: str, tests: Sequence[Test]) -> tuple[str, Sequence[Test]]:
    """Returns a source and its tests for index prefilters. Replaces a source of `WRITTEN` with its
    column, which widens the tests to deleted files."""
    column = WRITTEN.get(source)
    if column is None:
        return source, tests
    return column, [
        replace(test, column=column) for test in tests if isinstance(test, TextTest | PresentTest)
    ]


def rarely_joined(source: str, tests: Sequence[Test], bind: Binder) -> str:
    """Returns the prefilter of a join on arrays of hashes: the indexes of the hashes if at most
    `QUERY_RARE_HASHES_MAX` binaries match, else true everywhere."""
    hashes = _hashes(tests, bind)
    few = f"(SELECT groupUniqArray({QUERY_RARE_HASHES_MAX + 1:d})(digest) FROM ({hashes}))"
    found = " OR ".join(f"hasAny(`{column}`, {few})" for column in JOINS[source])
    return f"(length({few}) > {QUERY_RARE_HASHES_MAX:d} OR {found})"


def _has(source: str, kind: str, values: list[str], bind: Binder) -> str:
    """Returns SQL, in a form that the array's index evaluates, that is true if the array has one of
    the values."""
    if len(values) == 1:
        return f"has(`{source}`, {bind(kind, values[0])})"
    return f"hasAny(`{source}`, {bind(f'Array({kind})', values)})"
