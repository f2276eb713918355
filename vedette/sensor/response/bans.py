"""The list of banned hashes, kept in a file that the guard reads and that survives restarts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..durable_files import write_durably
from ..limits import BANS_MAX


class Bans:
    """Banned programs by MD5, with the SHA-256 if the server sent it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = 0
        self._sha256: dict[str, str] = {}
        self.refused = 0
        """Number of bans above BANS_MAX, which are not enforced."""
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
        """Applies the ban changes of a check-in. Raises OSError if they cannot be saved; the list
        is then unchanged."""
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
        """Whether a program is banned by either of its hashes. A wrong SHA-256 in the list must not
        let a program with a banned MD5 pass."""
        return md5 in self._sha256 or sha256 in self._known_sha256


class BlockCounts:
    """Counts of blocked starts that the server has not acknowledged. Thread-safe.

    A list that was sent and not acknowledged is sent again unchanged, with the same number, because
    the server may have counted it. Later blocks wait for the next list.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._sent: list[dict[str, Any]] = []
        self.number = 0
        """Number of the list that `take` returned last; 0 for an empty list."""

    def count(self, body: dict[str, Any]) -> None:
        """Counts a block. `body` contains md5, sha256, path, pid, time_us."""
        key = body["md5"], body["sha256"], body["path"]
        with self._lock:
            known = self._counts.get(key)
            times = known["count"] if known else 0
            self._counts[key] = {**body, "count": times + 1}

    def take(self) -> list[dict[str, Any]]:
        """Returns the list to send with this check-in."""
        with self._lock:
            if not self._sent:
                self._sent, self._counts = list(self._counts.values()), {}
                self.number = time.time_ns() // 1_000 if self._sent else 0
            return list(self._sent)

    def acknowledge(self) -> None:
        """Call when the server has acknowledged the list that `take` returned."""
        with self._lock:
            self._sent = []
