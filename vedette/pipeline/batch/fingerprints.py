"""Detects conflicts: different records that claim the same number of the same channel and host.

A record number identifies a record only while the event log is not cleared, and a sender may claim
any number. So a record whose number is known is a duplicate only if its content matches: the event
id and the time of the event in seconds, which are the same whichever shipper sends the record,
unlike its text. Fingerprints are 32-bit hashes in a roaring bitmap, 2 to 3 bytes each; a collision
takes a conflict for a duplicate (about 0.1% at 5 million).

The newest CONFLICT_FINGERPRINTS_MAX fingerprints are kept, in two generations. They are not stored:
a number whose fingerprint is not known (after a restart, or evicted) counts as a duplicate. Not
thread-safe.
"""

from collections.abc import Iterable

from pyroaring import BitMap, BitMap64

from vedette.ingest.record import Record
from vedette.limits import CONFLICT_FINGERPRINTS_MAX

_MASK = (1 << 32) - 1


def fingerprint(sensor_id: int, key: int, record: Record) -> int:
    """32 bits of a record's identity and content."""
    return hash((sensor_id, key, record.event_id, record.time_us // 1_000_000)) & _MASK


class _Generation:
    def __init__(self) -> None:
        self.keys: dict[int, BitMap64] = {}
        """Keys with a fingerprint, by sensor: dense numbers, so these bitmaps are small."""
        self.fingerprints = BitMap()


class FingerprintSet:
    """Fingerprints of stored records."""

    def __init__(self) -> None:
        self._recent = _Generation()
        self._old = _Generation()

    def add(self, sensor_id: int, keys: Iterable[int], prints: Iterable[int]) -> None:
        """Adds records of a sensor: their keys and their fingerprints, in any order."""
        if len(self._recent.fingerprints) >= CONFLICT_FINGERPRINTS_MAX // 2:
            self._old, self._recent = self._recent, _Generation()
        self._recent.fingerprints.update(prints)
        bitmap = self._recent.keys.get(sensor_id)
        if bitmap is None:
            bitmap = self._recent.keys[sensor_id] = BitMap64()
        bitmap.update(keys)

    def has(self, print_: int) -> bool:
        """Whether a record with this fingerprint is stored."""
        return print_ in self._recent.fingerprints or print_ in self._old.fingerprints

    def has_key(self, sensor_id: int, key: int) -> bool:
        """Whether the fingerprint of a record with this key is known."""
        for generation in (self._recent, self._old):
            keys = generation.keys.get(sensor_id)
            if keys is not None and key in keys:
                return True
        return False
