"""Compiles a typed tree to a predicate over a document in memory, equivalent to the SQL.

A segment is a mapping of column names: metadata as plain values, event columns as sequences, times
in epoch microseconds, addresses as 16 bytes. A missing column is unknown. A binary is a mapping of
`binary_sql.BINARY_COLUMNS` in the same way. `tags` of either are its newest `Tag` values. Patterns
are RE2, so time is linear in the length of the text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, assert_never

from vedette.model import tokens
from vedette.model.field import is_member
from vedette.model.fields import JOINS, NOT_WRITTEN, OPERATION, RARITIES, WRITTEN, WRITTEN_JOIN
from vedette.model.findings.tag import TAGS, Tag
from vedette.model.host import minutes_ahead
from vedette.model.log_fields import data_name, named_member
from vedette.query.compile.document import BINARY, SEGMENT, TAG, Document
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.pattern import compile_pattern
from vedette.query.typed import (
    AddressTest,
    Checked,
    Form,
    JoinTest,
    Match,
    NumberTest,
    PresentTest,
    TagTest,
    Test,
    TextTest,
    TimeTest,
)

Segment = Mapping[str, Any]

FORMS: Mapping[Form, Callable[[str], str]] = {
    "exact": lambda text: text,
    "folded": tokens.fold,
    "account": tokens.account_form,
    "path": tokens.path_form,
    "registry": tokens.registry_form,
    "domain": tokens.domain_form,
    "labels": lambda text: tokens.domain_form(text)[1:],
    "pieces": tokens.words_form,
}

MINUTE_US = 60 * 1_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
_THURSDAY = 4  # weekday of 1970-01-01, with Sunday as 0
_UNKNOWN = 255


Binaries = Callable[[str], Sequence["Prepared"]]
"""Looks up binary documents by MD5 or SHA-256."""


def _no_binaries(_: str) -> Sequence["Prepared"]:
    return ()


class Prepared:
    """A document with a cache of the normal forms of its texts, so that many queries normalize each
    text once, and with the lookup for joins."""

    __slots__ = ("_lists", "_texts", "binaries", "segment")

    def __init__(
        self,
        segment: Segment,
        binaries: Binaries = _no_binaries,
        *,
        document: Document = SEGMENT,
    ) -> None:
        self.segment = segment
        self.binaries = binaries
        self._lists = document.lists
        self._texts: dict[tuple[str, Form], Sequence[str]] = {}

    def values(self, column: str) -> Sequence[Any]:
        """Returns the values of a column. Metadata has one value, or none if unknown."""
        if column in WRITTEN:
            return self._written(WRITTEN[column])
        if is_member(column):
            return self._members(named_member(column))
        found = self.segment.get(column)
        if found is None:
            return ()
        return found if column in self._lists else (found,)

    def _members(self, name: str) -> Sequence[str]:
        """The values of a member of a record's data (`data.NAME`)."""
        members: Mapping[str, str] = self.segment.get("fields", {})
        return [value for member, value in members.items() if data_name(member) == name]

    def _written(self, column: str) -> Sequence[Any]:
        """Returns the values of a column of file events, without deleted files."""
        operations = self.values(OPERATION) or repeat(0)
        pairs = zip(self.values(column), operations, strict=False)
        return [value for value, operation in pairs if operation != NOT_WRITTEN]

    def tags(self, family: str, name: str) -> Sequence["Prepared"]:
        """Returns the document's tags of a watchlist or feed."""
        tags: Iterable[Tag] = self.segment.get(TAGS, ())
        return [
            Prepared(_tag_values(tag), document=TAG)
            for tag in tags
            if tag.name == name and tag.family == family
        ]

    def texts(self, column: str, form: Form) -> Sequence[str]:
        """Returns the values of a text column in a normal form."""
        key = (column, form)
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = tuple(map(FORMS[form], self._text_values(column)))
        return found

    def _text_values(self, column: str) -> Sequence[str]:
        found = self.values(column)
        is_list = column in self._lists or column in WRITTEN or is_member(column)
        return found if found or is_list else ("",)

    def numbers(self, source: str) -> Iterable[int]:
        """Returns the values of a number column, or of a number in `fields.DERIVED`."""
        match source:
            case "destination_port":
                connections = zip(
                    self.values("netconn_outbound"),
                    self.values("netconn_remote_port"),
                    self.values("netconn_local_port"),
                    strict=True,
                )
                return [remote if out else local for out, remote, local in connections]
            case "cross_code":
                kinds, sides = self.values("crossproc_kind"), self.values("crossproc_is_target")
                return [2 * kind + side for kind, side in zip(kinds, sides, strict=True)]
            case "start_hour":
                return [self._of_start(lambda us: us // HOUR_US % 24)]
            case "start_weekday":
                return [self._of_start(lambda us: (us // DAY_US + _THURSDAY) % 7)]
        if source in RARITIES:
            return ()  # watchlists reject these fields
        found = self.values(source)
        return found if found or source in self._lists else (0,)

    def _of_start(self, part: Callable[[int], int]) -> int:
        start_us = self.segment.get("start") or 0
        if start_us <= 0:
            return _UNKNOWN
        return part(start_us + minutes_ahead(self.segment.get("host_clock") or 0) * MINUTE_US)


def _tag_values(tag: Tag) -> Segment:
    """Returns a tag as a document with `tag.TAG_COLUMNS`."""
    return {"time": tag.time_us, "score": tag.score, "report": tag.report, "link": tag.link}


def binaries_by_hash(binaries: Iterable[Segment]) -> Binaries:
    """Indexes binaries by hash."""
    found: dict[str, list[Prepared]] = {}
    for binary in binaries:
        prepared = Prepared(binary, document=BINARY)
        for name in ("md5", "sha256"):
            if binary.get(name):
                found.setdefault(binary[name], []).append(prepared)
    return lambda digest: found.get(digest, ())


Predicate = Callable[[Prepared], bool]


def compile_match(tree: Checked) -> Predicate:
    """Returns a predicate over `Prepared` documents."""
    match tree:
        case Everything():
            return lambda _: True
        case Match(tests):
            return _any_test(tests)
        case Not(child):
            inner = compile_match(child)
            return lambda segment: not inner(segment)
        case And(children):
            return _all(list(map(compile_match, children)))
        case Or(children):
            leaves = [child for child in children if isinstance(child, Match)]
            together = [test for leaf in leaves for test in leaf.tests]
            rest = [child for child in children if not isinstance(child, Match)]
            return _any([_any_test(together), *map(compile_match, rest)])


def _all(required: Sequence[Predicate]) -> Predicate:
    return lambda segment: all(ask(segment) for ask in required)


def _any(options: Sequence[Predicate]) -> Predicate:
    if len(options) == 1:
        return options[0]
    return lambda segment: any(ask(segment) for ask in options)


def match_segment(tree: Checked, segment: Segment) -> bool:
    """Whether a segment matches. For many segments, use `compile_match`."""
    return compile_match(tree)(Prepared(segment))


def _any_test(tests: Sequence[Test]) -> Predicate:
    """Returns a predicate that is true if any of the tests is. Tests of a text in one form share a
    pass."""
    by_form: dict[tuple[str, Form], list[TextTest]] = {}
    options: list[Predicate] = []
    for test in tests:
        match test:
            case TextTest():
                by_form.setdefault((test.column, test.form), []).append(test)
            case JoinTest(source, asked):
                options.append(_join(_hash_columns(source), _any_test(asked)))
            case TagTest(family, name, of_tag):
                options.append(_tagged(family, name, _any_test([of_tag])))
            case _:
                options.append(_single(test))
    options.extend(_texts(column, form, found) for (column, form), found in by_form.items())
    return _any(options)


def _single(test: NumberTest | TimeTest | AddressTest | PresentTest) -> Predicate:
    match test:
        case NumberTest(source, low, high):
            return lambda segment: any(low <= found <= high for found in segment.numbers(source))
        case TimeTest(column, low, high):
            return lambda segment: any(low <= found <= high for found in segment.values(column))
        case AddressTest(column, first, last):
            return lambda segment: any(first <= found <= last for found in segment.values(column))
        case PresentTest(column):
            return lambda segment: any(segment.values(column))
    assert_never(test)


def _hash_columns(source: str) -> tuple[str, ...]:
    """Returns the hash columns that a join looks up."""
    columns = JOINS[source]
    if source != WRITTEN_JOIN:
        return columns
    return tuple(name for name, column in WRITTEN.items() if column in columns)


def _join(columns: tuple[str, ...], ask: Predicate) -> Predicate:
    """Returns a predicate that is true if one of the hashes belongs to a binary that satisfies
    `ask`."""
    return lambda segment: any(
        ask(binary)
        for column in columns
        for digest in segment.values(column)
        if digest
        for binary in segment.binaries(digest)
    )


def _tagged(family: str, name: str, ask: Predicate) -> Predicate:
    """Returns a predicate that is true if a tag of the watchlist or feed satisfies `ask`."""
    return lambda segment: any(map(ask, segment.tags(family, name)))


def _texts(column: str, form: Form, tests: Sequence[TextTest]) -> Predicate:
    ask = _text_predicate(tests)
    return lambda segment: any(map(ask, segment.texts(column, form)))


ValueForms = dict[Form, str]
"""Normal forms of a text value that were computed so far."""


def value_predicate(tests: Sequence[Test]) -> Callable[[Any, ValueForms], bool]:
    """Returns a predicate over a raw value of a column: true if any of the tests is. The caller
    passes a dictionary that caches the normal forms of the value for other predicates. The tests
    are of texts, numbers, times or addresses; tests of texts may include tests of presence."""
    by_form: dict[Form, list[TextTest]] = {}
    options: list[Callable[[Any, ValueForms], bool]] = []
    for test in tests:
        match test:
            case TextTest():
                by_form.setdefault(test.form, []).append(test)
            case PresentTest():
                options.append(lambda found, _: bool(found))
            case NumberTest(_, low, high) | TimeTest(_, low, high):
                options.append(_bounded(low, high))
            case AddressTest(_, first, last):
                options.append(_bounded(first, last))
            case JoinTest() | TagTest():
                raise AssertionError("a join and a tag ask other documents")
    options.extend(_formed(form, _text_predicate(found)) for form, found in by_form.items())
    if len(options) == 1:
        return options[0]
    return lambda found, forms: any(ask(found, forms) for ask in options)


def _bounded(low: Any, high: Any) -> Callable[[Any, ValueForms], bool]:
    return lambda found, _: bool(low <= found <= high)


def _formed(form: Form, ask: Callable[[str], bool]) -> Callable[[Any, ValueForms], bool]:
    shape = FORMS[form]

    def is_true(found: Any, forms: ValueForms) -> bool:
        text = forms.get(form)
        if text is None:
            text = forms[form] = shape(found)
        return ask(text)

    return is_true


def _text_predicate(tests: Sequence[TextTest]) -> Callable[[str], bool]:
    """Returns a predicate over a text in its form that is true if any of the tests is."""
    options = [_SHAPES[shape](needles) for shape, needles in _by_shape(tests).items()]
    if len(options) == 1:
        return options[0]
    return lambda text: any(ask(text) for ask in options)


def _by_shape(tests: Sequence[TextTest]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for test in tests:
        found.setdefault(test.shape, []).append(test.needle)
    return found


def _equals(needles: list[str]) -> Callable[[str], bool]:
    return frozenset(needles).__contains__


def _starts(needles: list[str]) -> Callable[[str], bool]:
    beginnings = tuple(needles)
    return lambda text: text.startswith(beginnings)


def _ends(needles: list[str]) -> Callable[[str], bool]:
    endings = tuple(needles)
    return lambda text: text.endswith(endings)


def _ends_after(needles: list[str]) -> Callable[[str], bool]:
    return lambda text: any(text.endswith(needle) and text != needle for needle in needles)


def _contains(needles: list[str]) -> Callable[[str], bool]:
    if len(needles) == 1:
        needle = needles[0]
        return lambda text: needle in text
    return lambda text: any(needle in text for needle in needles)


def _matches(needles: list[str]) -> Callable[[str], bool]:
    patterns = [compile_pattern(needle) for needle in needles]
    return lambda text: any(pattern.is_in(text) for pattern in patterns)


_SHAPES: Mapping[str, Callable[[list[str]], Callable[[str], bool]]] = {
    "equals": _equals,
    "starts": _starts,
    "ends": _ends,
    "ends_after": _ends_after,
    "contains": _contains,
    "matches": _matches,
}
