"""The table of running processes, which gives every event a stable process key.

A process is added by the scan at start, a fork, an exec, or its first observed action. It is
reported lazily: a fork that does nothing and executes nothing costs nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..kernel import procfs
from ..kernel.boot import TICK_US, Boot
from ..kernel.observations import Executed, Forked
from ..limits import (
    ENDED_KEPT_US,
    PROCESSES_MAX,
    RECONCILE_GRACE_US,
    SAME_PROCESS_US,
    START_TICKS_APART_MAX,
)

if TYPE_CHECKING:
    from .filters import AppliedFilter


class Process:
    """A process. `is_reported` is True once its start was emitted."""

    __slots__ = (
        "applied_filters",
        "cmdline",
        "cwd",
        "exact_us",
        "is_reported",
        "loginuid",
        "parent_path",
        "parent_start_us",
        "path",
        "pid",
        "ppid",
        "sid",
        "start_us",
        "uid",
    )

    def __init__(self, pid: int, start_us: int) -> None:
        self.pid, self.start_us = pid, start_us
        self.ppid = self.parent_start_us = 0
        self.uid = self.loginuid = self.sid = -1
        self.path = self.cmdline = self.cwd = self.parent_path = ""
        self.is_reported = False
        self.exact_us = 0  # time of its last exec in the audit log
        self.applied_filters: tuple[AppliedFilter, ...] = ()

    def take_parent(self, parent: Process | None, ppid: int) -> None:
        self.ppid = ppid
        if parent is not None:
            self.parent_start_us, self.parent_path = parent.start_us, parent.path

    def take_program(self, observed: Executed) -> None:
        self.path, self.cmdline, self.cwd = observed.path, observed.cmdline, observed.cwd
        self.uid, self.loginuid, self.sid = observed.uid, observed.loginuid, observed.sid

    def take_found(self, found: procfs.ProcessInfo) -> None:
        self.path, self.cmdline, self.cwd = found.path, found.cmdline, found.cwd
        self.uid, self.loginuid, self.sid = found.uid, found.loginuid, found.sid

    def inherit(self, parent: Process) -> None:
        """Copies the parent's program, which a fork runs until it executes another."""
        self.path, self.cmdline, self.cwd = parent.path, parent.cmdline, parent.cwd
        self.uid, self.loginuid, self.sid = parent.uid, parent.loginuid, parent.sid


class Processes:
    """The table, by pid. Only for the assembling thread."""

    def __init__(self, boot: Boot) -> None:
        self._boot = boot
        self._by_pid: dict[int, Process] = {}
        self._ended: OrderedDict[int, tuple[Process, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_pid)

    def get(self, pid: int) -> Process | None:
        return self._by_pid.get(pid)

    def scan(self) -> list[Process]:
        """Loads all running processes that have a program. Parents come first where pids allow."""
        found = [process for pid in procfs.pids() if (process := self.load(pid)) is not None]
        for process in found:
            process.take_parent(self._by_pid.get(process.ppid), process.ppid)
        return [process for process in found if not process.path.startswith("[")]

    def load(self, pid: int, not_after_us: int = 0) -> Process | None:
        """Loads an unknown process from /proc. Returns None if it ended or started later than
        `not_after_us`."""
        found = procfs.find(pid)
        if found is None:
            return None
        start_us = self._boot.start_us(found.start_ticks)
        if not_after_us and start_us > not_after_us + START_TICKS_APART_MAX * TICK_US:
            return None
        process = Process(pid, start_us)
        process.take_found(found)
        self._keep(process)
        process.take_parent(self._by_pid.get(found.ppid), found.ppid)
        return process

    def get_or_create(self, pid: int, time_us: int, exe: str = "", uid: int = -1) -> Process:
        """Returns the process that acted at that time. If it already ended, creates it from the
        members of the event."""
        known = self._by_pid.get(pid)
        if known is None or known.start_us > time_us + SAME_PROCESS_US:
            ended = self._ended.get(pid)
            known = ended[0] if ended else known or self.load(pid, time_us)
        if known is None:
            known = Process(pid, time_us)
            known.path, known.uid = exe, uid
            self._keep(known)
        return known

    def forked(self, observed: Forked) -> None:
        process = Process(observed.pid, observed.start_us)
        parent = self._by_pid.get(observed.parent) or self.load(observed.parent, observed.time_us)
        process.take_parent(parent, observed.parent)
        if parent is not None:
            process.inherit(parent)
        self._keep(process)

    def executed(self, observed: Executed) -> Process | None:
        """Returns the process of an exec, with its new program; None if /proc only repeats an audit
        record."""
        process = self._by_pid.get(observed.pid)
        if process is not None and not observed.is_exact:
            if observed.time_us - process.exact_us < SAME_PROCESS_US:
                return None
            observed.path = observed.path or process.path
        if process is None or self._is_another(process, observed):
            process = Process(observed.pid, observed.time_us)
            self._keep(process)
            parent = self._by_pid.get(observed.ppid) or self.load(observed.ppid, observed.time_us)
            process.take_parent(parent, observed.ppid)
        process.take_program(observed)
        process.exact_us = observed.time_us if observed.is_exact else 0
        if not process.is_reported:
            self._use_procfs_start(process, observed.time_us)
        return process

    def _is_another(self, process: Process, observed: Executed) -> bool:
        """Whether the pid was reused and the exit of the former process was missed."""
        if process.ppid == observed.ppid:
            return False
        ticks = procfs.start_ticks(observed.pid)
        if ticks is None:
            return False
        return self._boot.start_us(ticks) > process.start_us + START_TICKS_APART_MAX * TICK_US

    def _use_procfs_start(self, process: Process, time_us: int) -> None:
        """Takes the start time from /proc while the process exists, because that is stable across
        restarts."""
        ticks = procfs.start_ticks(process.pid)
        if ticks is not None:
            start_us = self._boot.start_us(ticks)
            if start_us <= time_us + START_TICKS_APART_MAX * TICK_US:
                process.start_us = start_us

    def ended(self, pid: int, time_us: int) -> Process | None:
        """Moves a process to the ended processes, where it stays for a while: files that it wrote
        are still being hashed."""
        process = self._by_pid.pop(pid, None)
        if process is not None:
            self._ended.pop(pid, None)
            self._ended[pid] = process, time_us
        while self._ended and next(iter(self._ended.values()))[1] < time_us - ENDED_KEPT_US:
            self._ended.popitem(last=False)
        return process

    def remove_missing(self, living: Iterable[int], now_us: int) -> list[Process]:
        """Removes and returns processes that ended without an exit event."""
        alive = set(living)
        gone = [
            process
            for pid, process in self._by_pid.items()
            if pid not in alive and process.start_us < now_us - RECONCILE_GRACE_US
        ]
        for process in gone:
            del self._by_pid[process.pid]
        return gone

    def _keep(self, process: Process) -> None:
        self._by_pid[process.pid] = process
        if len(self._by_pid) > PROCESSES_MAX:
            del self._by_pid[next(iter(self._by_pid))]
