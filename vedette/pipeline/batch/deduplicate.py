"""What was stored before: how a re-sent record is recognised for at least 24 hours.

A record with a number of its own is known by (sensor, channel, number): the numbers of a
channel are dense, so a compressed bitmap a sensor stays small. A record without one is known
with its whole request. Each key lies in the stored row that the record made, so a crash
between two inserts can neither lose nor double a record, and after a restart this memory is
read back from the rows themselves (design.md 4).

Few records make rows in both tables (a logon, a service install). `record` is written first:
its row carries the key with `HALF`, so a crash after it leaves the record known as half
stored, and only the other half of it is stored when it is sent again.

Keys are remembered in two generations that change places every `SEEN_HOURS`. A commit's own
keys are pending until it is durable; when it fails they are forgotten.

Not thread-safe: whoever prepares owns it.
"""

from collections.abc import Iterable

from pyroaring import BitMap64

from vedette.limits import SEEN_HOURS

RECORD_ID_BITS = 48
RECORD_ID_MAX = (1 << RECORD_ID_BITS) - 1

HALF = 1 << 63
"""In the key of a row of `record`: its record makes rows of `segment` as well."""

_GENERATION_US = SEEN_HOURS * 3600 * 1_000_000


def record_key(channel_code: int, record_id: int) -> int:
    """Key of a record within its sensor; 0, which means none, without a usable number.

    `channel_code` is 0 for channels that have none (`state/sensors/channel_codes.py`)."""
    if channel_code and 0 < record_id <= RECORD_ID_MAX:
        return channel_code << RECORD_ID_BITS | record_id
    return 0


class _Generation:
    """Keys of one stretch of time."""

    def __init__(self) -> None:
        self.records: dict[int, BitMap64] = {}
        self.requests: set[tuple[str, int]] = set()


class _Pending:
    """Keys of one commit that is not yet durable."""

    def __init__(self) -> None:
        self.records: dict[int, set[int]] = {}
        self.requests: set[tuple[str, int]] = set()


class Deduplicator:
    """Memory of stored records. Requests are known by table, `segment` or `record`."""

    def __init__(self, now_us: int) -> None:
        self._recent = _Generation()
        self._old = _Generation()
        self._turned_us = now_us
        self._pending: dict[int, _Pending] = {}
        self._open = _Pending()
        self._halves: set[tuple[int, int]] = set()
        """Sensor and key of records of which only the row in `record` is stored: left by a
        crash or a failed commit, so there are few."""

    def begin(self, commit: int, now_us: int) -> None:
        """What is added from now on belongs to `commit`."""
        if now_us - self._turned_us > _GENERATION_US:
            self._old, self._recent = self._recent, _Generation()
            self._turned_us = now_us
        self._open = self._pending[commit] = _Pending()

    def known_among(self, sensor_id: int, keys: list[int]) -> frozenset[int]:
        """Those of the keys that were stored before this commit, or are about to be."""
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
        known.discard(0)  # "no key"
        return frozenset(known)

    def has_request(self, table: str, key: int) -> bool:
        entry = (table, key)
        return (
            entry in self._recent.requests
            or entry in self._old.requests
            or any(entry in pending.requests for pending in self._pending.values())
        )

    def has_half(self, sensor_id: int, key: int) -> bool:
        """Whether a record that is not known as stored has its row in `record` already."""
        return (sensor_id, key) in self._halves

    def add_records(self, sensor_id: int, keys: set[int]) -> None:
        """The keys that the commit under way stores for a sensor."""
        self._open.records.setdefault(sensor_id, set()).update(keys)

    def add_request(self, table: str, key: int) -> None:
        self._open.requests.add((table, key))

    def durable(self, commit: int) -> None:
        """The commit's keys are in the store."""
        pending = self._pending.pop(commit)
        for sensor_id, keys in pending.records.items():
            self.restore_records(sensor_id, keys)
        self._recent.requests |= pending.requests

    def forget_pending(self) -> None:
        """No pending commit became durable; what they did store is read back by the caller."""
        self._pending.clear()
        self._open = _Pending()

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None:
        bitmap = self._recent.records.get(sensor_id)
        if bitmap is None:
            bitmap = self._recent.records[sensor_id] = BitMap64()
        bitmap.update(keys)

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None:
        """Takes the keys of rows of `record`; those of `segment` have been restored before."""
        told = list(keys)
        halves = [key ^ HALF for key in told if key & HALF]
        known = self.known_among(sensor_id, halves) if halves else frozenset()
        self._halves.update((sensor_id, key) for key in halves if key not in known)
        self.restore_records(sensor_id, (key for key in told if not key & HALF))

    def restore_requests(self, table: str, keys: Iterable[int]) -> None:
        self._recent.requests.update((table, key) for key in keys)
