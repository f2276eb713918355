"""Intervals and times of a timeline, as callers write them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import BadRequestError
from vedette.web.processes.analysis.timeline_json import interval_of, moment_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("1s", 1),
        ("1", 1),
        ("second", 1),
        ("30 s", 30),
        ("5m", 300),
        ("minute", 60),
        ("2 Hours", 7_200),
        ("1d", 86_400),
        ("day", 86_400),
        ("86400", 86_400),
    ],
)
def test_an_interval_is_a_number_and_a_unit(text: str, seconds: int | None) -> None:
    assert interval_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["0", "0s", "-1", "2d", "86401", "1.5h", "1w", "x", "h1", "9999999", "1s1s", "٣s"]
)
def test_any_other_interval_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadRequestError, match="interval"):
        interval_of(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("", None),
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01T00:00:01.000002Z", 1_000_002),
        ("1970-01-01 00:00:01", 1_000_000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T02:00:00 02:00", 0),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, moment: int | None) -> None:
    assert moment_of("start", text) == moment


@given(st.text(max_size=30))
def test_no_text_breaks_the_readers(text: str) -> None:
    with suppress(BadRequestError):
        interval_of(text)
    with suppress(BadRequestError):
        moment_of("end", text)
