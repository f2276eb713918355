"""Splits CSV tables into records: each row becomes a JSON object with the columns as members.

A table is recognized by the columns of its first line (`TABLES`). A row ends at a line break
outside quotes (RFC 4180). If a row has too many fields, or quotes that are not closed within the
size of a record, only its first line is lost: it becomes a record that cannot be decoded.
"""

import codecs
from itertools import pairwise

import msgspec

from vedette.limits import CSV_HEADER_BYTES_MAX, RECORD_BYTES_MAX, Limit

CSV_COLUMNS_MAX: Limit[int] = 512
"""Maximum columns of a CSV table. Defender's largest table has about 100."""


TABLES: tuple[frozenset[str], ...] = (
    frozenset({"RecordNumber", "EventRecordId", "TimeCreated", "EventId", "Channel"}),
    frozenset({"Timestamp", "DeviceName", "ActionType"}),
)
"""Columns of every export: EvtxECmd, Microsoft Defender advanced hunting."""

_QUOTE = b'"'
_encode = msgspec.json.Encoder().encode


def begins_table(data: bytes) -> bool:
    """Whether the data start with the first line of a known table. The end of the line may be
    truncated."""
    return _header(data) is not None


class CsvTable:
    """A table that is read block by block."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns
        self._has_begun = False

    @staticmethod
    def of(data: bytes) -> "CsvTable | None":
        """Returns the table that starts with these bytes; None if the data are not a known table or
        the first line is incomplete."""
        columns = _header(data)
        return None if columns is None or b"\n" not in data else CsvTable(columns)

    def split(self, data: bytes, *, last: bool = True) -> tuple[list[bytes], int]:
        """Returns the records of a block, and the number of bytes consumed. Unless `last`, leaves a
        row that may continue in the next block."""
        start = 0
        if not self._has_begun:
            self._has_begun = True
            start = data.find(b"\n") + 1
        end = len(data) if last else data.rfind(b"\n") + 1
        if end <= start:
            if len(data) - start <= RECORD_BYTES_MAX:
                return [], start
            return [data[start : start + RECORD_BYTES_MAX + 1]], len(data)
        lines = data[start:end].split(b"\n")
        if not lines[-1]:
            del lines[-1]
        pieces: list[bytes] = []
        left = self._rows(lines, pieces, last)
        cut = sum(len(line) + 1 for line in lines[left:])
        return pieces, end - cut if cut else end

    def _rows(self, lines: list[bytes], pieces: list[bytes], last: bool) -> int:
        """Appends the records of the lines. Returns the index of the first line that is left for
        the next block."""
        odd = [line.count(_QUOTE) % 2 for line in lines]
        opened = [place for place, is_odd in enumerate(odd) if is_odd]
        closing = dict(pairwise(opened))
        place = 0
        while place < len(lines):
            end = closing.get(place, -1) if odd[place] else place
            row = b"" if end < 0 else b"\n".join(lines[place : end + 1])
            if end < 0 and not last and _size(lines[place:]) <= RECORD_BYTES_MAX:
                return place
            record = self._record(row) if end >= 0 and len(row) <= RECORD_BYTES_MAX else None
            if record is None:
                pieces.append(lines[place][: RECORD_BYTES_MAX + 1])
                place += 1
                continue
            if row.strip():
                pieces.append(record)
            place = end + 1
        return place

    def _record(self, row: bytes) -> bytes | None:
        """Returns the row as a JSON object; None if it has more fields than the table."""
        fields = _fields(row.decode("utf-8", "replace").rstrip("\r"))
        if len(fields) > len(self._columns):
            return None
        pairs = zip(self._columns, fields, strict=False)
        return _encode({name: value for name, value in pairs if value})


def _size(lines: list[bytes]) -> int:
    return sum(map(len, lines)) + len(lines)


def _header(data: bytes) -> list[str] | None:
    line = data[:CSV_HEADER_BYTES_MAX].removeprefix(codecs.BOM_UTF8).split(b"\n", 1)[0]
    if line[:1] in (b"{", b"[", b"<") or b"," not in line:
        return None
    columns = _fields(line.decode("utf-8", "replace").rstrip("\r"))
    if len(columns) > CSV_COLUMNS_MAX:
        return None
    return columns if any(table.issubset(columns) for table in TABLES) else None


def _fields(row: str) -> list[str]:
    """Returns the fields of a row, without their quotes."""
    fields: list[str] = []
    at = 0
    while True:
        if row[at : at + 1] == '"':
            value, at = _quoted(row, at + 1)
            comma = row.find(",", at)
            value += row[at:] if comma < 0 else row[at:comma]
        else:
            comma = row.find(",", at)
            value = row[at:] if comma < 0 else row[at:comma]
        fields.append(value)
        if comma < 0:
            return fields
        at = comma + 1


def _quoted(row: str, at: int) -> tuple[str, int]:
    """Returns the text of a quoted field that starts at `at`, and the position after its last
    quote."""
    parts: list[str] = []
    while True:
        close = row.find('"', at)
        if close < 0:
            parts.append(row[at:])
            return "".join(parts), len(row)
        parts.append(row[at:close])
        if row[close + 1 : close + 2] != '"':
            return "".join(parts), close + 1
        parts.append('"')
        at = close + 2
