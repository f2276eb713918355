"""Checks a tree: converts every leaf into typed tests, using the catalogue of fields.

A table maps field types to rules. Rules for text are in `text.py`, `path.py` and `cmdline.py`;
rules for numbers, times and addresses are in modules of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from vedette.errors import BadRequestError, QueryError
from vedette.limits import Limit
from vedette.model.binary_fields import BINARY
from vedette.model.field import Catalogue, Field, FieldType, Join
from vedette.model.fields import PROCESS
from vedette.model.ids import EARLIEST_SEGMENT, MERGED_SEGMENT, split_unique_id
from vedette.model.tokens import fold
from vedette.query.check import cmdline, domain, path, text
from vedette.query.check.address import address
from vedette.query.check.glob import begins_wild, is_any, is_wild, whole, wild_runs
from vedette.query.check.number import boolean, bounds, constant_zero, decimal, integer, truth
from vedette.query.check.time import time_bounds
from vedette.query.nodes import (
    And,
    Everything,
    Exact,
    Leaf,
    Not,
    Or,
    Range,
    Text,
    Tree,
    all_of,
    any_of,
    negated,
)
from vedette.query.parse.escape import escape, unescape
from vedette.query.parse.field_names import unknown_field
from vedette.query.parse.render import leaves
from vedette.query.typed import (
    NEVER,
    NUMBER_MAX,
    Checked,
    ColumnTest,
    JoinTest,
    Match,
    NumberTest,
    PresentTest,
    TagTest,
    Test,
    TextTest,
    TimeTest,
)

QUERY_LEAVES_MAX: Limit[int] = 2_000
"""Maximum leaves of a query. The largest query in practice, a converted rule, has 1,394; the
largest handwritten query has 76. The engine needs minutes for 20,000."""

QUERY_OPERANDS_MAX: Limit[int] = 128
"""Maximum operands of an AND or OR that are evaluated individually: in an AND all except negated
leaves, in an OR brackets. The engine's time grows with their square: 1,024 ANDed words of a command
line took 29 s over 20,000 segments, 512 ORed pairs 35 s. Queries in practice have at most 20 and
13."""

QUERY_WILDCARDS_MAX: Limit[int] = 100
"""Maximum wildcards in a value; adjacent stars count once. In a text field each wildcard becomes a
class of all letters, which takes thousands of instructions of RE2's 8 MB."""

QUERY_VALUE_CHARS_MAX: Limit[int] = 32_768
"""Maximum characters of a text value. A Windows command line has at most 32,767. RE2 needs up to
four instructions per character in UTF-8."""


ANY_BINARY = PresentTest("hash")
"""Test that is true for every binary."""

TextRule = Callable[[Field, str], tuple[Test, ...]]

TEXT_RULES: Mapping[FieldType, TextRule] = MappingProxyType(
    {
        "keyword": text.keyword,
        "name": path.name,
        "path": path.path,
        "registry": path.path,
        "cmdline": cmdline.cmdline,
        "text": text.text,
        "domain": domain.domain,
        "hostname": text.hostname,
        "account": text.account,
        "md5": text.hexadecimal,
        "sha1": text.hexadecimal,
        "sha256": text.hexadecimal,
        "cross_type": text.cross_type,
        "host_type": text.host_type,
        "block_status": text.block_status,
        "sign": text.keyword,
        "endpoint": text.endpoint,
        "alert_id": text.alert_id,
    }
)
"""Rules of the field types with text values. The rule for `text` rejects values with too many
words."""

_WHOLE_AS_EXACT = frozenset(
    {"md5", "sha1", "sha256", "alert_id", "cross_type", "host_type", "block_status"}
)
"""Types whose rule compares a value without wildcards as a whole."""


def check(
    tree: Tree,
    catalogue: Catalogue = PROCESS,
    *,
    now_us: int,
    leading_wildcards: bool = True,
    joins: bool = True,
) -> Checked:
    """Returns the typed tree. `now_us` (epoch microseconds) is the reference of relative dates.

    Raises QueryError with the position of the leaf: for a value that is not a valid number, date,
    address or truth value; a range of text; a wildcard at the start of a value if
    `leading_wildcards` is False; a joined field if `joins` is False; a value beyond
    `QUERY_VALUE_CHARS_MAX`, `QUERY_WILDCARDS_MAX` or `QUERY_WORDS_MAX`; and for the first leaf
    beyond `QUERY_LEAVES_MAX` or `QUERY_OPERANDS_MAX`.
    """
    _check_size(tree)
    return _Check(catalogue, now_us, leading_wildcards, joins).node(tree)


class _Check:
    """The arguments of a `check` call, and its passes."""

    def __init__(
        self, catalogue: Catalogue, now_us: int, leading_wildcards: bool, joins: bool
    ) -> None:
        self.catalogue = catalogue
        self.now_us = now_us
        self.leading_wildcards = leading_wildcards
        self.joins = joins

    def node(self, tree: Tree) -> Checked:
        match tree:
            case Everything():
                return tree
            case Leaf():
                return self.leaf(tree)
            case Not(child):
                return negated(self.node(child))
            case And(children):
                return all_of(map(self.node, children))
            case Or(children):
                return any_of(map(self.node, children))

    def leaf(self, leaf: Leaf) -> Checked:
        value = leaf.value
        if isinstance(value, Text):
            _check_value(leaf, value)
            if not self.leading_wildcards:
                self._refuse_leading_wildcard(leaf, value)
        if leaf.field is None:
            return self._bare(leaf)
        field = self.catalogue.find(leaf.field)
        if field is None:
            raise unknown_field(leaf.field, self.catalogue, leaf.start, leaf.end)
        if field.kind == "join" and not self.joins:
            message = f"{leaf.field}: too many binaries to join (server setting)"
            raise QueryError(message, leaf.start, leaf.end)
        try:
            return self._kind(field, leaf)
        except ValueError as problem:
            raise QueryError(f"{leaf.field}: {problem}", leaf.start, leaf.end) from None

    def _refuse_leading_wildcard(self, leaf: Leaf, value: Text) -> None:
        if begins_wild(unescape(value.source)):
            message = "a value cannot begin with a wildcard (server setting)"
            raise QueryError(message, leaf.start, leaf.end)

    def _bare(self, leaf: Leaf) -> Checked:
        """Checks a term without a field: it tests all default fields, each by its own rule."""
        if not isinstance(leaf.value, Text):
            raise QueryError("a range needs a field", leaf.start, leaf.end)
        source = leaf.value.source
        if is_any(source):
            return Everything()
        if not unescape(source):
            return Match(NEVER, leaf)
        try:
            found = dict.fromkeys(
                test for field in self.catalogue.defaults for test in _bare_tests(field, source)
            )
        except ValueError as problem:
            raise QueryError(f"a value {problem}", leaf.start, leaf.end) from None
        return Match(tuple(found), leaf)

    def _kind(self, field: Field, leaf: Leaf) -> Checked:
        match field.kind:
            case "column":
                found = self._fielded(field, leaf)
                if field.join is None or not self.joins or not isinstance(found, Match):
                    return found
                return Match((*found.tests, *self._joined(field.join, leaf).tests), leaf)
            case "join":
                assert field.join is not None
                return self._joined(field.join, leaf)
            case "tag":
                return self._tagged(field, leaf)

    def _joined(self, join: Join, leaf: Leaf) -> Match:
        """Checks a field of binaries and returns it as a join."""
        match self._fielded(BINARY.by_name[join.field], leaf):
            case Everything():
                tests: tuple[ColumnTest, ...] = (ANY_BINARY,)
            case Match(asked):
                tests = tuple(test for test in asked if not isinstance(test, JoinTest | TagTest))
            case _:
                raise AssertionError(f"a field of binaries that is more than a leaf: {join.field}")
        return Match((JoinTest(join.source, tests),) if tests else NEVER, leaf)

    def _tagged(self, field: Field, leaf: Leaf) -> Match:
        """Checks a field of detection tags. A document without such a tag never matches."""
        assert field.tag is not None
        family, name = field.tag.family, field.tag.name
        if field.type == "count":
            low, high = bounds(leaf.value) or (-NUMBER_MAX, NUMBER_MAX)
            return Match((TagTest(family, name, NumberTest("score", low, high)),), leaf)
        found = self._fielded(field, leaf)
        assert isinstance(found, Match)
        tests = (test for test in found.tests if not isinstance(test, JoinTest | TagTest))
        return Match(tuple(TagTest(family, name, test) for test in tests), leaf)

    def _fielded(self, field: Field, leaf: Leaf) -> Checked:
        value = leaf.value
        match field.type:
            case "integer" | "count":
                if not field.sources:
                    return _constant(constant_zero(value), leaf)
                return Match(_number_tests(field, leaf), leaf)
            case "decimal":
                return Match(decimal(field, value), leaf)
            case "bool":
                if not field.sources:
                    return _constant(truth(value) is not True, leaf)
                return Match(boolean(field, value), leaf)
            case "time":
                low_us, high_us = time_bounds(value, self.now_us)
                return Match(tuple(TimeTest(name, low_us, high_us) for name in field.sources), leaf)
            case "ipv4" | "ipv6" | "address":
                return Match(address(field, value), leaf)
            case "process_id":
                return _process_id(field, leaf)
        return Match(_text_tests(field, leaf), leaf)


def _bare_tests(field: Field, source: str) -> tuple[Test, ...]:
    """Returns the tests of a default field for a term without a field. A numeric field is tested
    only if the term is a number."""
    if field.type != "integer":
        return TEXT_RULES[field.type](field, source)
    text = unescape(source)
    if not (text.isascii() and text.isdecimal()):
        return NEVER
    try:
        return integer(field, Exact(text))
    except ValueError:
        return NEVER


def _check_value(leaf: Leaf, value: Text) -> None:
    """Raises QueryError for values whose pattern would be too large for an engine to compile."""
    if len(unescape(value.source)) > QUERY_VALUE_CHARS_MAX:
        message = f"a value has at most {QUERY_VALUE_CHARS_MAX:,} characters"
        raise QueryError(message, leaf.start, leaf.end)
    if sum(run.count("?") or 1 for run in wild_runs(value.source)) > QUERY_WILDCARDS_MAX:
        message = f"a value has at most {QUERY_WILDCARDS_MAX} wildcards"
        raise QueryError(message, leaf.start, leaf.end)


def _check_size(tree: Tree) -> None:
    asked = leaves(tree)
    if len(asked) > QUERY_LEAVES_MAX:
        message = f"a query has at most {QUERY_LEAVES_MAX:,} values; this one has {len(asked):,}"
        raise _too_large(message, asked[QUERY_LEAVES_MAX])
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case Not(child):
                waiting.append(child)
            case Or(children):
                waiting.extend(children)
                _check_operands("OR", [one for one in children if not isinstance(one, Leaf)])
            case And(children):
                waiting.extend(children)
                _check_operands("AND", [one for one in children if not _is_exclusion(one)])


def _is_exclusion(node: Tree) -> bool:
    return isinstance(node, Not) and isinstance(node.child, Leaf)


def _check_operands(joint: str, operands: list[Tree]) -> None:
    """Raises QueryError if too many operands need individual evaluation. Leaves of an OR and
    negated leaves of an AND do not count: the engine evaluates them together in one pass over their
    columns."""
    if len(operands) > QUERY_OPERANDS_MAX:
        most, found = QUERY_OPERANDS_MAX, len(operands)
        message = f"at most {most:,} conditions can be joined by {joint}; found {found:,}"
        raise _too_large(message, leaves(operands[most])[0])


def _too_large(message: str, at: Leaf) -> QueryError:
    return QueryError(message, at.start, at.end)


def _constant(holds: bool, leaf: Leaf) -> Checked:
    return Everything() if holds else Match(NEVER, leaf)


def _number_tests(field: Field, leaf: Leaf) -> tuple[Test, ...]:
    """Returns number tests, or tests of the field's text columns if the value is not a number."""
    try:
        return integer(field, leaf.value)
    except ValueError:
        if not field.texts:
            raise
        return _text_tests(replace(field, type="keyword", sources=field.texts), leaf)


def _text_tests(field: Field, leaf: Leaf) -> tuple[Test, ...]:
    match leaf.value:
        case Text(source):
            return TEXT_RULES[field.type](field, source) if source else NEVER
        case Range(low="*", high="*"):
            return TEXT_RULES[field.type](field, "*")
        case Range():
            raise ValueError("does not support ranges")
        case Exact(text):
            return _exact_tests(field, text)


def _exact_tests(field: Field, text: str) -> tuple[Test, ...]:
    if field.type in _WHOLE_AS_EXACT:
        return NEVER if is_wild(text) else TEXT_RULES[field.type](field, escape(text))
    if field.type == "name" and not field.sources:
        return tuple(TextTest(column, "path", "ends", "\\" + fold(text)) for column in field.paths)
    return tuple(TextTest(column, "folded", "equals", fold(text)) for column in field.sources)


def _process_id(field: Field, leaf: Leaf) -> Checked:
    """Checks a process id, or a unique id, which also selects the segment."""
    match leaf.value:
        case Text(source):
            value = fold(unescape(source))
        case Exact(text):
            value = fold(text)
        case Range(low="*", high="*"):
            value = "*"
        case Range():
            raise ValueError("does not support ranges")
    if is_any(value):
        return Match(tuple(PresentTest(column) for column in field.sources), leaf)
    if not value:
        return Match(NEVER, leaf)
    value, segment_id = _split(value)
    ids = Match(tuple(_id_test(column, value) for column in field.sources), leaf)
    if segment_id in (MERGED_SEGMENT, EARLIEST_SEGMENT) or "process_id" not in field.sources:
        return ids
    return all_of([ids, Match((NumberTest("segment_id", segment_id, segment_id),), leaf)])


def _split(value: str) -> tuple[str, int]:
    """Splits a unique id into process id and segment id. A value of another form is a process
    id."""
    try:
        return split_unique_id(value)
    except BadRequestError:
        return value, MERGED_SEGMENT


def _id_test(column: str, value: str) -> TextTest:
    """Returns the test of an id column. Process ids are stored in lower case, senders' GUIDs as
    sent."""
    return whole(column, "folded" if column == "process_guid" else "exact", value)
