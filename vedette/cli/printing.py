"""Output of commands: tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vedette.limits import Limit

PIPE_WIDTH_CHARS: Limit[int] = 4_000
"""Width in characters assumed for a pipe: wide enough for every line."""


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table as wide as its content. On a pipe nothing is wrapped or cut."""
    table = Table(*headings, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(_cell, row))
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=PIPE_WIDTH_CHARS)
    console.print(table)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def time_text(time_us: int) -> str:
    """Formats a time in UTC to the second; "" for 0."""
    if not time_us:
        return ""
    return datetime.fromtimestamp(time_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
