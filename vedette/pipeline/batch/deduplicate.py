"""Deduplication: a record that is sent again within SEEN_HOURS is recognized and not stored again.

A record with a number of its own is identified by (sensor, channel, number): numbers of a channel
are dense, so a compressed bitmap per sensor stays small. The same number with other content is a
conflict (`fingerprints.py`). A record without a number is identified with its whole request. Every
key is in the stored row of its record, so a crash between two inserts neither loses nor duplicates
a record, and a restarted server reads the keys back from the rows (ARCHITECTURE.md#the-write-path).

Some records make rows in both tables (a logon, a service install). `record` is written first, with
`HALF` set in its key. After a crash in between, the record counts as half stored, and only its
other half is stored when it is sent again.

Keys are kept in two generations that are swapped every `SEEN_HOURS`. The keys of a commit are
pending until it is durable, and dropped when it fails. Not thread-safe: owned by the batch
processor.
"""

from collections.abc import Iterable

from pyroaring import BitMap64

from vedette.limits import SEEN_HOURS
from vedette.model.ids import slot_of
from vedette.pipeline.batch.fingerprints import FingerprintSet

RECORD_ID_BITS = 48
RECORD_ID_MAX = (1 << RECORD_ID_BITS) - 1

HALF = 1 << 63
"""Flag in the key of a `record` row whose record also makes rows of `segment`."""

_GENERATION_US = SEEN_HOURS * 3600 * 1_000_000


def record_key(channel_code: int, record_id: int) -> int:
    """Returns the key of a record within its sensor; 0 if it has no usable number.

    `channel_code` is 0 for channels without a code (`state/sensors/channel_codes.py`)."""
    if channel_code and 0 < record_id <= RECORD_ID_MAX:
        return channel_code << RECORD_ID_BITS | record_id
    return 0


class _Generation:
    """Keys of one period."""

    def __init__(self) -> None:
        self.records: dict[int, BitMap64] = {}
        self.requests: set[tuple[str, int]] = set()


class _Pending:
    """Keys of one commit that is not yet durable."""

    def __init__(self) -> None:
        self.records: dict[int, set[int]] = {}
        self.requests: set[tuple[str, int]] = set()
        self.fingerprints: dict[int, set[int]] = {}
        """Maps sensor id to fingerprints; each of its `records` has one."""


class Deduplicator:
    """Keys of stored records, and keys of requests by table (`segment` or `record`)."""

    def __init__(self, now_us: int) -> None:
        self._recent = _Generation()
        self._old = _Generation()
        self._swapped_us = now_us
        self._pending: dict[int, _Pending] = {}
        self._open = _Pending()
        self._fingerprints = FingerprintSet()
        self._halves: set[tuple[int, int]] = set()
        """(sensor, key) of records with only the row in `record` stored. Crashes and failed commits
        leave them, so there are few."""

    def begin(self, commit: int, now_us: int) -> None:
        """Starts a commit: keys added later belong to it."""
        if now_us - self._swapped_us > _GENERATION_US:
            self._old, self._recent = self._recent, _Generation()
            self._swapped_us = now_us
        self._open = self._pending[commit] = _Pending()

    def known_among(self, sensor_id: int, keys: list[int]) -> frozenset[int]:
        """Returns the keys that earlier commits have stored or are storing."""
        asked = BitMap64(keys)
        known: set[int] = set()
        for generation in (self._recent, self._old):
            bitmap = generation.records.get(sensor_id)
            if bitmap is not None and asked.intersect(bitmap):
                known.update(asked & bitmap)
        for pending in self._pending.values():
            kept = pending.records.get(sensor_id)
            if kept:
                known.update(kept.intersection(keys))
        known.discard(0)  # 0 is "no key"
        return frozenset(known)

    def has_request(self, table: str, key: int) -> bool:
        entry = (table, key)
        return (
            entry in self._recent.requests
            or entry in self._old.requests
            or any(entry in pending.requests for pending in self._pending.values())
        )

    def has_half(self, sensor_id: int, key: int) -> bool:
        """Whether a record that is not fully stored already has its row in `record`."""
        return (sensor_id, key) in self._halves

    def add_records(self, sensor_id: int, keys: set[int]) -> None:
        """Adds keys that the current commit stores for a sensor."""
        self._open.records.setdefault(sensor_id, set()).update(keys)

    def add_fingerprints(self, sensor_id: int, prints: set[int]) -> None:
        """Adds fingerprints of all records with a number that the current commit stores."""
        self._open.fingerprints.setdefault(sensor_id, set()).update(prints)

    def is_conflict(self, sensor_id: int, key: int, print_: int) -> bool:
        """Whether the content of a record differs from that of all stored records with its key."""
        has_key = self._fingerprints.has_key(sensor_id, key)
        for pending in self._pending.values():
            if print_ in pending.fingerprints.get(sensor_id, ()):
                return False
            has_key = has_key or key in pending.records.get(sensor_id, ())
        return has_key and not self._fingerprints.has(sensor_id, print_)

    def add_request(self, table: str, key: int) -> None:
        self._open.requests.add((table, key))

    def durable(self, commit: int) -> None:
        """Marks a commit as stored: its keys are no longer pending."""
        pending = self._pending.pop(commit)
        for sensor_id, keys in pending.records.items():
            self.restore_records(sensor_id, keys)
        self._recent.requests |= pending.requests
        for sensor_id, prints in pending.fingerprints.items():
            self._fingerprints.add(sensor_id, pending.records.get(sensor_id, ()), prints)

    def reset_pending(self) -> None:
        """Drops pending commits, because none became durable. The caller reads back the keys that
        they did store."""
        self._pending.clear()
        self._open = _Pending()

    def forget_slots(self, slots: frozenset[int]) -> None:
        """Drops the keys of sensors in these slots. Request keys stay: each includes its slot, and
        its records were stored. No commit may be pending."""
        for generation in (self._recent, self._old):
            for sensor_id in [one for one in generation.records if slot_of(one) in slots]:
                del generation.records[sensor_id]
        self._halves = {one for one in self._halves if slot_of(one[0]) not in slots}

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None:
        bitmap = self._recent.records.get(sensor_id)
        if bitmap is None:
            bitmap = self._recent.records[sensor_id] = BitMap64()
        bitmap.update(keys)

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None:
        """Adds keys of rows of `record`. The keys of `segment` must be restored first."""
        added = list(keys)
        halves = [key ^ HALF for key in added if key & HALF]
        known = self.known_among(sensor_id, halves) if halves else frozenset()
        self._halves.update((sensor_id, key) for key in halves if key not in known)
        self.restore_records(sensor_id, (key for key in added if not key & HALF))

    def restore_requests(self, table: str, keys: Iterable[int]) -> None:
        self._recent.requests.update((table, key) for key in keys)
