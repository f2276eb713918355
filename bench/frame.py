"""Runs parts, prints one table a part, and keeps `results.json` up to date."""

import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.figure import Figure, Outcome, Part
from bench.machine import gauged

RESULTS = Path(__file__).with_name("results.json")


def run_parts(parts: Sequence[Part]) -> bool:
    """True when every target is met. Results of parts that were not run stay in the file."""
    console = Console(width=110, highlight=False)
    console.print(hardware())
    all_met = True
    for part in parts:
        room = Path(tempfile.mkdtemp(prefix=f"vedette-bench-{part.name}-"))
        begin = time.monotonic()
        try:
            with gauged() as machine:
                outcome = part.run(room)
        finally:
            shutil.rmtree(room, ignore_errors=True)
        outcome = replace(outcome, figures=(*outcome.figures, *machine))
        _show(console, part, outcome, time.monotonic() - begin)
        _record(part, outcome)
        all_met = all_met and all(figure.is_met for figure in outcome.figures)
    return all_met


def hardware() -> str:
    """Processor, cores, memory and system, in one line."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = len(os.sched_getaffinity(0))
    return (
        f"{_processor()}, {cores} cores, {memory_gb:.0f} GB,"
        f" {platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _show(console: Console, part: Part, outcome: Outcome, seconds: float) -> None:
    table = Table(title=f"\n{part.name}: {outcome.data_set}", title_justify="left")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    table.add_column("target", justify="right")
    table.add_column("ratio", justify="right")
    table.add_column("")
    for figure in outcome.figures:
        table.add_row(
            figure.name,
            f"{_number(figure.value)} {figure.unit}",
            _target(figure),
            _ratio(figure),
            "" if figure.at_least is None and figure.at_most is None else _verdict(figure),
        )
    console.print(table)
    for note in outcome.notes:
        console.print(f"  {note}")
    console.print(f"  make bench PART={part.name}   ({seconds:.0f} s)")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.4g}"


def _target(figure: Figure) -> str:
    if figure.at_least is not None:
        return f"at least {_number(figure.at_least)}"
    return "" if figure.at_most is None else f"at most {_number(figure.at_most)}"


def _ratio(figure: Figure) -> str:
    target = figure.at_least if figure.at_least is not None else figure.at_most
    return f"{figure.value / target:.2f}" if target else ""


def _verdict(figure: Figure) -> str:
    return "[green]met[/]" if figure.is_met else "[red]MISSED[/]"


def _record(part: Part, outcome: Outcome) -> None:
    known: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    kept = [entry for entry in known if entry["part"] != part.name]
    RESULTS.write_text(
        json.dumps(kept + [_entry(part, figure) for figure in outcome.figures], indent=1) + "\n"
    )


def _entry(part: Part, figure: Figure) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "part": part.name,
        "name": figure.name,
        "value": round(figure.value, 4),
        "unit": figure.unit,
    }
    if figure.at_least is not None:
        entry["at_least"] = figure.at_least
    if figure.at_most is not None:
        entry["at_most"] = figure.at_most
    return entry
