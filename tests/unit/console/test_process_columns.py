"""The order of columns that a reader keeps, whatever a browser put there."""

import pytest

from vedette.console.process_columns import COLUMNS, in_order, signature_class
from vedette.store.read.binaries import Standing


@pytest.mark.parametrize(
    "kept", [None, "", "nonsense <b>", 7, ["hostname"], {"a": 1}, "x " * 9_999]
)
def test_what_is_no_order_leaves_the_usual_one(kept: object) -> None:
    assert in_order(kept) == COLUMNS


def test_columns_that_were_chosen_come_first_and_once() -> None:
    found = in_order("counts hostname counts")
    assert found[:2] == ("counts", "hostname")
    assert sorted(found) == sorted(COLUMNS)


@pytest.mark.parametrize(
    ("signature", "shown"),
    [("Signed", "sig-signed"), ("Unsigned", "sig-unsigned"), ("", "sig-unknown"),
     ("Bad Signature", "sig-bad"), ("<i>", "sig-bad")],
)  # fmt: skip
def test_a_signature_is_shown_by_its_result(signature: str, shown: str) -> None:
    assert signature_class(Standing(signature, "", 1)) == shown
    assert signature_class(None) == "sig-unknown"
