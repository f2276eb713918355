"""Opens and supervises the event sources: audit, proc connector, fanotify.

Without an auditd, the sensor is the audit daemon, and audit reports program starts with all
arguments. Next to an auditd it listens to the records of the auditd's rules, and the proc connector
reports the other starts. The owner of the audit system is checked every few seconds, so that an
auditd may start or stop at any time.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import threading
import time
from collections.abc import Callable

from .events.hashes import FileHashes
from .events.written_files import WrittenFiles
from .kernel import audit_rules, boot
from .kernel.audit import LOCKED, REPLACE, AuditSession, Status
from .kernel.audit_records import AuditParser
from .kernel.observations import Observation
from .kernel.proc_connector import ProcConnector
from .kernel.reader_thread import Reader
from .kernel.syscalls import MACHINES
from .limits import JOIN_S, SOURCES_CHECK_S, SOURCES_MOUNTS_S, TICK_S
from .settings import Settings


class Sources:
    """The event sources. `begin` opens, `end` closes; `check` is called about once a second."""

    def __init__(
        self,
        settings: Settings,
        now: boot.Boot,
        hashes: FileHashes,
        put: Callable[[list[Observation]], None],
    ) -> None:
        self._settings, self._boot, self._hashes, self._put = settings, now, hashes, put
        self._session: AuditSession | None = None
        self._sockets: list[socket.socket] = []
        self._readers: list[Reader] = []
        self._connector: ProcConnector | None = None
        self._written: WrittenFiles | None = None
        self._stopping = threading.Event()
        self._writing: threading.Thread | None = None
        self._parser = AuditParser()
        self._lost_before = 0
        self._overflows_before = 0
        self._should_step_down = False
        self._checked = time.monotonic()
        self.missing: dict[str, str] = {}
        """Errors by the name of the source that could not be opened."""

    @property
    def audit_mode(self) -> str:
        """ "daemon", "listening" or "none"."""
        if self._session is None:
            return "none"
        return "daemon" if self._session.is_daemon else "listening"

    def begin(self) -> None:
        """Opens every source that this host supports. The others are in `missing`."""
        self._begin_kernel(may_own=self._settings.audit == "auto")
        try:
            mounts = list(self._settings.mounts)
            self._written = WrittenFiles(self._hashes, mounts, self._put)
        except OSError as error:
            self.missing["fanotify"] = str(error)
            return
        self._writing = threading.Thread(target=self._poll_written, name="written", daemon=True)
        self._writing.start()

    def _begin_kernel(self, *, may_own: bool) -> None:
        """Opens audit and the proc connector. Which of them reports program starts depends on
        both."""
        owns = self._begin_audit(may_own=may_own)
        try:
            self._connector = ProcConnector(self._boot, boot.suspended_ns(), with_execs=not owns)
        except OSError as error:
            self.missing["proc connector"] = str(error)
            if owns:
                self._add_rules_for_ends()
        else:
            self.missing.pop("proc connector", None)
            self._read(
                "processes", self._connector.socket, self._connector.feed, is_prompt=not owns
            )

    def _begin_audit(self, *, may_own: bool) -> bool:
        """Opens audit. Returns whether the sensor is the audit daemon."""
        if self._settings.audit == "off":
            return False
        try:
            self._session = AuditSession(self._settings.data_dir / "audit.json")
            records = self._session.begin(self._rules(with_ends=False), may_own=may_own)
            self._lost_before = self._session.status()["lost"]
        except OSError as error:
            self.missing["audit"] = str(error)
            self._session = None
            return False
        self.missing.pop("audit", None)
        self._sockets.append(records)
        self._read("audit", records, self._feed_audit, is_prompt=False)
        return self._session.is_daemon

    def _rules(self, *, with_ends: bool) -> list[bytes]:
        machines = MACHINES.get(platform.machine(), ())
        settings = self._settings
        scope = audit_rules.Scope(os.getpid(), settings.audit_uid, settings.quiet_programs)
        return audit_rules.rules(machines, scope, with_ends=with_ends)

    def _add_rules_for_ends(self) -> None:
        if self._session is not None:
            known = set(self._rules(with_ends=False))
            self._session.add([one for one in self._rules(with_ends=True) if one not in known])

    def _read(
        self,
        name: str,
        found: socket.socket,
        feed: Callable[[bytes], list[Observation]],
        *,
        is_prompt: bool,
    ) -> None:
        reader = Reader(name, found, feed, self._put, is_prompt=is_prompt)
        self._readers.append(reader)
        reader.start()

    def _feed_audit(self, data: bytes) -> list[Observation]:
        if data[4:6] == REPLACE.to_bytes(2, "little"):
            self._should_step_down = True
            return []
        return self._parser.feed(data)

    def _poll_written(self) -> None:
        assert self._written is not None
        mounts_at = time.monotonic()
        while not self._stopping.wait(2 * TICK_S):
            self._written.poll()
            if time.monotonic() > mounts_at + SOURCES_MOUNTS_S:
                mounts_at = time.monotonic()
                with contextlib.suppress(OSError):
                    self._written.watch_new_mounts()
        self._written.poll()
        self._written.flush()

    def check(self) -> None:
        """Reacts to an auditd that requests, took or released the audit system."""
        if self._should_step_down:
            self._should_step_down = False
            self._reopen(may_own=False)
        if time.monotonic() < self._checked + SOURCES_CHECK_S or self._session is None:
            return
        self._checked = time.monotonic()
        try:
            status = self._session.status()
        except OSError:
            return
        if self._session.is_daemon:
            if status["pid"] != os.getpid():
                self._reopen(may_own=False)
        elif self._may_become_daemon(status):
            self._reopen(may_own=True)

    def _may_become_daemon(self, status: Status) -> bool:
        """Whether there is no audit daemon, and no earlier attempt to become it failed."""
        assert self._session is not None
        is_free = not status["pid"] and status["enabled"] != LOCKED
        return is_free and not self._session.refusal and self._settings.audit == "auto"

    def _reopen(self, *, may_own: bool) -> None:
        self._end_kernel()
        self._begin_kernel(may_own=may_own)

    def _end_kernel(self) -> None:
        if self._session is not None:  # first, so that records already queued are still read
            self._session.close()
            self._session = None
        self._overflows_before += sum(reader.overflows for reader in self._readers)
        for reader in self._readers:
            reader.stop()
        for found in self._sockets:
            found.close()
        if self._connector is not None:
            self._connector.close()
            self._connector = None
        self._readers, self._sockets = [], []

    def end(self) -> None:
        """Closes everything and restores the changes to the host."""
        self._stopping.set()
        self._end_kernel()
        if self._writing is not None and self._written is not None:
            self._writing.join(JOIN_S)
            self._written.close()

    @property
    def lost(self) -> int:
        """Number of queue overflows, and of audit events without their last record."""
        now = sum(reader.overflows for reader in self._readers)
        written = self._written.overflows if self._written is not None else 0
        return self._overflows_before + now + written + self._parser.dropped

    def problems(self) -> list[str]:
        """Returns the problem messages for the health; [] if there are none."""
        found = [f"no {source}: {why}" for source, why in self.missing.items()]
        if self.lost:
            found.append(f"a queue of the kernel was full {self.lost} times")
        if self._session is not None:
            with contextlib.suppress(OSError):
                lost = self._session.status()["lost"] - self._lost_before
                if lost > 0:
                    found.append(f"the kernel lost {lost} audit records")
            if self._session.refused_rules:
                found.append(f"the kernel refused {self._session.refused_rules} audit rules")
        return found
