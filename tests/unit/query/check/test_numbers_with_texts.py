"""`watchlist_id` of alerts is what alerts show: a number, or the id of a rule or report."""

import pytest

from vedette.errors import QueryError
from vedette.model.alert_fields import ALERT
from vedette.query import check, compile_match, parse
from vedette.query.compile.document import ALERT as ALERT_DOCUMENT
from vedette.query.match import Prepared

RULE_ID = "5c1f0a52-4a3e-4a56-9a33-000000000041"
OF_RULE = {"watchlist_id": 0, "source_id": RULE_ID, "report_id": ""}
OF_FEED = {"watchlist_id": 0, "source_id": "3", "report_id": "rep-0"}
OF_WATCHLIST = {"watchlist_id": 7, "source_id": "7", "report_id": ""}


def _matches(query: str) -> list[bool]:
    asked = compile_match(check(parse(query, ALERT), ALERT, now_us=0))
    rows = (OF_RULE, OF_FEED, OF_WATCHLIST)
    return [asked(Prepared(row, document=ALERT_DOCUMENT)) for row in rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"watchlist_id:{RULE_ID}", [True, False, False]),
        (f'watchlist_id:"{RULE_ID.upper()}"', [True, False, False]),
        ("watchlist_id:rep-0", [False, True, False]),
        ("watchlist_id:7", [False, False, True]),
        ("watchlist_id:[5 TO 9]", [False, False, True]),
        (f"-watchlist_id:{RULE_ID}", [False, True, True]),
    ],
)
def test_ids_of_rules_and_reports_are_found(query: str, found: list[bool]) -> None:
    assert _matches(query) == found


@pytest.mark.parametrize("query", ["sensor_id:abc", "watchlist_id:[a TO b]"])
def test_other_numbers_stay_numbers(query: str) -> None:
    with pytest.raises(QueryError):
        check(parse(query, ALERT), ALERT, now_us=0)
