"""Orders the observations of all sources by time and converts them to events.

Reader threads put observations into the inbox. They are delayed by `HOLD_US`, because the exit of a
process may be read before the audit records of its last actions. Then a single thread sorts them
and emits the events.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..kernel import procfs
from ..kernel.observations import (
    Accessed,
    Blocked,
    Connected,
    Ended,
    Executed,
    FileChanged,
    Forked,
    Loaded,
    Observation,
)
from ..kernel.sockets import TCP, UDP, SocketTable, read_table, source_address
from ..limits import (
    AUDIT_LATE_US,
    HOLD_US,
    INBOX_MAX,
    RECONCILE_S,
    WRITE_AGAIN_US,
    WRITES_CACHED_MAX,
)
from . import event_format
from .collection import Collection
from .event_format import EventWriter
from .filters import Filters, Subject, connection_subject, file_subject, is_dropped
from .hashes import FileHashes, Hashed
from .process_table import Process, Processes

_WHOLE_PROCESS = Subject()
_REFUSED_ERRORS = frozenset({-111, -113, -101, -1})
_PENDING = frozenset({0, -115})


class Inbox:
    """Bounded buffer between the readers and the assembler. `lost` counts discarded
    observations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observed: list[Observation] = []
        self.lost = 0

    def put(self, observed: list[Observation]) -> None:
        if not observed:
            return
        with self._lock:
            if len(self._observed) + len(observed) > INBOX_MAX:
                self.lost += len(observed)
            else:
                self._observed += observed

    def take(self) -> list[Observation]:
        with self._lock:
            taken, self._observed = self._observed, []
        return taken


def order(observed: Observation) -> int:
    """Sort key of observations. Audit times are up to a tick late, those of the proc connector are
    exact. A fork therefore sorts before the child's actions, an exit after them."""
    if isinstance(observed, Forked):
        return observed.time_us - AUDIT_LATE_US
    if isinstance(observed, Ended):
        return observed.time_us + AUDIT_LATE_US
    return observed.time_us


@dataclass
class Outputs:
    """Destinations of events, and the services that the assembler uses."""

    write: Callable[[bytes], None]
    hashes: FileHashes
    filters: Filters
    is_blocked: Callable[[str, int], bool]
    """Whether isolation blocks this address and port now."""
    collection: Collection = field(default_factory=Collection)
    own_folder: str = ""
    """Folder of the sensor's files. A change by another program is tampering."""


class Assembler:
    """Assembles events. For a single thread; `round` is called several times a second."""

    def __init__(
        self, processes: Processes, writer: EventWriter, outputs: Outputs, inbox: Inbox
    ) -> None:
        self._processes, self._writer, self._out, self._inbox = processes, writer, outputs, inbox
        self._held: list[Observation] = []
        self._written: dict[tuple[int, int, str], int] = {}
        self._reconciled = time.monotonic()
        self.emitted = 0
        self.filtered = 0
        self._handlers: dict[type, Callable[[Any], None]] = {
            Executed: self._executed,
            Forked: self._processes.forked,
            Ended: self._ended,
            FileChanged: self._file,
            Connected: self._connected,
            Accessed: self._accessed,
            Loaded: self._loaded,
            Blocked: self._blocked,
        }

    def begin(self) -> None:
        """Emits every process that is already running."""
        for process in self._processes.scan():
            self._start(process, process.start_us, implicit=True)

    def round(self, now_us: int, *, final: bool = False) -> None:
        """Emits observations that were delayed long enough; all if `final`."""
        arrived = self._inbox.take()
        self._find_addresses(arrived)
        self._held = sorted(self._held + arrived, key=order)
        until = now_us if final else now_us - HOLD_US
        count = len(self._held) if final else _due(self._held, until)
        due, self._held = self._held[:count], self._held[count:]
        self.emit(due)
        if time.monotonic() > self._reconciled + RECONCILE_S:
            self._reconcile(now_us)

    def emit(self, due: Iterable[Observation]) -> None:
        """Emits observations in the given order."""
        for observed in due:
            self._handlers[type(observed)](observed)

    def _write(
        self, kind: str, time_us: int, process: Process, members: event_format.Event
    ) -> None:
        self.emitted += 1
        self._out.write(self._writer.line(kind, time_us, process, members))

    def _start(self, process: Process, time_us: int, *, implicit: bool = False) -> None:
        """Emits `start`, or `exec` for a process that was already reported."""
        hashed = self._hashed(process)
        kind = "exec" if process.is_reported else "start"
        process.is_reported = True
        parent = self._processes.get(process.ppid)
        md5 = hashed.md5 if hashed else ""
        inherited = parent.applied_filters if parent is not None else ()
        process.applied_filters = self._out.filters.applied_to(process, md5, inherited)
        if self._is_filtered(process, _WHOLE_PROCESS):
            return
        time_us = max(time_us, process.start_us)  # audit times are up to a tick late
        members = self._writer.start(process, hashed, implicit=implicit)
        if not self._out.collection.includes("usercontext"):
            for name in ("uid", "user", "loginuid"):
                del members[name]
        self._write(kind, time_us, process, members)

    def _hashed(self, process: Process) -> Hashed | None:
        return self._out.hashes.of(process.path) if process.path.startswith("/") else None

    def _is_filtered(self, process: Process, subject: Subject) -> bool:
        if subject is _WHOLE_PROCESS and not self._out.collection.includes("processes"):
            return True
        if not process.applied_filters or not is_dropped(process.applied_filters, subject):
            return False
        self.filtered += 1
        return True

    def _known(self, pid: int, time_us: int, exe: str = "", uid: int = -1) -> Process:
        """Returns the process that acted. Emits its start, and its parent's start, first."""
        process = self._processes.get_or_create(pid, time_us, exe, uid)
        if not process.is_reported:
            parent = self._processes.get(process.ppid)
            if parent is not None and not parent.is_reported:
                self._start(parent, parent.start_us)
            self._start(process, process.start_us)
        return process

    def _executed(self, observed: Executed) -> None:
        process = self._processes.executed(observed)
        if process is None:
            return
        parent = self._processes.get(process.ppid)
        if parent is not None and not parent.is_reported and not process.is_reported:
            self._start(parent, parent.start_us)
        self._start(process, observed.time_us)

    def _ended(self, observed: Ended) -> None:
        process = self._processes.ended(observed.pid, observed.time_us)
        if process is None or not process.is_reported or self._is_filtered(process, _WHOLE_PROCESS):
            return
        members = {} if observed.exit_code is None else {"exit_code": observed.exit_code}
        self._write("end", max(observed.time_us, process.start_us), process, members)

    def _file(self, observed: FileChanged) -> None:
        collection = self._out.collection
        if observed.pid == os.getpid() or not collection.includes_file(
            observed.path, observed.file_type
        ):
            return
        if not collection.includes("filewritemd5s"):
            observed = replace(observed, md5="", sha256="")
        process = self._known(observed.pid, observed.time_us, observed.exe, observed.uid)
        if observed.action == "write" and self._is_again(process, observed):
            return
        if not self._is_filtered(process, file_subject(observed.path, observed.file_type)):
            members = event_format.file(observed)
            is_own = self._is_own_file(observed.path) or self._is_own_file(observed.to)
            if is_own and not self._is_own(process):
                members["tamper"] = True
            self._write("file", observed.time_us, process, members)

    def _is_again(self, process: Process, observed: FileChanged) -> bool:
        """Limits repeated writes to a file to one event per minute (a log that is opened for every
        line)."""
        key = (process.pid, process.start_us, observed.path)
        if observed.time_us - self._written.get(key, 0) < WRITE_AGAIN_US:
            return True
        if len(self._written) >= WRITES_CACHED_MAX:
            self._written.clear()
        self._written[key] = observed.time_us
        return False

    def _find_addresses(self, arrived: list[Observation]) -> None:
        """Adds local addresses while the sockets exist: a single table lookup for all connections
        that arrived together."""
        connections = [observed for observed in arrived if isinstance(observed, Connected)]
        table: SocketTable | None = read_table() if connections else None
        for observed in connections:
            local = table and table.find(
                observed.socket_inode, observed.remote_ip, observed.remote_port
            )
            if local:
                observed.protocol, observed.local_ip, observed.local_port = local
            else:
                observed.protocol = UDP if observed.remote_port == 53 else TCP
                observed.local_ip = source_address(observed.remote_ip, observed.remote_port)

    def _connected(self, observed: Connected) -> None:
        if not self._out.collection.includes("netconns"):
            return
        blocked = observed.is_outbound and self._out.is_blocked(
            observed.remote_ip, observed.remote_port
        )
        if observed.exit_code not in _PENDING and not (
            blocked and observed.exit_code in _REFUSED_ERRORS
        ):
            return
        process = self._known(observed.pid, observed.time_us, observed.exe, observed.uid)
        subject = connection_subject(observed.remote_ip, observed.remote_port)
        if not self._is_filtered(process, subject):
            self._write(
                "net", observed.time_us, process, event_format.connection(observed, blocked=blocked)
            )

    def _accessed(self, observed: Accessed) -> None:
        if not self._out.collection.includes("cross_procs"):
            return
        process = self._known(observed.pid, observed.time_us, observed.exe, observed.uid)
        target = self._known(observed.target, observed.time_us)
        if not self._is_filtered(process, Subject(("crossproc_filters",), (target.path,))):
            members = event_format.access(observed, target)
            if self._is_own(target) and not self._is_own(process):
                members["tamper"] = True
            self._write("proc", observed.time_us, process, members)

    def _is_own_file(self, path: str) -> bool:
        folder = self._out.own_folder
        return bool(folder) and (path == folder or path.startswith(folder + "/"))

    def _is_own(self, process: Process) -> bool:
        """Whether the process is the sensor or its guard."""
        return os.getpid() in (process.pid, process.ppid)

    def _loaded(self, observed: Loaded) -> None:
        if not self._out.collection.includes("moduleloads"):
            return
        process = self._known(observed.pid, observed.time_us, observed.exe, observed.uid)
        if not self._is_filtered(process, Subject(("modload_filters",), (observed.path,))):
            hashed = self._out.hashes.of(observed.path) if observed.path.startswith("/") else None
            self._write("image", observed.time_us, process, event_format.image(observed, hashed))

    def _blocked(self, observed: Blocked) -> None:
        process = self._known(observed.pid, observed.time_us)
        self._write("block", observed.time_us, process, self._writer.block(observed, process))

    def _reconcile(self, now_us: int) -> None:
        self._reconciled = time.monotonic()
        for process in self._processes.remove_missing(procfs.pids(), now_us):
            if process.is_reported and not self._is_filtered(process, _WHOLE_PROCESS):
                self._write("end", now_us, process, {})


def _due(held: list[Observation], until_us: int) -> int:
    """Returns the number of sorted observations that were delayed long enough."""
    count = len(held)
    while count and order(held[count - 1]) > until_us:
        count -= 1
    return count
