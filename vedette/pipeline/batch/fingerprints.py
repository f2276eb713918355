"""Detects conflicts: different records with the same number of the same channel and host.

A record number identifies a record only until the event log is cleared, and a sender may claim any
number. So a record whose number is stored is a duplicate only if its content matches: the event id,
and the time of the event in seconds. These are the same whichever shipper sends the record, unlike
its text.

A fingerprint has 16 bits of the number, so that records with close numbers share a container of a
roaring bitmap (fast, 2 to 3 bytes each), and a 16-bit hash of the content. A conflict is mistaken
for a duplicate if another record with a close number has the same hash: about 1 in 256.

The newest CONFLICT_FINGERPRINTS_MAX fingerprints are kept, in two generations. They are not stored:
a number without a fingerprint (after a restart, or after eviction) counts as a duplicate. Not
thread-safe.
"""

from collections.abc import Iterable

from pyroaring import BitMap, BitMap64

from vedette.ingest.record import Record
from vedette.limits import Limit

CONFLICT_FINGERPRINTS_MAX: Limit[int] = 5_000_000
"""Newest records, for each worker, whose content is compared when their number arrives again; 2 to
3 bytes each."""


def fingerprint(key: int, record: Record) -> int:
    """Returns a 32-bit hash of a record's number and content, comparable within its sensor."""
    # The lowest bits of a tuple's hash differ too little between similar tuples.
    content = hash((key, record.event_id, record.time_us // 1_000_000)) >> 24 & 0xFFFF
    return (key & 0xFFFF00) << 8 | content


class _Generation:
    def __init__(self) -> None:
        self.keys: dict[int, BitMap64] = {}
        """Maps sensor id to the keys with a fingerprint: dense numbers, so these bitmaps are
        small."""
        self.fingerprints: dict[int, BitMap] = {}
        self.count = 0


class FingerprintSet:
    """Fingerprints of stored records."""

    def __init__(self) -> None:
        self._recent = _Generation()
        self._old = _Generation()

    def add(self, sensor_id: int, keys: Iterable[int], prints: set[int]) -> None:
        """Adds the keys and fingerprints of a sensor's records, in any order."""
        if self._recent.count >= CONFLICT_FINGERPRINTS_MAX // 2:
            self._old, self._recent = self._recent, _Generation()
        recent = self._recent
        bitmap = recent.fingerprints.get(sensor_id)
        if bitmap is None:
            bitmap = recent.fingerprints[sensor_id] = BitMap()
            recent.keys[sensor_id] = BitMap64()
        bitmap.update(prints)
        recent.keys[sensor_id].update(keys)
        recent.count += len(prints)

    def has(self, sensor_id: int, print_: int) -> bool:
        """Whether a stored record of the sensor has this fingerprint."""
        return any(
            print_ in generation.fingerprints.get(sensor_id, ())
            for generation in (self._recent, self._old)
        )

    def has_key(self, sensor_id: int, key: int) -> bool:
        """Whether a record with this key has a fingerprint."""
        for generation in (self._recent, self._old):
            keys = generation.keys.get(sensor_id)
            if keys is not None and key in keys:
                return True
        return False
