"""Markdown that fits in 120 columns."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

WIDTH: Final = 120


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, one line a row. A row wider than a page is a text that belongs elsewhere."""
    lines = [_row(headings), _row(["---"] * len(headings)), *map(_row, rows)]
    for line in lines:
        assert len(line) <= WIDTH, f"too wide by {len(line) - WIDTH}: {line}"
    return "\n".join(lines)


def paragraph(text: str) -> str:
    """Text as one wrapped paragraph."""
    return textwrap.fill(_one_line(text), WIDTH, break_long_words=False, break_on_hyphens=False)


def item(text: str) -> str:
    """A wrapped item of a list."""
    return textwrap.fill(
        _one_line(text),
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def code(text: str) -> str:
    return f"`{text}`"


def sentence(text: str) -> str:
    """Text that begins with a capital and ends with a full stop."""
    return ended(text[:1].upper() + text[1:])


def ended(text: str) -> str:
    """Text with a full stop."""
    text = _one_line(text)
    return text if not text or text[-1] in ".!?:" else f"{text}."


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _one_line(text: str) -> str:
    return " ".join(text.split())
