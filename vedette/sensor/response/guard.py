"""The guard: a process of its own that decides whether a program may start.

The kernel holds up every start of a program until the guard answers (fanotify OPEN_EXEC_PERM).
It is a process and not a thread because a sensor that itself starts a program would wait for
its own answer; and because a guard that dies or is killed lets everything through at once. It
starts nothing, opens nothing that is executed, and answers from memory: a file is hashed once,
then the kernel is told not to ask again until the file is written to.

Only what is certainly banned is refused. A file that cannot be read, or takes longer than
`DECISION_S` to hash, may start.

It reads its orders from a pipe: a line `reload` when the bans changed, the end of the pipe to
stop. On its output: `{"beat": n}` every second, `{"block": {...}}` for what it refused.
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
from ..limits import DECISION_S, HASH_BYTES_MAX, HASH_CACHE_MAX
from .bans import Bans

_BEAT_S = 1.0
_WORKERS = 2
_MOUNTS_S = 30.0


class _PendingExec:
    """A start that waits for the hash of its file."""

    __slots__ = ("deadline", "handle", "is_answered", "key", "pid")

    def __init__(self, handle: int, pid: int, key: Key) -> None:
        self.handle, self.pid, self.key = handle, pid, key
        self.deadline = time.monotonic() + DECISION_S
        self.is_answered = False


class Guard:
    """Answers for the file systems at `mounts`; all local ones when there are none."""

    def __init__(self, bans: Path, mounts: list[str]) -> None:
        self._bans_path, self._bans = bans, Bans(bans)
        self._mounts, self._watched = mounts, set[str]()
        self._group = fanotify.Group(asks=True)
        self._known: OrderedDict[Key, tuple[str, str]] = OrderedDict()
        self._lock = threading.Lock()
        self._pending: list[_PendingExec] = []
        self._work: queue.SimpleQueue[_PendingExec] = queue.SimpleQueue()
        self._lines: list[str] = []

    def run(self) -> None:
        """Until the orders end."""
        for _ in range(_WORKERS):
            threading.Thread(target=self._hash_forever, daemon=True).start()
        os.set_blocking(sys.stdout.fileno(), False)
        self._watch()
        beat, mounts_at = 0, time.monotonic()
        while True:
            ready, _, _ = select.select([self._group.handle, 0], [], [], self._poll_timeout_s())
            if 0 in ready and not self._read_command():
                return
            for event in self._group.read() if self._group.handle in ready else ():
                self._decide(event)
            self._allow_overdue()
            now = time.monotonic()
            if now > mounts_at + _MOUNTS_S:
                mounts_at = now
                self._watch()
            if now > beat + _BEAT_S or self._lines:
                beat = int(now)
                self._write_status(json.dumps({"beat": beat}))

    def _poll_timeout_s(self) -> float:
        with self._lock:
            return 0.1 if self._pending or self._lines else _BEAT_S

    def _watch(self) -> None:
        for mount in self._mounts or local_mounts():
            if mount not in self._watched:
                with contextlib.suppress(OSError):  # a kind that cannot be watched
                    self._group.watch(mount, fanotify.OPEN_EXEC_PERM)
                    self._watched.add(mount)

    def _read_command(self) -> bool:
        order = os.read(0, 4096)
        if b"reload" in order:
            self._bans = Bans(self._bans_path)
            with contextlib.suppress(OSError):
                self._group.forget_ignored()
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
        known = self._known.get(key)
        if known is not None or event.pid == os.getpid() or status.st_size > HASH_BYTES_MAX:
            self._decide_by_hash(event.handle, event.pid, known or ("", ""))
            os.close(event.handle)
            return
        question = _PendingExec(event.handle, event.pid, key)
        with self._lock:
            self._pending.append(question)
        self._work.put(question)

    def _decide_by_hash(self, handle: int, pid: int, hashes: tuple[str, str]) -> None:
        if self._bans.matches(*hashes):
            path = os.readlink(f"/proc/self/fd/{handle}")
            self._answer(handle, fanotify.DENY)
            block = {"pid": pid, "path": path, "md5": hashes[0], "sha256": hashes[1]}
            self._lines.append(json.dumps({"block": {**block, "time_us": time.time_ns() // 1_000}}))
            return
        with contextlib.suppress(OSError):  # before Linux 5.19 the kernel keeps asking
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
            question = self._work.get()
            read = hash_handle(question.handle)
            with self._lock:
                if read is not None:
                    self._known[question.key] = read[0], read[1]
                    if len(self._known) > HASH_CACHE_MAX:
                        self._known.popitem(last=False)
                late = question.is_answered
                question.is_answered = True
                if question in self._pending:
                    self._pending.remove(question)
            if not late:
                self._decide_by_hash(question.handle, question.pid, read[:2] if read else ("", ""))
            os.close(question.handle)

    def _allow_overdue(self) -> None:
        """Allows what has waited too long; the hash is still finished, for the next time."""
        now = time.monotonic()
        with self._lock:
            late = [one for one in self._pending if one.deadline < now]
            for one in late:
                one.is_answered = True
                self._pending.remove(one)
                self._answer(one.handle, fanotify.ALLOW)

    def _write_status(self, line: str) -> None:
        """Never waits for the sensor: what does not fit in the pipe is said later."""
        lines = [*self._lines, line]
        for at, text in enumerate(lines):
            try:
                os.write(sys.stdout.fileno(), text.encode() + b"\n")
            except BlockingIOError:
                self._lines = [one for one in lines[at:] if '"block"' in one][-1_000:]
                return
        self._lines = []


def main(bans: str, mounts: list[str]) -> int:
    """The guard as a program."""
    Guard(Path(bans), mounts).run()
    return 0
