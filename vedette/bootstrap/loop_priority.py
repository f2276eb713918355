"""The event loop's turn at the processor: it accepts, answers health checks and passes work on, so
everybody waits while it waits. Its work is short, and all that is long has threads of its own."""

import ctypes
import os
import platform
import sys
from typing import Final

import structlog

from vedette.limits import EVENT_LOOP_NICE

log = structlog.get_logger(__name__)

_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274}
"""The number of the system call. `os.sched_setscheduler`, which takes the same flag, is refused
with it under systemd's RestrictRealtime, and libc has no function for this one."""

_RESET_ON_FORK: Final = 0x01


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


def prefer_this_thread() -> bool:
    """Let this thread run before others, and not those that it starts. False where the process may
    not (it needs CAP_SYS_NICE), or was started with a nice value of its own: everything works all
    the same, slower under load."""
    call = _SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or call is None or os.getpriority(os.PRIO_PROCESS, 0) != 0:
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
