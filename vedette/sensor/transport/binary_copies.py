"""Copies of program files: offered when a file is first hashed or the server orders it, and
uploaded in chunks on request.

An order names a file by its hash and lists paths where it may be. Only programs with that hash are
sent: a server cannot fetch other files of the host by path.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..events.hashes import Hashed
from ..limits import (
    BINARIES_OFFERED_MAX,
    BINARIES_WAITING_MAX,
    BINARY_BYTES_MAX,
    BINARY_CHUNK,
    BINARY_PATHS_MAX,
    BINARY_REFUSALS_MAX,
    HASH_BYTES_MAX,
)
from .https_client import Client

_ELF, _PE = 2, 1


@dataclass(frozen=True)
class FileOrder:
    """A file that the server requests. Hashes are in lower case, "" if unknown; at least one is
    known."""

    md5: str
    sha256: str
    paths: tuple[str, ...]

    def is_of(self, hashed: Hashed) -> bool:
        """Whether a file has the hashes that the order names."""
        return self.md5 in ("", hashed.md5) and self.sha256 in ("", hashed.sha256)


def parse_order(body: dict[str, Any]) -> FileOrder:
    """Parses an order. Raises TypeError or ValueError if it is malformed."""
    md5, sha256 = str(body.get("md5") or "").lower(), str(body.get("sha256") or "").lower()
    if not md5 and not sha256:
        raise ValueError("an order for a file without a hash")
    paths = [path for path in body.get("paths") or () if isinstance(path, str)]
    return FileOrder(md5, sha256, tuple(paths[:BINARY_PATHS_MAX]))


class Binaries:
    """Program files and orders for them. The hashing threads add files, the check-in thread adds
    orders; the uploader thread serves both."""

    def __init__(self, find: Callable[[str], Hashed | None], *, is_wanted: bool) -> None:
        """`find` hashes the file at a path. `is_wanted` is whether the host's own settings allow
        uploads of programs."""
        self._find = find
        self._is_wanted = is_wanted
        self._lock = threading.Lock()
        self._files: OrderedDict[str, tuple[str, Hashed]] = OrderedDict()
        self._new: deque[str] = deque(maxlen=BINARIES_WAITING_MAX)
        self._wanted: deque[tuple[str, int]] = deque(maxlen=BINARIES_WAITING_MAX)
        self._ordered: deque[FileOrder] = deque(maxlen=BINARIES_OFFERED_MAX)
        self._refused: dict[FileOrder, str] = {}

    def add_file(self, path: str, hashed: Hashed, *, is_offered: bool) -> None:
        """Adds a file that was hashed for the first time. A file that is not offered can still be
        ordered."""
        if not self._is_wanted or hashed.file_type not in {_ELF, _PE}:
            return
        with self._lock:
            if is_offered and hashed.sha256 not in self._files:
                self._new.append(hashed.sha256)
            self._keep(path, hashed)

    def _keep(self, path: str, hashed: Hashed) -> None:
        self._files[hashed.sha256] = path, hashed
        self._files.move_to_end(hashed.sha256)
        if len(self._files) > BINARIES_WAITING_MAX:
            self._files.popitem(last=False)

    def want(self, bodies: list[dict[str, Any]]) -> None:
        """Adds orders of the server, which repeats them at every check-in until it has the files.
        Raises TypeError, ValueError or AttributeError for a malformed list."""
        orders = [parse_order(body) for body in bodies]
        with self._lock:
            under_way = [*(sha256 for sha256, _ in self._wanted), *self._new]
            sending = [self._files[sha256][1] for sha256 in under_way if sha256 in self._files]
            for order in orders:
                if not self._is_wanted:
                    self._refuse(order, "the settings of the sensor forbid it: send_binaries")
                elif order not in self._ordered and not any(map(order.is_of, sending)):
                    self._ordered.append(order)

    def take_refused(self) -> list[dict[str, str]]:
        """Returns the refused orders with reasons, for the next check-in. If a refusal is lost, the
        server repeats the order."""
        with self._lock:
            refused, self._refused = self._refused, {}
        return [
            {"md5": order.md5, "sha256": order.sha256, "reason": reason}
            for order, reason in refused.items()
        ]

    def _refuse(self, order: FileOrder, reason: str) -> None:
        if len(self._refused) < BINARY_REFUSALS_MAX:
            self._refused[order] = reason

    def _locate(self) -> None:
        """Looks for the file of the next order. Offers it, or refuses the order."""
        with self._lock:
            order = self._ordered.popleft()
        found, reason = self._known(order), "the file is not there any more, or another one"
        is_unknown = False
        for path in () if found else order.paths:
            hashed = self._find(path)
            if hashed is not None and order.is_of(hashed):
                found = path, hashed
                break
            is_unknown |= hashed is None and _may_be_hashed(path)
        if is_unknown and not found:
            return  # rate limit for hashing reached; the server repeats the order
        if found and found[1].file_type not in {_ELF, _PE}:
            found, reason = None, "the file is not a program"
        with self._lock:
            if found is None:
                self._refuse(order, reason)
            else:
                self._keep(*found)
                if found[1].sha256 not in self._new:
                    self._new.appendleft(found[1].sha256)

    def _known(self, order: FileOrder) -> tuple[str, Hashed] | None:
        """Returns a file that was hashed before and has not changed."""
        with self._lock:
            known = [(path, one) for path, one in self._files.values() if order.is_of(one)]
        return next(
            ((path, one) for path, one in known if (now := self._find(path)) and order.is_of(now)),
            None,
        )

    @property
    def waiting_bytes(self) -> int:
        with self._lock:
            known = [self._files.get(sha256) for sha256, _ in self._wanted]  # some are evicted
            sizes = [file[1].size for file in known if file is not None]
        return sum(min(size, BINARY_BYTES_MAX) for size in sizes)

    def send_some(self, client: Client, credential: str) -> bool:
        """Sends a request, or looks for an ordered file. Returns False if there is nothing to do.
        Raises ServerUnavailableError."""
        if self._wanted:
            self._send_piece(client, credential)
        elif self._ordered:
            self._locate()
        elif self._new:
            self._offer(client, credential)
        else:
            return False
        return True

    def _offer(self, client: Client, credential: str) -> None:
        with self._lock:
            offered = [self._new[at] for at in range(min(BINARIES_OFFERED_MAX, len(self._new)))]
            files = [
                {"md5": one.md5, "sha256": sha256, "size": one.size, "path": path}
                for sha256 in offered
                if sha256 in self._files
                for path, one in (self._files[sha256],)
            ]
        answer = client.post("/sensor/v1/binaries/offer", {"files": files}, credential)
        with self._lock:
            for _ in offered:
                self._new.popleft()
            for want in answer.body.get("want") or ():
                if want.get("sha256") in self._files:
                    self._wanted.append((want["sha256"], int(want.get("offset", 0))))

    def _send_piece(self, client: Client, credential: str) -> None:
        sha256, offset = self._wanted[0]
        path, hashed = self._files.get(sha256, ("", None))
        content = _piece(path, hashed, offset)
        if hashed is None or not content:
            self._wanted.popleft()  # deleted or replaced; offered again when it is hashed again
            return
        where = f"/sensor/v1/binaries/{sha256}?offset={offset}&size={hashed.size}"
        headers = {"Content-Type": "application/octet-stream"}
        answer = client.request("PUT", where, content, headers, credential)
        received = answer.body.get("received")
        done = not isinstance(received, int) or received >= min(hashed.size, BINARY_BYTES_MAX)
        if answer.status not in {200, 201, 409} or done or received == offset:
            self._wanted.popleft()
        else:
            self._wanted[0] = sha256, int(received or 0)


def _may_be_hashed(path: str) -> bool:
    """Whether there is a file that may be hashed at another time."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and 0 < status.st_size <= HASH_BYTES_MAX


def _piece(path: str, hashed: Hashed | None, offset: int) -> bytes:
    """Returns the chunk of the file at `offset`; empty at its end, and if the file was replaced."""
    if hashed is None:
        return b""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        status = os.fstat(handle)
        if (status.st_ino, status.st_size) != (hashed.inode, hashed.size):
            return b""
        return os.pread(handle, min(BINARY_CHUNK, BINARY_BYTES_MAX - offset), offset)
    finally:
        os.close(handle)
