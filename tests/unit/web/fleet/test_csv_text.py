"""CSV: cells that no spreadsheet takes for formulas, nor cuts in two."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from vedette.web.fleet.csv_text import csv_line, csv_text

CASES = json.loads((Path(__file__).parents[3] / "corpus" / "csv_cells.json").read_text())


@pytest.mark.parametrize(("value", "written"), CASES)
def test_a_cell_is_no_formula_and_stays_one(value: Any, written: str) -> None:
    assert csv_line([value, "x"]) == f"{written},x\r\n"
    (row,) = csv.reader(io.StringIO(csv_line([value, "x"]), newline=""))
    text = "" if value is None else str(value)
    assert row in ([text, "x"], [f"'{text}", "x"])


def test_headings_are_cells_too() -> None:
    assert csv_text(["a;b"], [["=1", 2]]) == '"a;b"\r\n\'=1,2\r\n'
