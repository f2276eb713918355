"""An import collects the garbage that nobody else does: automatic collection is off meanwhile."""

import subprocess
import sys
from pathlib import Path

CODE = """
import gc, sys, time, weakref
from pathlib import Path
from vedette.cli.importing.offline_import import own_store
from vedette.settings import Settings

class Cycle:
    def __init__(self):
        self.itself = self

with own_store(Settings(data=Path(sys.argv[1]))):
    assert not gc.isenabled()
    seen = weakref.ref(Cycle())
    until_s = time.monotonic() + 60
    while seen() is not None and time.monotonic() < until_s:
        time.sleep(0.05)
    print("collected" if seen() is None else "kept")
"""


def test_garbage_of_an_import_is_collected(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "collected"), ran.stderr
