"""The queue of event blocks on disk, between the assembler and the server.

A block is a file of gzipped lines, named by its sequence number. It is durable once the file and
its directory entry are synced. Blocks are sent oldest first and removed when the server has
acknowledged them. If the size limit is reached, the oldest block is dropped and counted; the server
sees the gap in the numbers. Numbers start at 1 in each epoch, a random name that changes if the
folder was lost.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import threading
from pathlib import Path

from ..durable_files import sync_folder, write_durably
from ..limits import BLOCK_BYTES_MAX, BLOCK_BYTES_WANTED, DISK_FREE_BYTES_MIN

_SUFFIX = ".ndjson.gz"
_LEVEL = 1


class DiskQueue:
    """The queue. Safe for one writing and one sending thread."""

    def __init__(self, folder: Path, bytes_max: int) -> None:
        """Raises OSError if the folder cannot be created."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self.bytes_max = folder, bytes_max
        self._lock = threading.Lock()
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._sizes: dict[int, int] = {}
        self.dropped_blocks = 0
        self.dropped_events = 0
        self.events = 0
        self._load()

    def _load(self) -> None:
        for path in self._folder.iterdir():
            if path.name.endswith(".new"):
                path.unlink()
            elif path.name.endswith(_SUFFIX):
                self._sizes[int(path.name[: -len(_SUFFIX)])] = path.stat().st_size
        try:
            position = json.loads((self._folder / "position.json").read_bytes())
            self.epoch, self._next = str(position["epoch"]), int(position["next"])
        except (OSError, ValueError, KeyError, TypeError):
            self.epoch, self._next = secrets.token_hex(8), 1
        self._next = max(self._next, max(self._sizes, default=0) + 1)
        self._save()

    def _save(self) -> None:
        position = json.dumps({"epoch": self.epoch, "next": self._next})
        write_durably(self._folder / "position.json", position.encode())

    @property
    def next(self) -> int:
        return self._next

    @property
    def first_waiting(self) -> int:
        """Number of the oldest block that the server has not acknowledged."""
        return min(list(self._sizes), default=self._next)

    @property
    def waiting_blocks(self) -> int:
        return len(self._sizes)

    @property
    def waiting_bytes(self) -> int:
        return sum(list(self._sizes.values()))

    @property
    def open_bytes(self) -> int:
        return self._open_bytes

    def add(self, line: bytes) -> None:
        """Adds a line to the open block. Closes the block when it is large enough."""
        self._open.append(line)
        self._open_bytes += len(line)
        self.events += 1
        if self._open_bytes >= BLOCK_BYTES_WANTED:
            self.close_block()

    def close_block(self) -> bool:
        """Writes the open block to disk. Returns False if the disk refused the write and the block
        stays in memory."""
        if not self._open:
            return True
        content = gzip.compress(b"".join(self._open), _LEVEL)
        with self._lock:
            try:
                self._make_room(len(content))
                write_durably(self._path(self._next), content)
                self._sizes[self._next] = len(content)
                self._next += 1
                self._save()
            except OSError:
                return self._keep_or_drop()
            self._open, self._open_bytes = [], 0
        return True

    def _keep_or_drop(self) -> bool:
        """Keeps the open block in memory, up to the size of a block, because the disk refuses
        writes. Drops the events beyond it."""
        if self._open_bytes > BLOCK_BYTES_MAX - BLOCK_BYTES_WANTED:
            self.dropped_events += len(self._open)
            self._open, self._open_bytes = [], 0
        return False

    def _make_room(self, wanted: int) -> None:
        while self._sizes and (
            sum(self._sizes.values()) + wanted > self.bytes_max
            or _free_bytes(self._folder) < DISK_FREE_BYTES_MIN
        ):
            self._remove(min(self._sizes))
            self.dropped_blocks += 1

    def oldest(self) -> tuple[int, bytes] | None:
        """Returns number and compressed content of the next block to send; None if there is
        none."""
        with self._lock:
            while self._sizes:
                number = min(self._sizes)
                try:
                    return number, self._path(number).read_bytes()
                except FileNotFoundError:
                    self._sizes.pop(number, None)
        return None

    def sent(self, number: int) -> None:
        """Removes a block that the server acknowledged."""
        with self._lock:
            self._remove(number)

    def drop(self, number: int) -> None:
        """Removes a block that the server will never accept."""
        with self._lock:
            self._remove(number)
            self.dropped_blocks += 1

    def renumber(self) -> None:
        """Moves all waiting blocks to a new epoch, because the server already uses their
        numbers."""
        with self._lock:
            self.epoch, self._next = secrets.token_hex(8), 1
            sizes: dict[int, int] = {}
            for number in sorted(self._sizes):  # numbers only decrease, so no name is in use
                self._path(number).rename(self._path(self._next))
                sizes[self._next] = self._sizes[number]
                self._next += 1
            self._sizes = sizes
            self._save()
            sync_folder(self._folder)

    def _remove(self, number: int) -> None:
        self._sizes.pop(number, None)
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:012d}{_SUFFIX}"


def _free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
