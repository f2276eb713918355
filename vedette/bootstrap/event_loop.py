"""Keeps the event loop responsive: it accepts connections, answers health checks and dispatches
work, so any delay affects all clients. Its own work is short; long work has its own threads.

The event loop has priority over these threads at the cores and at the interpreter lock, does not
wait for them to start, and runs all garbage collection: a low-priority thread that is interrupted
during a collection would hold the interpreter lock meanwhile.
"""

import asyncio
import ctypes
import gc
import os
import platform
import sys
import threading
from typing import Final

import structlog
from anyio import to_thread
from anyio._backends._asyncio import WorkerThread

from vedette.limits import Limit

THREAD_SWITCH_INTERVAL_S: Limit[float] = 0.00002
"""Time (s) for which a thread keeps the interpreter lock while another waits, without the waiting
thread's timer slack. The event loop waits that long behind a search that renders its response, and
during a flood some hundred times for one health check: each read, write and close of a socket
releases the lock."""

THREAD_TIMER_SLACK_NS: Limit[int] = 100_000
"""Additional delay (ns) with which a thread that waits for the interpreter lock may be woken; the
event loop's is 1. Without it, computing threads would constantly take the lock from each other at
such a short interval."""

EVENT_LOOP_NICE: Limit[int] = -10
"""Nice value of the event loop's thread, against 0 of all others: under load, a health check waited
longer for the processor than for anything else. Needs CAP_SYS_NICE."""

GARBAGE_MIDDLE_TICKS: Limit[int] = 10
"""Interval of collecting the middle generation, in tenths of a second. In one portion, the objects
of a second under attack took up to 0.13 s."""

GARBAGE_ALL_TICKS: Limit[int] = 3_000
"""Interval of collecting all generations, in tenths of a second: five minutes."""

THREAD_IDLE_S: Limit[int] = 24 * 3600
"""Time (s) for which an idle thread of the event loop is kept."""


log = structlog.get_logger(__name__)

_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274}
"""System call numbers. systemd's RestrictRealtime refuses `os.sched_setscheduler` with this flag,
and libc has no wrapper for this call."""

_RESET_ON_FORK: Final = 0x01


_PR_SET_TIMERSLACK: Final = 29


class _Attributes(ctypes.Structure):
    """`struct sched_attr`, first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def defer_to_event_loop() -> None:
    """Makes this thread, and threads that it starts, wait longer for the interpreter lock than the
    event loop does. Call in threads that the event loop starts, since they inherit its settings."""
    _set_timer_slack(THREAD_TIMER_SLACK_NS)


def share_interpreter_lock() -> None:
    """Configures the interpreter lock for all threads of the process. Call before starting other
    threads."""
    sys.setswitchinterval(THREAD_SWITCH_INTERVAL_S)
    defer_to_event_loop()


def _set_timer_slack(slack_ns: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0)


def prefer_this_thread() -> bool:
    """Gives this thread, but not threads that it starts, priority at the processor and the
    interpreter lock. Returns False if the process lacks CAP_SYS_NICE or was started with its own
    nice value; then everything works, but slower under load."""
    _set_timer_slack(1)
    call = _SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or call is None:
        return False
    own = os.getpriority(os.PRIO_PROCESS, 0)
    if own != 0:
        log.info("the event loop has no priority", reason=f"the process has a nice value of {own}")
        return False
    wanted = _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=os.SCHED_OTHER,
        flags=_RESET_ON_FORK,
        nice=EVENT_LOOP_NICE,
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(call, 0, ctypes.byref(wanted), 0) != 0:  # 0: the calling thread
        log.info("the event loop has no priority", reason=os.strerror(ctypes.get_errno()))
        return False
    return True


async def start_threads() -> None:
    """Starts all threads that routes run in, and keeps them. Starting a thread blocks the caller
    until it runs; without this, the event loop waited for each of 40 concurrent requests."""
    WorkerThread.MAX_IDLE_TIME = THREAD_IDLE_S
    count = int(to_thread.current_default_thread_limiter().total_tokens)
    all_there = threading.Barrier(count)

    def begin() -> None:
        defer_to_event_loop()
        all_there.wait()

    await asyncio.gather(*(to_thread.run_sync(begin) for _ in range(count)))


def collect_garbage(tick: int) -> None:
    """Collects one portion of garbage; called on the event loop ten times per second. Automatic
    collection is off: it would traverse every batch of telemetry many times (a sixth of the work)
    without result."""
    if tick % GARBAGE_ALL_TICKS == 0:
        gc.collect()
    else:
        gc.collect(1 if tick % GARBAGE_MIDDLE_TICKS == 0 else 0)
