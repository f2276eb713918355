"""Copies of program files: offered when a file is first hashed, uploaded in chunks on request."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from typing import Any

from ..events.hashes import Hashed
from ..limits import BINARIES_WAITING_MAX, BINARY_BYTES_MAX, BINARY_CHUNK
from .https_client import Client

_OFFER_MAX = 100
_ELF, _PE = 2, 1


class Binaries:
    """Files are added by the hashing threads and uploaded by the uploader thread."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._lock = threading.Lock()
        self._files: OrderedDict[str, tuple[str, Hashed]] = OrderedDict()
        self._new: deque[str] = deque(maxlen=BINARIES_WAITING_MAX)
        self._wanted: deque[tuple[str, int]] = deque(maxlen=BINARIES_WAITING_MAX)

    def add_file(self, path: str, hashed: Hashed) -> None:
        """A file was hashed for the first time."""
        if not self._is_wanted or hashed.file_type not in {_ELF, _PE}:
            return
        with self._lock:
            if hashed.sha256 not in self._files:
                self._new.append(hashed.sha256)
            self._files[hashed.sha256] = path, hashed
            if len(self._files) > BINARIES_WAITING_MAX:
                self._files.popitem(last=False)

    def want(self, bodies: list[dict[str, Any]]) -> None:
        """The server requests files that were offered earlier."""
        with self._lock:
            waiting = {sha256 for sha256, _ in self._wanted}
            for body in bodies:
                sha256 = self._sha256(body)
                if sha256 and sha256 not in waiting:
                    self._wanted.append((sha256, 0))

    def _sha256(self, body: dict[str, Any]) -> str:
        if body.get("sha256") in self._files:
            return str(body["sha256"])
        md5 = body.get("md5")
        return next((sha for sha, (_, one) in self._files.items() if one.md5 == md5), "")

    @property
    def waiting_bytes(self) -> int:
        with self._lock:
            known = [self._files.get(sha256) for sha256, _ in self._wanted]  # some are evicted
            sizes = [file[1].size for file in known if file is not None]
        return sum(min(size, BINARY_BYTES_MAX) for size in sizes)

    def send_some(self, client: Client, credential: str) -> bool:
        """Sends one request; False when there is nothing to send. ServerUnavailableError."""
        if self._wanted:
            self._send_piece(client, credential)
        elif self._new:
            self._offer(client, credential)
        else:
            return False
        return True

    def _offer(self, client: Client, credential: str) -> None:
        with self._lock:
            offered = [self._new[at] for at in range(min(_OFFER_MAX, len(self._new)))]
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


def _piece(path: str, hashed: Hashed | None, offset: int) -> bytes:
    """The chunk of the file at `offset`; empty at its end, and when the file was replaced."""
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
