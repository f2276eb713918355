"""Giving back memory that the start needed."""

import math
import subprocess
import sys

from vedette.bootstrap.memory.start_memory import _unchanged_mappings

SMAPS = """\
55d0-55e0 r-xp 00001000 fe:01 77                         /usr/lib/libengine.so
Rss:                 120 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
55e0-55f0 r--p 00002000 fe:01 77                         /usr/lib/libengine.so
Rss:                  12 kB
Anonymous:             8 kB
55f0-5600 rw-p 00003000 fe:01 77                         /usr/lib/libengine.so
Anonymous:             0 kB
5600-5610 r--p 00000000 00:00 0
Anonymous:             0 kB
5610-5620 r--s 00000000 fe:01 78                         /shared
Anonymous:             0 kB
5620-5630 r--p 00000000 fe:01 79                         /usr/lib/libother.so.6.0.30
Anonymous:             0 kB
5630-5640 r--p 00000000 fe:01 80                         /data/telemetry/part.bin
Anonymous:             0 kB
"""


def test_only_unchanged_pages_of_files_are_given_back() -> None:
    assert list(_unchanged_mappings(SMAPS)) == [(0x55D0, 0x55E0), (0x5620, 0x5630)]


PROGRAM = """
import math
import pyarrow as pa
from vedette.bootstrap.memory.start_memory import release_start_memory

def resident_kb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssFile:"))

before = resident_kb()
released = release_start_memory()
print(released > 0, resident_kb() < before / 2, pa.array([1, 2]).to_pylist(), math.sqrt(4))
"""


def test_a_program_goes_on_with_libraries_whose_pages_were_given_back() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True
    )
    assert ran.stdout.split("\n")[0] == f"True True [1, 2] {math.sqrt(4)}", ran.stderr
