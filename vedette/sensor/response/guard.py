"""The guard: a child process that allows or denies program starts (fanotify OPEN_EXEC_PERM).

The kernel suspends every exec until the guard answers. The guard is a process rather than a thread,
because a sensor that itself starts a program would wait for its own answer, and because the kernel
allows everything as soon as the guard is killed. The guard starts no program. It hashes a file
once, then requests the kernel to ignore the file until it is written to.

It fails open: only a hash on the ban list is denied. A file that cannot be read, or takes longer
than `DECISION_S` to hash, is allowed.

Protocol: stdin carries a line `reload` when the bans changed; end of file stops the guard. stdout
carries `{"heartbeat": n}` every second and `{"block": {...}}` for each denied start.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import sys
import threading
import time
from collections import OrderedDict
from pathlib import Path

from ..events.hashes import Key, hash_handle, key_of
from ..kernel import fanotify
from ..kernel.mounts import local_mounts
from ..limits import (
    DECISION_S,
    GUARD_COMMAND_BYTES_MAX,
    GUARD_HEARTBEAT_S,
    GUARD_MOUNTS_S,
    GUARD_WORKERS,
    HASH_BYTES_MAX,
    HASH_CACHE_MAX,
)
from .bans import Bans


class _PendingExec:
    """An exec that waits for the hash of its file."""

    __slots__ = ("deadline", "handle", "is_answered", "key", "pid")

    def __init__(self, handle: int, pid: int, key: Key) -> None:
        self.handle, self.pid, self.key = handle, pid, key
        self.deadline = time.monotonic() + DECISION_S
        self.is_answered = False


class Guard:
    """Decides for the file systems at `mounts`, or for all local file systems if there are none."""

    def __init__(self, bans: Path, mounts: list[str]) -> None:
        self._bans_path, self._bans = bans, Bans(bans)
        self._mounts, self._watched = mounts, set[str]()
        self._group = fanotify.Group(asks=True)
        self._hash_cache: OrderedDict[Key, tuple[str, str]] = OrderedDict()
        self._lock = threading.Lock()
        self._pending: list[_PendingExec] = []
        self._work: queue.SimpleQueue[_PendingExec] = queue.SimpleQueue()
        self._unsent: list[str] = []

    def run(self) -> None:
        """Runs until the end of stdin."""
        for _ in range(GUARD_WORKERS):
            threading.Thread(target=self._hash_forever, daemon=True).start()
        os.set_blocking(sys.stdout.fileno(), False)
        self._watch()
        heartbeat, mounts_at = 0, time.monotonic()
        while True:
            ready, _, _ = select.select([self._group.handle, 0], [], [], self._poll_timeout_s())
            if 0 in ready and not self._read_command():
                return
            for event in self._group.read() if self._group.handle in ready else ():
                self._decide(event)
            self._allow_overdue()
            now = time.monotonic()
            if now > mounts_at + GUARD_MOUNTS_S:
                mounts_at = now
                self._watch()
            if now > heartbeat + GUARD_HEARTBEAT_S or self._unsent:
                heartbeat = int(now)
                self._write_status(json.dumps({"heartbeat": heartbeat}))

    def _poll_timeout_s(self) -> float:
        with self._lock:
            return 0.1 if self._pending or self._unsent else GUARD_HEARTBEAT_S

    def _watch(self) -> None:
        for mount in self._mounts or local_mounts():
            if mount not in self._watched:
                with contextlib.suppress(OSError):  # this kind of file system cannot be watched
                    self._group.watch(mount, fanotify.OPEN_EXEC_PERM)
                    self._watched.add(mount)

    def _read_command(self) -> bool:
        order = os.read(0, GUARD_COMMAND_BYTES_MAX)
        if b"reload" in order:
            self._bans = Bans(self._bans_path)
            with contextlib.suppress(OSError):
                self._group.reset_ignored()
        return bool(order)

    def _decide(self, event: fanotify.Event) -> None:
        if event.handle < 0:
            return
        try:
            status = os.fstat(event.handle)
        except OSError:
            self._finish(event.handle, fanotify.ALLOW)
            return
        key = key_of(status)
        known = self._hash_cache.get(key)
        if known is not None or event.pid == os.getpid() or status.st_size > HASH_BYTES_MAX:
            self._decide_by_hash(event.handle, event.pid, known or ("", ""))
            os.close(event.handle)
            return
        pending_exec = _PendingExec(event.handle, event.pid, key)
        with self._lock:
            self._pending.append(pending_exec)
        self._work.put(pending_exec)

    def _decide_by_hash(self, handle: int, pid: int, hashes: tuple[str, str]) -> None:
        if self._bans.matches(*hashes):
            path = os.readlink(f"/proc/self/fd/{handle}")
            self._answer(handle, fanotify.DENY)
            block = {"pid": pid, "path": path, "md5": hashes[0], "sha256": hashes[1]}
            self._unsent.append(
                json.dumps({"block": {**block, "time_us": time.time_ns() // 1_000}})
            )
            return
        with contextlib.suppress(OSError):  # before Linux 5.19 the kernel continues to send events
            self._group.ignore(handle, fanotify.OPEN_EXEC_PERM)
        self._answer(handle, fanotify.ALLOW)

    def _answer(self, handle: int, verdict: int) -> None:
        with contextlib.suppress(OSError):  # the process was killed while it waited
            self._group.answer(handle, verdict)

    def _finish(self, handle: int, verdict: int) -> None:
        self._answer(handle, verdict)
        os.close(handle)

    def _hash_forever(self) -> None:
        while True:
            pending_exec = self._work.get()
            read = hash_handle(pending_exec.handle)
            with self._lock:
                if read is not None:
                    self._hash_cache[pending_exec.key] = read[0], read[1]
                    if len(self._hash_cache) > HASH_CACHE_MAX:
                        self._hash_cache.popitem(last=False)
                late = pending_exec.is_answered
                pending_exec.is_answered = True
                if pending_exec in self._pending:
                    self._pending.remove(pending_exec)
            if not late:
                self._decide_by_hash(
                    pending_exec.handle, pending_exec.pid, read[:2] if read else ("", "")
                )
            os.close(pending_exec.handle)

    def _allow_overdue(self) -> None:
        """Allows execs past their deadline. The hash is still completed and cached."""
        now = time.monotonic()
        with self._lock:
            late = [one for one in self._pending if one.deadline < now]
            for one in late:
                one.is_answered = True
                self._pending.remove(one)
                self._answer(one.handle, fanotify.ALLOW)

    def _write_status(self, line: str) -> None:
        """Writes a status line without ever blocking on the sensor. Lines that do not fit in the
        pipe are sent later."""
        lines = [*self._unsent, line]
        for at, text in enumerate(lines):
            try:
                os.write(sys.stdout.fileno(), text.encode() + b"\n")
            except BlockingIOError:
                self._unsent = [one for one in lines[at:] if '"block"' in one][-1_000:]
                return
        self._unsent = []


def main(bans: str, mounts: list[str]) -> int:
    """Entry point of the guard process."""
    Guard(Path(bans), mounts).run()
    return 0
