"""The examples on the pages about the query language work."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vedette.errors import QueryError
from vedette.model.address import pack_address
from vedette.model.columns import EVENT_KINDS, KEY, METADATA
from vedette.model.fields import EVENT_COLUMNS, PROCESS
from vedette.model.tokens import cmdline_tokens
from vedette.query import check, match_segment, parse

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("query-*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)
NOW_US = int(datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp()) * 1_000_000


def rows(*headings: str) -> list[list[str]]:
    """Returns the rows of the tables with these headings."""
    found, inside = [], False
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            inside = False
        elif cells == list(headings):
            inside = True
        elif inside and not line.startswith("| ---"):
            found.append(cells)
    return found


def values(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


COLUMNS = {column.name: column.type for column in (*KEY, *METADATA)} | {
    column.name: column.type for kind in EVENT_KINDS for column in kind.columns
}


def stored(column: str, text: str) -> Any:
    """A value as the store has it."""
    match COLUMNS.get(column):
        case "time":
            return int(datetime.fromisoformat(text + "+00:00").timestamp()) * 1_000_000
        case "ip":
            return pack_address(text)
        case "text":
            return text
    return int(text)


def segment(query: str, text: str) -> dict[str, Any]:
    """A segment in which the field of the query has that value."""
    field = PROCESS.find(query.partition(":")[0])
    assert field is not None
    if field.type == "cross_type":
        return {"crossproc_kind": [int(text) // 2], "crossproc_is_target": [int(text) % 2]}
    column = (field.sources or field.paths)[0]
    value = stored(column, text)
    found = {column: [value] if column in EVENT_COLUMNS else value}
    if field.name == "cmdline":
        found["cmdline_tokens"] = cmdline_tokens(text)
    return found


def finds(query: str, text: str) -> bool:
    checked = check(parse(query), now_us=NOW_US)
    return match_segment(checked, segment(query, text))


@pytest.mark.parametrize("row", rows("Query", "Matches", "Does not match"), ids=lambda row: row[0])
def test_an_example_finds_what_the_page_says(row: list[str]) -> None:
    (query,) = values(row[0])
    found, missed = values(row[1]), values(row[2])
    assert found
    assert missed
    assert {text: finds(query, text) for text in found} == dict.fromkeys(found, True)
    assert {text: finds(query, text) for text in missed} == dict.fromkeys(missed, False)


@pytest.mark.parametrize("row", rows("Rejected", "Reason"), ids=lambda row: row[0])
def test_a_query_that_the_page_lists_as_rejected_is_rejected(row: list[str]) -> None:
    (query,) = values(row[0])
    with pytest.raises(QueryError):
        check(parse(query), now_us=NOW_US)


def test_queries_in_blocks_are_understood() -> None:
    queries = re.findall(r"```query\n(.*?)```", TEXT, re.DOTALL)
    assert queries
    for query in "".join(queries).splitlines():
        check(parse(query), now_us=NOW_US)
