"""Tests of a single value of any type as ClickHouse expressions. All values are bound."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from vedette.limits import Limit
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.text_sql import texts_sql
from vedette.query.typed import (
    NUMBER_MAX,
    AddressTest,
    JoinTest,
    NumberTest,
    PresentTest,
    TagTest,
    Test,
    TextTest,
    TimeTest,
)

QUERY_FEW_ADDRESSES_MAX: Limit[int] = 8
"""Maximum single addresses for which a bloom filter is used. Every granule is probed for each
address."""


def is_whole(test: Test) -> bool:
    """Whether the test compares the whole stored value, so that an index of values can decide
    it."""
    return isinstance(test, TextTest) and test.shape == "equals" and test.form == "exact"


def few_addresses(tests: Iterable[Test]) -> list[str]:
    """Returns the addresses if the tests are at most `QUERY_FEW_ADDRESSES_MAX` single addresses;
    else []."""
    found: dict[str, None] = {}
    for test in tests:
        if not isinstance(test, AddressTest) or test.low != test.high:
            return []
        found[_colons(test.low)] = None
    return list(found) if len(found) <= QUERY_FEW_ADDRESSES_MAX else []


def value_sql(value: str, tests: Sequence[Test], bind: Binder) -> str:
    """Returns SQL that is true if any of the tests is true for a value. Tests of one column have
    the same type; tests of a text may include a `PresentTest`."""
    first = tests[0]
    match first:
        case NumberTest():
            return numbers_sql(value, tests, bind)
        case TimeTest():
            return either(_time(value, test, bind) for test in tests if isinstance(test, TimeTest))
        case AddressTest():
            return _addresses(value, tests, bind)
        case TextTest() | PresentTest():
            return texts_sql(value, tests, bind)
        case JoinTest() | TagTest():
            raise AssertionError(f"a join asks hashes and a tag its table, not {value}")
    assert_never(first)


def numbers_sql(value: str, tests: Sequence[Test], bind: Binder) -> str:
    """Returns SQL that is true if any number test is true for a number."""
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
