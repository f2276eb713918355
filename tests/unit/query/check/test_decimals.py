"""Numbers with decimals are compared in thousandths."""

import pytest

from vedette.errors import QueryError
from vedette.model.alert_fields import ALERT
from vedette.query import check, match_segment, parse


def matches(query: str, thousandths: int) -> bool:
    checked = check(parse(query, ALERT), ALERT, now_us=0)
    return match_segment(checked, {"alert_severity": thousandths})


@pytest.mark.parametrize(
    ("query", "found", "missed"),
    [
        ("alert_severity:50.625", (50_625,), (50_624, 50_626)),
        ("alert_severity:[50 TO *]", (50_000, 99_000), (49_999,)),
        ("alert_severity:[50.0001 TO 51]", (50_001, 51_000), (50_000, 51_001)),
        ("alert_severity:{50 TO 51}", (50_001, 50_999), (50_000, 51_000)),
        ("alert_severity:{50.0005 TO 50.9995}", (50_001, 50_999), (50_000, 51_000)),
        ("alert_severity:[* TO -1.5]", (-1_500, -2_000), (-1_499, 0)),
        ("alert_severity:*", (0, -5, 7), ()),
        ("alert_severity:+.5", (500,), (5_000,)),
        ("alert_severity:0.00001", (), (0,)),
    ],
)
def test_a_number_is_compared_exactly(
    query: str, found: tuple[int, ...], missed: tuple[int, ...]
) -> None:
    assert [value for value in found if not matches(query, value)] == []
    assert [value for value in missed if matches(query, value)] == []


@pytest.mark.parametrize("text", ["high", "1e3", "0x10", "1.2.3", "9" * 30, "NaN", "--1"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        matches(f"alert_severity:{text}", 0)


def test_tags_of_processes_are_no_fields_of_alerts() -> None:
    with pytest.raises(QueryError, match="unknown field"):
        check(parse("alliance_score_x:5", ALERT), ALERT, now_us=0)
