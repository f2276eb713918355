"""Times as senders write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.ingest.times import any_time_us, time_us

_SECOND = 1_704_164_645_000_000  # 2024-01-02 03:04:05 UTC


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02 03:04:05", _SECOND),
        ("2024-01-02T03:04:05Z", _SECOND),
        ("2024-01-02 03:04:05.678", _SECOND + 678_000),
        ("2024-01-02T03:04:05.6Z", _SECOND + 600_000),
        ("2024-01-02T03:04:05.123456789Z", _SECOND + 123_456),
        ("2024-01-02T05:04:05+02:00", _SECOND),
        ("2024-01-02T05:04:05.5+0200", _SECOND + 500_000),
        ("2024-01-01 22:34:05 -0430", _SECOND),
        ("9999-12-31 23:59:59", 253_402_300_799_000_000),
        ("1601-01-01T00:00:00.000Z", 0),
        ("1969-12-31 23:59:59", 0),
        ("2024-13-02 03:04:05", 0),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_text_is_read_as_utc_microseconds(text: str, expected: int) -> None:
    assert time_us(text) == expected
    assert time_us(text) == expected  # from the cache


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (" 2024-01-02 03:04:05 ", _SECOND),
        ("/Date(1704164645000)/", _SECOND),
        ("/Date(1704164645000+0100)/", _SECOND),
        ("/Date(x)/", 0),
        (1_704_164_645, _SECOND),
        (1_704_164_645.5, _SECOND + 500_000),
        (1_704_164_645_000, _SECOND),
        (_SECOND, _SECOND),
        (_SECOND * 1_000, _SECOND),
        (-5, 0),
        (True, 0),
        (None, 0),
        ([1], 0),
    ],
)
def test_values_of_any_type_are_a_time_or_unknown(value: object, expected: int) -> None:
    assert any_time_us(value) == expected


_TEXTS = st.builds(
    lambda moment, between, fraction, zone: (
        moment.strftime(f"%Y-%m-%d{between}%H:%M:%S") + fraction + zone
    ),
    st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)),
    st.sampled_from(" T"),
    st.from_regex(r"(\.[0-9]{1,9})?", fullmatch=True),
    st.sampled_from(["", "Z", "+02:00", "-0430"]),
)


@given(_TEXTS)
def test_a_time_is_what_the_standard_library_reads(text: str) -> None:
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    is_believed = datetime.fromisoformat(text[:19]) > datetime(1970, 1, 1)
    assert time_us(text) == (expected if is_believed else 0)
    assert time_us(text) == (expected if is_believed else 0)  # out of its parts


@given(_TEXTS, st.integers(0, 30), st.characters())
def test_a_time_with_a_wrong_character_is_refused_the_same_once_its_parts_are_known(
    text: str, place: int, wrong: str
) -> None:
    broken = text[:place] + wrong + text[place + 1 :]
    first = time_us(broken)
    time_us(text)
    assert time_us(broken) == first
