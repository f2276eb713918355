"""Compiles a condition to a predicate over an event, and finds the values that matched.

Combines ORed tests of a field: a set for equality, a tuple for prefixes and suffixes. Patterns are
RE2.
"""

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Final, assert_never

import re2
from ahocorasick_rs import AhoCorasick

from vedette.detect.nodes import (
    And,
    Compare,
    Exists,
    FieldTest,
    IsNull,
    Keyword,
    Like,
    Network,
    Node,
    Not,
    Or,
    Regex,
    SameAs,
    Test,
    Text,
    Where,
)
from vedette.detect.views.event import Event
from vedette.limits import Limit
from vedette.model.memoize import memoize

CONTAINED_LITERALS_MAX: Limit[int] = 12
"""Maximum literals that are searched individually; more are searched by an automaton."""

NETWORK_ADDRESSES_MEMOIZED: Limit[int] = 16_384
"""Maximum addresses whose numeric form is cached."""


Predicate = Callable[[Event], bool]
_TextTest = Callable[[str], bool]


def compile_condition(node: Node) -> Predicate:
    """Returns the predicate of a condition."""
    match node:
        case FieldTest(field=field, test=test):
            return _field_test(field, test)
        case Keyword(test=test):
            return _keyword(test)
        case Not(node=inner):
            negated = compile_condition(inner)
            return lambda event: not negated(event)
        case And(nodes=nodes):
            return _all([compile_condition(one) for one in nodes])
        case Or(nodes=nodes):
            return _any(_grouped(nodes))
    assert_never(node)


def matched_fields(node: Node, event: Event) -> dict[str, str]:
    """Returns the values of the fields whose tests are true, to show why a rule matched. Ignores
    negated parts."""
    match node:
        case FieldTest(field=field, test=test):
            return {field: event.value(field)} if _field_test(field, test)(event) else {}
        case Keyword(test=test):
            holds = _text_test(test)
            cased = test.cased if not isinstance(test, Regex) else True
            for field in event.own_fields():
                if holds(event.value(field) if cased else event.folded(field)):
                    return {field: event.value(field)}
            return {}
        case And(nodes=nodes) | Or(nodes=nodes):
            found: dict[str, str] = {}
            for one in nodes:
                found |= matched_fields(one, event)
            return found
        case Not():
            return {}
    assert_never(node)


def _all(predicates: list[Predicate]) -> Predicate:
    match predicates:
        case [one]:
            return one
        case [first, second]:
            return lambda event: first(event) and second(event)
    return lambda event: all(predicate(event) for predicate in predicates)


def _any(predicates: list[Predicate]) -> Predicate:
    match predicates:
        case [one]:
            return one
        case [first, second]:
            return lambda event: first(event) or second(event)
    return lambda event: any(predicate(event) for predicate in predicates)


def _grouped(nodes: tuple[Node, ...]) -> list[Predicate]:
    """Returns predicates of alternatives. Combines plain text tests of the same field and
    position."""
    groups: dict[tuple[str, Where, bool], list[str]] = {}
    others: list[Predicate] = []
    for node in nodes:
        match node:
            case FieldTest(field=field, test=Text(where=where, value=value, cased=cased)):
                groups.setdefault((field, where, cased), []).append(value)
            case _:
                others.append(compile_condition(node))
    plain = [
        _text_predicate(field, where, cased, values)
        for (field, where, cased), values in groups.items()
    ]
    return plain + others


def _text_predicate(field: str, where: Where, cased: bool, values: list[str]) -> Predicate:
    read = Event.value if cased else Event.folded
    match where:
        case "equals":
            wanted = frozenset(values)
            return lambda event: read(event, field) in wanted
        case "startswith":
            begins = tuple(values)
            return lambda event: read(event, field).startswith(begins)
        case "endswith":
            ends = tuple(values)
            return lambda event: read(event, field).endswith(ends)
        case "contains":
            if len(values) == 1:
                value = values[0]
                return lambda event: value in read(event, field)
            contains = contained(values)
            return lambda event: contains(read(event, field))
    assert_never(where)


def contained(values: list[str]) -> _TextTest:
    """Returns a test whether a text contains any of the literals."""
    if len(values) > CONTAINED_LITERALS_MAX:
        automaton = AhoCorasick(values)
        return lambda text: bool(automaton.find_matches_as_indexes(text))
    literals = tuple(values)

    def contains(text: str) -> bool:
        for literal in literals:  # noqa: SIM110 - a generator costs as much as the search
            if literal in text:
                return True
        return False

    return contains


def _field_test(field: str, test: Test) -> Predicate:
    match test:
        case Text(where=where, value=value, cased=cased):
            return _text_predicate(field, where, cased, [value])
        case Like(cased=cased):
            like = _text_test(test)
            read = Event.value if cased else Event.folded
            return lambda event: like(read(event, field))
        case Regex():
            matches = _text_test(test)
            return lambda event: matches(event.value(field))
        case Network(cidr=cidr):
            return _network(field, cidr)
        case Compare():
            return _compare(field, test)
        case IsNull():
            return lambda event: event.value(field) == ""
        case Exists(wanted=wanted):
            return lambda event: event.has(field) is wanted
        case SameAs(field=other, where=where):
            return _same(field, other, where)
    assert_never(test)


def _keyword(test: Text | Like | Regex) -> Predicate:
    holds = _text_test(test)
    if isinstance(test, Regex) or test.cased:
        return lambda event: any(holds(event.value(field)) for field in event.own_fields())
    return lambda event: any(holds(event.folded(field)) for field in event.own_fields())


def _text_test(test: Text | Like | Regex) -> _TextTest:
    match test:
        case Text(where="contains", value=value):
            return lambda text: value in text
        case Text(where="startswith", value=value):
            return lambda text: text.startswith(value)
        case Text(where="endswith", value=value):
            return lambda text: text.endswith(value)
        case Text(value=value):
            return lambda text: text == value
        case Like(pieces=pieces):
            shape = re2.compile(("(?s)" + ".*".join(map(_piece, pieces))).encode())
            return lambda text: shape.fullmatch(_utf8(text)) is not None
        case Regex(pattern=pattern, flags=flags):
            regex = re2.compile((f"(?{flags}){pattern}" if flags else pattern).encode())
            return lambda text: regex.search(_utf8(text)) is not None
    assert_never(test)


def _utf8(text: str) -> bytes:
    """Encodes a text for RE2. Given a `str`, RE2 would also compute character offsets, which are
    unused."""
    return text.encode("utf-8", "replace")


def _piece(piece: tuple[str | None, ...]) -> str:
    return "".join("." if part is None else re2.escape(part) for part in piece)


@memoize(NETWORK_ADDRESSES_MEMOIZED)
def _address(text: str) -> tuple[int, int] | None:
    """Returns IP version and number of an address. IPv4 within IPv6 counts as IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.version, int(mapped)


def _network(field: str, cidr: str) -> Predicate:
    network = ip_network(cidr, strict=False)
    version = network.version
    first, last = int(network.network_address), int(network.broadcast_address)

    def within(event: Event) -> bool:
        address = _address(event.value(field))
        return address is not None and address[0] == version and first <= address[1] <= last

    return within


_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "lt": lambda one, other: one < other,
    "lte": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "gte": lambda one, other: one >= other,
}


def _compare(field: str, test: Compare) -> Predicate:
    holds, number = _OPERATORS[test.operator], test.number

    def compared(event: Event) -> bool:
        try:
            return holds(float(event.value(field)), number)
        except ValueError:
            return False

    return compared


def _same(field: str, other: str, where: Where) -> Predicate:
    def same(event: Event) -> bool:
        text, wanted = event.folded(field), event.folded(other)
        if not event.has(field) or not event.has(other):
            return False
        match where:
            case "equals":
                return text == wanted
            case "startswith":
                return text.startswith(wanted)
            case "endswith":
                return text.endswith(wanted)
        return wanted in text

    return same
