"""The boot time, which converts the kernel's clocks to wall-clock times.

The kernel reports process start times in ticks since boot. The wall clock jumps when it is set, so
the boot time is saved once per boot: a process keeps its key for its lifetime, also across restarts
of the sensor.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ..durable_files import write_durably
from .audit import boot_id

TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Boot:
    """A boot of the machine. `began_us` is its wall-clock time."""

    id: str
    began_us: int

    def start_us(self, ticks: int) -> int:
        """Returns the wall-clock time (us) of `starttime` in /proc/PID/stat."""
        return self.began_us + ticks * TICK_US

    def of_monotonic_us(self, monotonic_ns: int, suspended_ns: int) -> int:
        """Returns the wall-clock time (us) of a proc connector time stamp, truncated to ticks like
        /proc."""
        ticks = (monotonic_ns + suspended_ns) // 1_000 // TICK_US
        return self.start_us(ticks)


def suspended_ns() -> int:
    """Returns the time (ns) that the machine was suspended since boot. The proc connector's clock
    omits it."""
    slept = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return slept if slept > 1_000_000 else 0


def load(path: Path) -> Boot:
    """Returns the boot time as first saved in this boot."""
    now = boot_id()
    try:
        saved = json.loads(path.read_bytes())
        if saved["id"] == now:
            return Boot(now, int(saved["began_us"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    began_us = (time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) // 1_000
    write_durably(path, json.dumps({"id": now, "began_us": began_us}).encode())
    return Boot(now, began_us)
