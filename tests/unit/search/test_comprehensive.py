"""When the answer of a search can be trusted as the answer for processes
(docs/query-evaluation.md#one-segment-at-a-time)."""

import pytest

from vedette.query import check, parse
from vedette.search.comprehensive import is_comprehensive


@pytest.mark.parametrize(
    ("query", "trusted"),
    [
        ("", True),
        ("process_name:notepad.exe", True),
        ("notepad.exe", True),
        ("filemod:a process_name:b -username:c", True),
        ("-process_name:a", True),
        ("filemod:a domain:b", False),
        ("filemod:a OR filemod:b", False),
        ("-filemod:a", False),
        ("-(process_name:a OR domain:b)", False),
        ("-(-domain:b)", True),
        ("filemod_count:[3 TO *]", True),
        ("-filemod_count:0", False),
        ("filemod_count:[3 TO *] domain:b", False),
        ("digsig_result_modload:Unsigned filemod:a", False),
        ("digsig_result:Unsigned filemod:a", True),
    ],
)
def test_one_positive_event_leaf_can_be_trusted(query: str, trusted: bool) -> None:
    assert is_comprehensive(check(parse(query), now_us=0)) is trusted
