"""Whose turn it is at the cores where one machine plays several: what measures a server must not
wait for a core itself, and what stands for other machines must never keep one from the server."""

import os
from pathlib import Path


def come_first() -> bool:
    """Let this thread, and those that it starts, run before all that has no real-time policy. False
    where the process may not (CAP_SYS_NICE): it waits for its turn then."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    return True


def come_last() -> None:
    """Let this process, and those that it starts, take no core from others of its session or, where
    the kernel shares the cores out among sessions first ("autogroup"), from a session that was
    given the machine. This one is a session of its own."""
    os.setsid()
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, 19)


def give_the_machine(pid: int) -> bool:
    """Let a server have the cores as on a machine of its own, whatever sessions run beside its.
    False where the caller may not (CAP_SYS_NICE)."""
    try:
        Path(f"/proc/{pid}/autogroup").write_text("-20")
    except FileNotFoundError:
        return True  # the kernel does not share the cores out among sessions
    except PermissionError:
        return False
    return True


def turns_ms(pid: int | str) -> tuple[float, float]:
    """Returns (run time, time waiting for a core) of a process's first thread, in ms."""
    ran, waited, _ = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()
    return int(ran) / 1e6, int(waited) / 1e6


def stolen_ms() -> float:
    """Returns the time (ms) that the hypervisor gave to other machines, summed over all cores."""
    ticks = Path("/proc/stat").read_text().partition("\n")[0].split()[8]
    return 1_000 * int(ticks) / os.sysconf("SC_CLK_TCK")
