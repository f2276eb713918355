"""Whether a query restricts anything."""

import pytest

from vedette.model.alert_fields import ALERT
from vedette.model.field import Catalogue
from vedette.model.fields import PROCESS
from vedette.model.threat.report_fields import REPORT
from vedette.query import check, parse_stored
from vedette.query.check.coverage import matches_all

NOW_US = 1_700_000_000_000_000

EVERYTHING = (
    "",
    "q=",
    "*",
    "q=*",
    "**",
    "*:*",
    "q=*:*",
    "q=%2A%3A%2A",
    "(*:*)",
    "*:* *:*",
    "title:x OR *:*",
    "-(-*:*)",
    "-title:''",
    "-title:---",
    '-(title:"" title:y)',
    "id:*",
    "unique_id:[* TO *]",
    "created_time:*",
    "created_time:[* TO *]",
    "status:*",
    "alert_severity:*",
    "title:x OR -title:x",
    "-(title:x -title:x)",
    "-md5:ab",
    "q=*:*&svc.fq=*&rows=10",
)
RESTRICTED = (
    "title:x",
    "-title:x",
    "q=status%3AResolved",
    "*:* -status:Resolved",
    "title:*",
    "-title:*",
    "created_time:-24h",
    "created_time:[* TO 2026-01-01]",
    "assigned_to:*",
    "-*:*",
    "title:''",
    "alert_severity:[1 TO *]",
    "title:x OR title:y",
    "q=&svc.q.title=x",
    "q=*&svc.fq.status=New",
)


def covers(text: str, catalogue: Catalogue = ALERT) -> bool:
    tree = check(parse_stored(text, catalogue), catalogue, now_us=NOW_US)
    return matches_all(tree, catalogue.always)


@pytest.mark.parametrize("text", EVERYTHING)
def test_a_query_without_a_condition_matches_all(text: str) -> None:
    assert covers(text)


@pytest.mark.parametrize("text", RESTRICTED)
def test_a_query_with_a_condition_does_not(text: str) -> None:
    assert not covers(text)


@pytest.mark.parametrize(
    ("text", "catalogue", "expected"),
    [
        ("feed_id:*", REPORT, True),
        ("report_id:*", REPORT, True),
        ("is_ignored:false", REPORT, False),
        ("process_id:*", PROCESS, True),
        ("-cmdline:'", PROCESS, True),
        ("cmdline:*", PROCESS, False),
        ("-md5:ab", PROCESS, True),
    ],
)
def test_each_search_knows_what_its_documents_always_have(
    text: str, catalogue: Catalogue, expected: bool
) -> None:
    assert covers(text, catalogue) is expected


def test_a_thousand_alternatives_are_no_problem() -> None:
    assert not covers(" OR ".join(f"title:w{number}" for number in range(1000)))
    assert covers(" OR ".join(f"title:w{number}" for number in range(1000)) + " OR *:*")
