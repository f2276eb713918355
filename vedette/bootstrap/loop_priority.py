"""The event loop's turn at the processor: it accepts, answers health checks and passes work on, so
everybody waits while it waits. Its work is short, and all that is long has threads of its own."""

import os
import sys

import structlog

from vedette.limits import EVENT_LOOP_NICE

log = structlog.get_logger(__name__)


def prefer_this_thread() -> bool:
    """Let this thread run before others, and not those that it starts. False where the process may
    not (it needs CAP_SYS_NICE), or was started with a nice value of its own: everything works all
    the same, slower under load."""
    if sys.platform != "linux" or os.getpriority(os.PRIO_PROCESS, 0) != 0:
        return False
    try:
        policy = os.SCHED_OTHER | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, EVENT_LOOP_NICE)  # 0: the calling thread on Linux
    except OSError as error:
        log.info("the event loop has no priority", reason=error.strerror)
        return False
    return True
