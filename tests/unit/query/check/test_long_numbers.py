"""Numbers without end, and what only looks like a number, in every place of a query that has one:
an error with its place, or a query that finds nothing."""

import pytest

from vedette.errors import QueryError
from vedette.model.alert_fields import ALERT
from vedette.model.binary_fields import BINARY
from vedette.model.field import Catalogue
from vedette.model.fields import PROCESS
from vedette.query import check, parse

NUMBERS = {
    "digits": "9" * 5_000,
    "a number of 20 digits": "9" * 20,
    "zeros": "0" * 5_000 + "1",
    "hexadecimal": "0x" + "f" * 5_000,
    "digits of another script": "\u0663" * 20,
    "two signs": "--5",
    "fraction": "1." + "3" * 5_000,
    "exponent": "1e5000",
    "superscript": "\u00b2",
}
PLACES = (
    "{}",
    "-{}",
    "[{} TO *]",
    "[* TO {}]",
    "{}*",
    ">{}",
    "-{}m",
    "NOW-{}DAYS",
    "{}-1",
    "2020-01-01T00:00:{}",
    "{}.1.1.1",
    "10.0.0.0/{}",
)


def place_of_error(query: str, catalogue: Catalogue) -> tuple[int, int]:
    """The whole query where it has none."""
    try:
        check(parse(query, catalogue), catalogue, now_us=1_700_000_000_000_000)
    except QueryError as error:
        return error.start, error.end
    return 0, len(query)


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("catalogue", [PROCESS, BINARY, ALERT], ids=["process", "binary", "alert"])
def test_a_number_without_end_is_an_error_of_the_query(catalogue: Catalogue, number: str) -> None:
    for field in ("", *(f"{name}:" for name in catalogue.by_name)):
        for place in PLACES:
            query = f"{field}{place.format(number)}"
            start, end = place_of_error(query, catalogue)
            assert 0 <= start < end <= len(query), query[:80]
