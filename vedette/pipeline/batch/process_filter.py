"""Which processes the store may know, so that it is not asked about all others.

Most processes that memory does not have are new, and a question about two thousand of them takes
as long as preparing a thousand events. So a hash of 32 bits is kept of every process that is
stored or was forgotten, two and a half bytes each: who has none of these is new. Who shares one,
two in ten thousand beside a million, is asked about for nothing.

Not thread-safe: whoever prepares owns it.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from pyroaring import BitMap

from vedette.limits import HEARD_OF_MAX
from vedette.model.ids import process_hash


class ProcessHashes(Protocol):
    """What the store tells of all its processes."""

    def heard_of(self) -> BitMap | None:
        """The hashes of all that are stored; None when others store too, or when there are more
        than `HEARD_OF_MAX`."""


class ProcessFilter:
    """Hashes of processes. It begins with what is stored, when it is first asked."""

    def __init__(self, store: ProcessHashes) -> None:
        self._store = store
        self._stored: BitMap | None = None
        self._forgotten = BitMap()
        self._can_tell = True

    def begin_empty(self) -> None:
        """Takes note that nothing is stored, and that nobody else stores."""
        self._stored = BitMap()

    def begin_anew(self) -> None:
        """Takes note that stored processes came or went without being noted here."""
        self._stored = None
        self._can_tell = True

    def note(self, process_ids: Iterable[str]) -> None:
        """Processes that may be stored by now, or will be."""
        if len(self._forgotten) <= HEARD_OF_MAX:
            self._forgotten.update(map(process_hash, process_ids))

    def among(self, process_ids: Sequence[str]) -> Sequence[str]:
        """Those that the store may know."""
        if self._stored is None and self._can_tell:
            self._stored = self._store.heard_of()
            self._can_tell = self._stored is not None
        if self._stored is None or len(self._forgotten) > HEARD_OF_MAX:
            return process_ids
        stored, forgotten = self._stored, self._forgotten
        hashes = map(process_hash, process_ids)
        return [
            process_id
            for process_id, one in zip(process_ids, hashes, strict=True)
            if one in stored or one in forgotten
        ]
