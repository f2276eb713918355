"""The banned hashes, kept in a file: the guard reads it, and a restart forgets nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .files import write_durably
from .limits import BANS_MAX


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

    def matches(self, md5: str, sha256: str) -> bool:
        """Whether a program with these hashes is banned."""
        known = self._sha256.get(md5)
        return known is not None and known in {"", sha256}


class BlockCounts:
    """Blocks that the server has not been told of; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, str], dict[str, Any]] = {}

    def count(self, body: dict[str, Any]) -> None:
        """`body`: md5, sha256, path, pid, time_us of one block."""
        key = body["md5"], body["sha256"], body["path"]
        with self._lock:
            known = self._counts.get(key)
            times = known["count"] if known else 0
            self._counts[key] = {**body, "count": times + 1}

    def take(self) -> list[dict[str, Any]]:
        with self._lock:
            taken, self._counts = list(self._counts.values()), {}
        return taken

    def give_back(self, bodies: list[dict[str, Any]]) -> None:
        """The check-in that carried them failed."""
        with self._lock:
            for body in bodies:
                key = body["md5"], body["sha256"], body["path"]
                newer = self._counts.get(key)
                count = body["count"] + (newer["count"] if newer else 0)
                self._counts[key] = {**(newer or body), "count": count}
