"""`Engine.query_page`: a page and the exact number of all rows, in one bounded pass."""

from collections.abc import Sequence
from typing import Any

import pytest

from vedette.errors import UnavailableError
from vedette.store.engine.client import Engine

NUMBERS = "SELECT number, toString(number) FROM numbers(1000000) ORDER BY number DESC"
LARGEST = 2**64 - 1


@pytest.mark.parametrize(
    ("limit", "rows"),
    [
        ("LIMIT 2", [[999_999, "999999"], [999_998, "999998"]]),
        ("LIMIT 1 OFFSET 999999", [[0, "0"]]),
        ("LIMIT 10 OFFSET 2000000", []),
    ],
)
def test_a_page_has_the_number_of_all_rows(
    contract_engine: Engine, limit: str, rows: Sequence[Sequence[Any]]
) -> None:
    page = contract_engine.query_page(f"{NUMBERS} {limit}")
    assert (page.total, [list(row) for row in page.rows]) == (1_000_000, rows)


def test_a_page_of_nothing_is_empty(contract_engine: Engine) -> None:
    page = contract_engine.query_page("SELECT 1 FROM numbers(10) WHERE 0 ORDER BY 1 LIMIT 5")
    assert (page.total, list(page.rows)) == (0, [])


def test_numbers_and_texts_are_exact(contract_engine: Engine) -> None:
    text = "'\"\\{x:String}\n\u202e%s"
    page = contract_engine.query_page(
        "SELECT toUInt64({most:UInt64}), {text:String} FROM numbers(2) "
        "WHERE 1 ORDER BY number LIMIT 1",
        {"most": LARGEST, "text": text},
        settings={"log_comment": "it's a \\ comment"},
    )
    assert (page.total, list(page.rows)) == (2, [[LARGEST, text]])


def test_memory_depends_on_the_page_only(contract_engine: Engine) -> None:
    sql = (
        "SELECT number, repeat('x', 100) FROM numbers(3000000) ORDER BY cityHash64(number) LIMIT 3"
    )
    limit = {"max_memory_usage": 100_000_000}
    assert contract_engine.query_page(sql, settings=limit).total == 3_000_000


def test_a_page_that_takes_too_long_ends_at_its_deadline(contract_engine: Engine) -> None:
    endless = "SELECT number FROM system.numbers WHERE sleepEachRow(0.01) = 0 ORDER BY 1 LIMIT 1"
    with pytest.raises(UnavailableError) as raised:
        contract_engine.query_page(endless, deadline_s=0.5)
    assert raised.value.reason == "deadline"
    assert contract_engine.query_page("SELECT 1 ORDER BY 1 LIMIT 1").total == 1
