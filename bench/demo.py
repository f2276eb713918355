"""Measures the time until `vedette demo` is ready, without existing data."""

import subprocess
import sys
import time
from pathlib import Path

from bench.figure import Figure, Outcome, Part


def run(room: Path) -> Outcome:
    data = room / "demo"
    command = [sys.executable, "-m", "vedette", "demo", "--data", str(data), "--port", "0"]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        ready_s = 0.0
        for line in process.stdout:
            if line.startswith("Ready"):
                ready_s = time.monotonic() - begin
                break
    finally:
        process.terminate()
        process.communicate(timeout=120)
    if not ready_s:
        raise RuntimeError(f"the demo ended with {process.returncode} before it was ready")
    return Outcome(
        "a day of 60 simulated hosts, about a million events",
        (Figure("ready after", ready_s, "s", at_most=60),),
    )


PART = Part("demo", run)
