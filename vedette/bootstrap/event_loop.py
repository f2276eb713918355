"""Keeps the event loop from waiting: it accepts, answers health checks and passes work on, so
everybody waits while it waits. Its work is short, and all that is long has threads of its own.

It has priority over these threads at the cores and at the interpreter lock, does not wait for them
to start, and collects the garbage of all of them: a thread without priority that is interrupted
while it collects keeps the interpreter lock all the time.
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

from vedette.limits import (
    EVENT_LOOP_NICE,
    GARBAGE_ALL_TICKS,
    GARBAGE_MIDDLE_TICKS,
    THREAD_IDLE_S,
    THREAD_SWITCH_INTERVAL_S,
    THREAD_TIMER_SLACK_NS,
)

log = structlog.get_logger(__name__)

_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274}
"""The number of the system call. `os.sched_setscheduler`, which takes the same flag, is refused
with it under systemd's RestrictRealtime, and libc has no function for this one."""

_RESET_ON_FORK: Final = 0x01


_PR_SET_TIMERSLACK: Final = 29


class _Attributes(ctypes.Structure):
    """`struct sched_attr` in its first version."""

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
    """Let this thread and those that it starts wait longer for the interpreter lock than the event
    loop does. For threads that the event loop starts, since they inherit what it has."""
    _set_timer_slack(THREAD_TIMER_SLACK_NS)


def share_interpreter_lock() -> None:
    """For all threads of the process, before others are started."""
    sys.setswitchinterval(THREAD_SWITCH_INTERVAL_S)
    defer_to_event_loop()


def _set_timer_slack(slack_ns: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0)


def prefer_this_thread() -> bool:
    """Let this thread run before others, and not those that it starts; and let it have the
    interpreter lock before them. False where the process may not have priority (it needs
    CAP_SYS_NICE), or was started with a nice value of its own: everything works all the same,
    slower under load."""
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
    """Starts all threads that routes run in, and keeps them: whoever starts a thread waits until it
    runs, which the event loop did for each of 40 requests that came at once."""
    WorkerThread.MAX_IDLE_TIME = THREAD_IDLE_S
    count = int(to_thread.current_default_thread_limiter().total_tokens)
    all_there = threading.Barrier(count)

    def begin() -> None:
        defer_to_event_loop()
        all_there.wait()

    await asyncio.gather(*(to_thread.run_sync(begin) for _ in range(count)))


def collect_garbage(tick: int) -> None:
    """One portion; called on the event loop ten times a second. Automatic collection is off: it
    would traverse every batch of telemetry many times, a sixth of the work, and find nothing."""
    if tick % GARBAGE_ALL_TICKS == 0:
        gc.collect()
    else:
        gc.collect(1 if tick % GARBAGE_MIDDLE_TICKS == 0 else 0)
