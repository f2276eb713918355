"""Event kinds that the sensor's group does not collect, saved so that a restart keeps them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from ..durable_files import write_durably

_BINARY_ENDINGS = (".so", ".ko")


class Collection:
    """Includes everything until a check-in excludes something. Thread-safe: the set is replaced as
    a whole."""

    def __init__(self, path: Path | None = None) -> None:
        """If `path` is None, nothing is saved."""
        self._path = path
        self._excluded: frozenset[str] = frozenset()
        if path is not None:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                saved = json.loads(path.read_bytes())
                self._excluded = frozenset(str(name) for name in saved["not_collected"])

    def replace(self, skipped: Iterable[str]) -> None:
        """Replaces the excluded kinds. Raises OSError if they cannot be saved; then nothing
        changes."""
        names = frozenset(skipped)
        if names == self._excluded:
            return
        if self._path is not None:
            saved = json.dumps({"not_collected": sorted(names)})
            write_durably(self._path, saved.encode())
        self._excluded = names

    def includes(self, kind: str) -> bool:
        """Whether a kind is collected. `kind` is the name of a group's option without
        `collect_`."""
        return kind not in self._excluded

    def includes_file(self, path: str, file_type: int) -> bool:
        """Whether operations on this file are collected."""
        if not self.includes("filemods"):
            return False
        is_binary = bool(file_type) or path.lower().endswith(_BINARY_ENDINGS)
        return is_binary or self.includes("nonbinary_filewrites")
