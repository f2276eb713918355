"""Measures the cost of thousands of Sigma rules on recorded telemetry: much PowerShell, little
repetition.

Runs `vedette import` on the recorded sets next to the repository, alternately into a directory with
all public rules and one without rules. Subtracts the startup time: an import of a file with a few
records.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Final

from bench.figure import Figure

TURNS: Final = 3
"""With the rules and without them, each."""

_SHARED: Final = (
    Path(os.environ.get("VEDETTE_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
)
_SMALL: Final = "m13_linux_auditd_arp.zip"


def recorded_figures(room: Path) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Figures, and notes to them; a note that says what lacks where there is nothing recorded."""
    sets = sorted((_SHARED / "telemetry").glob("m*.zip"))
    rules = _SHARED / "sigma" / "rules.tar.gz"
    if not sets or not rules.exists():
        return (), (f"recorded telemetry: left out, there is none under {_SHARED}",)
    small = _SHARED / "telemetry" / _SMALL
    plain, ruled = room / "plain", room / "ruled"
    _vedette("import", "--data", plain, small)
    shutil.copytree(plain, ruled, symlinks=True)
    _vedette("sigma", "import", "--enable", "--data", ruled, rules)
    starts = {one: _import_s(one, room / "turn", [small]) for one in (plain, ruled)}
    turns = [
        (one, _import_s(one, room / "turn", sets) - starts[one])
        for _ in range(TURNS)
        for one in (plain, ruled)
    ]
    ratio = statistics.median(
        one_s / other_s if other is ruled else other_s / one_s
        for (_, one_s), (other, other_s) in pairwise(turns)
    )
    shown = ", ".join(f"{seconds:.1f}" for _, seconds in turns)
    return (
        (Figure("recorded, with rules to without", ratio, "of 1", 0.5),),
        (f"seconds to import {len(sets)} recorded sets, the first without rules: {shown}",),
    )


def _import_s(prepared: Path, data: Path, paths: list[Path]) -> float:
    """Seconds of an import into a copy of a prepared directory."""
    shutil.copytree(prepared, data, symlinks=True)
    os.sync()
    began = time.monotonic()
    _vedette("import", "--data", data, *paths)
    seconds = time.monotonic() - began
    shutil.rmtree(data)
    return seconds


def _vedette(*words: str | Path) -> None:
    command = [sys.executable, "-m", "vedette", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
