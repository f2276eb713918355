"""The order of columns and facets that a reader keeps, whatever a browser put there."""

import pytest

from vedette.store.read.binaries import Standing
from vedette.web.page.process_columns import COLUMNS, arranged, signature_class

FACETS = ("hostname", "path", "group")


@pytest.mark.parametrize(
    "kept", [None, "", "nonsense <b>", 7, ["hostname"], {"a": 1}, "x " * 9_999]
)
def test_what_is_no_order_leaves_the_usual_one(kept: object) -> None:
    found = arranged({"columns": kept, "facets": kept, "hidden": kept}, FACETS)
    assert (found.columns, found.facets) == (COLUMNS, FACETS)
    assert not found.hidden_facets


def test_columns_that_were_chosen_come_first_and_once() -> None:
    found = arranged({"columns": "counts hostname counts", "hidden": "parent hits"}, FACETS)
    assert found.columns[:2] == ("counts", "hostname")
    assert sorted(found.columns) == sorted(COLUMNS)
    assert found.hidden_columns == {"parent_name", "hits"}


def test_facets_have_the_order_that_was_chosen_and_some_are_left_out() -> None:
    found = arranged({"facets": "group -path nonsense group"}, FACETS)
    assert found.facets == ("group", "path", "hostname")
    assert found.shown_facets == ("group", "hostname")


@pytest.mark.parametrize(
    ("signature", "shown"),
    [
        ("Signed", "sig-signed"),
        ("Unsigned", "sig-unsigned"),
        ("", "sig-unknown"),
        ("Bad Signature", "sig-bad"),
        ("<i>", "sig-bad"),
    ],
)
def test_a_signature_is_shown_by_its_result(signature: str, shown: str) -> None:
    assert signature_class(Standing(signature, "", 1)) == shown
    assert signature_class(None) == "sig-unknown"
