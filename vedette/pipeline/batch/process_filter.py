"""Membership filter for stored process ids, so that new processes skip a store lookup.

Most processes that are not in memory are new, and a lookup of two thousand of them takes as long as
the processing of a thousand events. The filter has a 32-bit hash of each process that is stored or
was evicted from memory, in a roaring bitmap (about 2.5 bytes each). No false negatives; a false
positive (0.02% at one million ids) costs one needless lookup.

Not thread-safe: owned by the batch processor.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from pyroaring import BitMap

from vedette.limits import STORED_HASHES_MAX
from vedette.model.ids import process_hash


class ProcessHashes(Protocol):
    """Source of the hashes of stored processes."""

    def process_hashes(self) -> BitMap | None:
        """Returns the hashes of all stored processes; None if other servers store too, or there are
        more than `STORED_HASHES_MAX`."""


class ProcessFilter:
    """Membership filter (see the module docstring). Loads the hashes of stored processes at the
    first lookup."""

    def __init__(self, store: ProcessHashes) -> None:
        self._store = store
        self._stored: BitMap | None = None
        self._evicted = BitMap()
        self._is_usable = True

    def begin_empty(self) -> None:
        """Declares that nothing is stored, and that no other server stores anything."""
        self._stored = BitMap()

    def begin_anew(self) -> None:
        """Loads the hashes again at the next lookup, because stored processes were added or removed
        by other means."""
        self._stored = None
        self._is_usable = True

    def note(self, process_ids: Iterable[str]) -> None:
        """Adds processes that are or may become stored."""
        if len(self._evicted) <= STORED_HASHES_MAX:
            self._evicted.update(map(process_hash, process_ids))

    def among(self, process_ids: Sequence[str]) -> Sequence[str]:
        """Returns the ids that may be stored; all of them if the filter cannot decide."""
        if self._stored is None and self._is_usable:
            self._stored = self._store.process_hashes()
            self._is_usable = self._stored is not None
        if self._stored is None or len(self._evicted) > STORED_HASHES_MAX:
            return process_ids
        stored, evicted = self._stored, self._evicted
        hashes = map(process_hash, process_ids)
        return [
            process_id
            for process_id, one in zip(process_ids, hashes, strict=True)
            if one in stored or one in evicted
        ]
