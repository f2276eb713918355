"""Reports the last write of a file. The file is hashed when it was unchanged for a second after a
close.

Repeated writes are a single event with the final hash. The amount of data read is limited
(`limits`): a file over the limit is reported without a hash.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..kernel import fanotify
from ..kernel.mounts import local_mounts
from ..kernel.observations import FileChanged, Observation
from ..limits import FANOTIFY_READS_MAX, WRITTEN_QUIET_S, WRITTEN_WAITING_MAX
from .hashes import FileHashes

_EXCLUDED_PREFIXES = ("/proc/", "/sys/", "/dev/")


@dataclass
class _Waiting:
    pid: int
    path: str
    time_us: int
    due_at: float


class WrittenFiles:
    """An open fanotify watch on file systems. A single thread calls `poll` frequently."""

    def __init__(
        self, hashes: FileHashes, mounts: list[str], put: Callable[[list[Observation]], None]
    ) -> None:
        """Raises OSError if nothing can be watched. Without `mounts`, watches all local file
        systems."""
        self._hashes, self._put = hashes, put
        self._group = fanotify.Group(asks=False)
        self._watched: set[str] = set()
        self._wanted = mounts
        self._waiting: dict[tuple[int, int], _Waiting] = {}
        self.overflows = 0
        try:
            self.watch_new_mounts()
        except OSError:
            self._group.close()
            raise

    def watch_new_mounts(self) -> None:
        """Watches file systems mounted since the last call. Raises OSError if none can be
        watched."""
        failure: OSError | None = None
        for mount in self._wanted or local_mounts():
            if mount in self._watched:
                continue
            try:
                self._group.watch(mount, fanotify.CLOSE_WRITE)
                self._watched.add(mount)
            except OSError as error:  # this kind of file system cannot be watched
                failure = error
        if not self._watched and failure is not None:
            raise failure

    def close(self) -> None:
        self._group.close()

    def poll(self) -> None:
        """Reads close events, and reports files that were unchanged long enough."""
        for _ in range(FANOTIFY_READS_MAX):
            events = list(self._read())
            for event in events:
                self._take(event)
            if not events:
                break
        self._report(time.monotonic())

    def _read(self) -> list[fanotify.Event]:
        with contextlib.suppress(OSError):
            return list(self._group.read())
        return []

    def _take(self, event: fanotify.Event) -> None:
        if event.mask & fanotify.QUEUE_OVERFLOW or event.handle < 0:
            self.overflows += 1
            return
        try:
            if event.pid != os.getpid():
                self._track(event)
        except OSError:
            pass
        finally:
            os.close(event.handle)

    def _track(self, event: fanotify.Event) -> None:
        status = os.fstat(event.handle)
        path = os.readlink(f"/proc/self/fd/{event.handle}")
        if not stat.S_ISREG(status.st_mode) or path.startswith(_EXCLUDED_PREFIXES):
            return
        if not status.st_nlink:  # already deleted; audit reports that
            return
        key = status.st_dev, status.st_ino
        now_us = time.time_ns() // 1_000
        due_at = time.monotonic() + WRITTEN_QUIET_S
        known = self._waiting.pop(key, None)
        if known is not None and known.pid != event.pid:
            self._put([_report_of(known, self._hashes, with_hash=False)])
        if len(self._waiting) >= WRITTEN_WAITING_MAX:
            self._put([FileChanged(now_us, event.pid, "last_write", path)])
            return
        self._waiting[key] = _Waiting(event.pid, path, now_us, due_at)

    def _report(self, now: float) -> None:
        due = []
        for key, waiting in self._waiting.items():  # ordered by last close
            if waiting.due_at > now:
                break
            due.append(key)
        for key in due:
            waiting = self._waiting.pop(key)
            self._put([_report_of(waiting, self._hashes, with_hash=True)])

    def flush(self) -> None:
        """Reports all waiting files. Called when the sensor stops."""
        self._report(float("inf"))


def _report_of(waiting: _Waiting, hashes: FileHashes, *, with_hash: bool) -> Observation:
    observed = FileChanged(waiting.time_us, waiting.pid, "last_write", waiting.path)
    hashed = hashes.of(waiting.path) if with_hash else None
    if hashed is not None:
        observed.md5, observed.sha256, observed.file_type = (
            hashed.md5,
            hashed.sha256,
            hashed.file_type,
        )
    return observed
