"""CSV tables become one JSON object for each row; what is broken costs its own line."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.ingest.framing.body import split_body
from vedette.ingest.framing.csv_table import CSV_COLUMNS_MAX, CsvTable, begins_table
from vedette.limits import RECORD_BYTES_MAX

_COLUMNS = ("Timestamp", "DeviceName", "ActionType", "ProcessCommandLine", "FileName")
_HEADER = ",".join(_COLUMNS)


def _table(*rows: Any, end: str = "\r\n") -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator=end)
    writer.writerow(_COLUMNS)
    writer.writerows(rows)
    return written.getvalue().encode()


def _rows(body: bytes) -> list[Any]:
    return [json.loads(piece) for piece in split_body(body)]


def _row(number: int, cmdline: str = "cmd") -> tuple[str, ...]:
    return (f"2024-01-02T03:04:{number:02}Z", "desk-31", "ProcessCreated", cmdline, "a.exe")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_a_row_is_an_object_with_the_columns_that_have_a_value(end: str, mark: bytes) -> None:
    cmdline = 'cmd /c "echo a,b"\nsecond line'
    body = mark + _table(_row(1, cmdline), ("2024-01-02T03:04:02Z", "desk-31", "", "", ""), end=end)
    assert _rows(body) == [
        dict(zip(_COLUMNS, _row(1, cmdline), strict=True)),
        {"Timestamp": "2024-01-02T03:04:02Z", "DeviceName": "desk-31"},
    ]


def test_a_table_in_utf_16_is_read() -> None:
    assert len(_rows(_table(_row(1)).decode().encode("utf-16"))) == 1


@pytest.mark.parametrize(
    "head",
    [
        b"a,b,c\n1,2,3\n",
        b'{"Timestamp,DeviceName,ActionType":1}\n',
        b"[1,2]\n",
        b"Timestamp;DeviceName;ActionType\n",
        b",".join([b"Timestamp,DeviceName,ActionType", *[b"x"] * CSV_COLUMNS_MAX]) + b"\n",
        b"",
    ],
)
def test_text_without_the_columns_of_a_known_table_is_no_table(head: bytes) -> None:
    assert not begins_table(head)
    assert CsvTable.of(head) is None


def test_a_first_line_that_is_cut_still_shows_a_table_but_cannot_be_read() -> None:
    assert begins_table(_HEADER.encode())
    assert CsvTable.of(_HEADER.encode()) is None


@pytest.mark.parametrize(
    ("middle", "broken"),
    [
        ('2024,desk-31,"never closed', 1),
        ("1,2,3,4,5,6,7,8", 1),
        ('x "stray, quote', 1),
        ('"', 1),
    ],
)
def test_a_broken_row_costs_its_own_line(middle: str, broken: int) -> None:
    rows = [_row(number) for number in range(1, 4)]
    lines = _table(*rows, end="\n").decode().splitlines()
    body = "\n".join([*lines[:2], middle, *lines[2:]]).encode()
    pieces = split_body(body)
    good = [json.loads(piece) for piece in pieces if piece.startswith(b'{"Timestamp":"2024-')]
    assert [one["Timestamp"] for one in good if len(one) == 5] == [row[0] for row in rows]
    assert len(pieces) == len(rows) + broken


def test_a_row_that_is_cut_has_the_columns_that_came() -> None:
    assert _rows(_HEADER.encode() + b"\n2024,desk-31")[0] == {
        "Timestamp": "2024",
        "DeviceName": "desk-31",
    }


def test_a_row_above_the_size_of_a_record_costs_only_itself() -> None:
    body = _table(_row(1), _row(2, "x" * (RECORD_BYTES_MAX + 10)), _row(3))
    pieces = split_body(body)
    assert [len(piece) <= RECORD_BYTES_MAX + 1 for piece in pieces] == [True] * 3
    assert [piece.startswith(b"{") for piece in pieces] == [True, False, True]


def _by_blocks(body: bytes, size: int) -> list[bytes]:
    table = CsvTable.of(body)
    assert table is not None
    held, pieces, at = b"", [], 0
    while True:
        block = body[at : at + size]
        at += size
        held += block
        last = at >= len(body)
        if b"\n" not in held and not last:
            continue
        some, taken = table.split(held, last=last)
        pieces += some
        held = held[taken:]
        if last:
            assert held == b""
            return pieces


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\r")),
            min_size=5,
            max_size=5,
        ),
        max_size=6,
    ),
    st.integers(1, 200),
)
def test_any_values_come_out_as_they_were_in_blocks_of_any_size(
    rows: list[list[str]], size: int
) -> None:
    body = _table(*rows, end="\n")
    pieces = _by_blocks(body, size)
    wanted = [
        {name: value for name, value in zip(_COLUMNS, row, strict=True) if value} for row in rows
    ]
    assert [json.loads(piece) for piece in pieces] == wanted


@given(st.binary(max_size=400), st.integers(1, 64))
def test_no_table_raises_and_blocks_give_the_same_pieces(rest: bytes, size: int) -> None:
    body = _HEADER.encode() + b"\n" + rest.replace(b"\r", b"")
    table = CsvTable.of(body)
    assert table is not None
    whole, taken = table.split(body)
    assert taken == len(body)
    assert _by_blocks(body, size) == whole


@pytest.mark.parametrize("unit", [b'"\n', b'",\n', b'a"b\n', b'""\n', b",\n", b'"a\nb"\n', b"x"])
def test_hostile_tables_take_linear_time(unit: bytes) -> None:
    """Bounded by the pieces and bytes that come out, not by a clock."""
    body = _HEADER.encode() + b"\n" + unit * 200_000
    pieces = split_body(body)
    assert len(pieces) <= 200_001
    assert sum(map(len, pieces)) <= 30 * len(body)


# --- containers ----------------------------------------------------------------------------


def test_the_records_of_a_container_are_records() -> None:
    body = b'{"records": [{"a": 1}, {"b": [2]}, 7]}\n{"c": 3}\n{"records":[]}'
    assert split_body(body) == [b'{"a": 1}', b'{"b": [2]}', b"7", b'{"c": 3}', b'{"records":[]}']


@pytest.mark.parametrize(
    "piece",
    [
        b'{"a": "\\"records\\": [1]", "records": [{"b": 1}]}',
        b'{"records": {"a": 1}}',
        b'{"records": "[1]"}',
        b'{"message": "{\\"records\\":[{}]}"}',
    ],
)
def test_an_object_whose_first_member_is_no_list_of_records_stays_one_record(piece: bytes) -> None:
    assert split_body(piece) == [piece]
