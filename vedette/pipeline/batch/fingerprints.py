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

PendingFingerprints = dict[tuple[int, int], set[int]]
"""Fingerprints by sensor and record key."""

Fingerprints = list[tuple[int, int, int]]
"""Sensor, record key and fingerprint of records."""

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

    def add(self, entries: Fingerprints) -> None:
        if len(self._recent.fingerprints) >= CONFLICT_FINGERPRINTS_MAX // 2:
            self._old, self._recent = self._recent, _Generation()
        self._recent.fingerprints.update(print_ for _, _, print_ in entries)
        keys: dict[int, list[int]] = {}
        for sensor_id, key, _ in entries:
            keys.setdefault(sensor_id, []).append(key)
        for sensor_id, found in keys.items():
            self._recent.keys.setdefault(sensor_id, BitMap64()).update(found)

    def is_conflict(
        self,
        sensor_id: int,
        key: int,
        print_: int,
        pending: Iterable[dict[tuple[int, int], set[int]]],
    ) -> bool:
        """Whether this known key has fingerprints, and this is none of them. `pending` are those
        of commits that are not durable yet, by sensor and key."""
        is_known = False
        for entries in pending:
            prints = entries.get((sensor_id, key))
            if prints is not None:
                if print_ in prints:
                    return False
                is_known = True
        for generation in (self._recent, self._old):
            if print_ in generation.fingerprints:
                return False
            keys = generation.keys.get(sensor_id)
            is_known = is_known or (keys is not None and key in keys)
        return is_known
