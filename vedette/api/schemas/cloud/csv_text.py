"""CSV whose cells no spreadsheet takes for formulas."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lines that end with CR LF (RFC 4180). A text that begins like a formula gets an apostrophe in
    front, as spreadsheets write it themselves."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(headings)
    writer.writerows([_cell(one) for one in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULAS):
        return f"'{value}"
    return value
