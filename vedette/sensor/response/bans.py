"""The banned hashes, kept in a file: the guard reads it, and a restart forgets nothing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..host.durable_files import write_durably
from ..limits import BANS_MAX


class Bans:
    """Banned programs by md5, with their sha256 where the server knows it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = 0
        self._sha256: dict[str, str] = {}
        self.refused = 0
        """Bans beyond the bound."""
        try:
            saved = json.loads(path.read_bytes())
            self._sha256 = {str(md5): str(sha) for md5, sha in saved["hashes"].items()}
            self.version = int(saved["version"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        self._known_sha256 = frozenset(self._sha256.values()) - {""}

    def __len__(self) -> int:
        return len(self._sha256)

    def apply(
        self, version: int, *, full: bool, add: Iterable[dict[str, Any]], remove: Iterable[str]
    ) -> None:
        """A change as a check-in brings it. OSError when it cannot be kept: nothing changed."""
        hashes = {} if full else dict(self._sha256)
        for md5 in remove:
            hashes.pop(str(md5).lower(), None)
        refused = 0
        for one in add:
            if len(hashes) >= BANS_MAX:
                refused += 1
                continue
            hashes[str(one["md5"]).lower()] = str(one.get("sha256") or "").lower()
        saved = json.dumps({"version": version, "hashes": hashes})
        write_durably(self.path, saved.encode())
        self._sha256, self.version, self.refused = hashes, version, refused
        self._known_sha256 = frozenset(hashes.values()) - {""}

    def matches(self, md5: str, sha256: str) -> bool:
        """Whether a program is banned by either of its hashes: a wrong SHA-256 in the list must not
        let a program pass whose MD5 is banned."""
        return md5 in self._sha256 or sha256 in self._known_sha256


class BlockCounts:
    """Blocks that the server has not been told of; safe for threads.

    What was sent and not answered is sent again as it was, under the same number: the server may
    have counted it. What came meanwhile waits for the next check-in.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._sent: list[dict[str, Any]] = []
        self.number = 0
        """Names what `take` gave last; 0 when it was nothing."""

    def count(self, body: dict[str, Any]) -> None:
        """`body`: md5, sha256, path, pid, time_us of one block."""
        key = body["md5"], body["sha256"], body["path"]
        with self._lock:
            known = self._counts.get(key)
            times = known["count"] if known else 0
            self._counts[key] = {**body, "count": times + 1}

    def take(self) -> list[dict[str, Any]]:
        """What is to be told now."""
        with self._lock:
            if not self._sent:
                self._sent, self._counts = list(self._counts.values()), {}
                self.number = time.time_ns() // 1_000 if self._sent else 0
            return list(self._sent)

    def told(self) -> None:
        """The server has what `take` gave."""
        with self._lock:
            self._sent = []
