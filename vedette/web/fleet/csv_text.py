"""Writes CSV whose cells no spreadsheet evaluates as formulas. `web/page/static/export.js`
implements the same rule; `tests/corpus/csv_cells.json` tests both."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

_FORMULA: Final = re.compile(
    r"[\s\x00-\x20\x7f-\xa0\u200b\u200e\u200f\u2060\ufeff]*[=+@\uff0b\uff0d\uff1d\uff20-]"
)
"""Characters that a spreadsheet skips, followed by the start of a formula, including full-width
characters that East Asian versions accept."""

_BLANK: Final = ("\t", "\r", "\n")
_QUOTED: Final = re.compile(r'[",;|\t\r\n]|^\s|\s$')
"""Characters that some spreadsheets use as separators or trim."""


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns CSV with CR LF line ends (RFC 4180)."""
    return "".join(csv_line(one) for one in (headings, *rows))


def csv_line(cells: Iterable[object]) -> str:
    """Returns a line with its line end."""
    return ",".join(map(_cell, cells)) + "\r\n"


def _cell(value: object) -> str:
    """Formats a cell. Prefixes a text that looks like a formula with an apostrophe, the notation of
    spreadsheets themselves; numbers stay unchanged."""
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, str) and (_FORMULA.match(text) or text.startswith(_BLANK)):
        text = f"'{text}"
    if not _QUOTED.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'
