"""Quotas for copies of programs (per server, group and sensor), and eviction.

A sensor has its own share and is refused beyond it, so that a host that invents files cannot
displace those of others. Within the share, new copies evict the least requested ones: of the group
if its quota is full, of all groups if the server's is.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from vedette import limits
from vedette.blobs.blob_store import BlobKey, BlobStore
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.files import stored_files
from vedette.state.files.stored_files import StoredFile

COPIES_EVICTED_MAX: Limit[int] = 200
"""Copies of programs that may be evicted for one new copy."""

SENSOR_COPIES_SHARE: Limit[int] = 8
"""Divisor of the room for copies that gives one sensor's share: one eighth, so that a host cannot
keep others from sending theirs."""


log = structlog.get_logger(__name__)

Arrived = Mapping[int, int]
"""Maps sensor to the bytes of its unfinished files."""

NOTHING: Final[Arrived] = {}


class CopiesRoom:
    """The room for copies, shared by all servers on one state database. Safe to share between
    threads."""

    def __init__(self, database: Database, blobs: BlobStore, bytes_max: int) -> None:
        self._database = database
        self._blobs = blobs
        self._bytes_max = bytes_max

    def of_sensor(self, sensor_id: int) -> int:
        """Returns the bytes left of a sensor's share."""
        share = max(self._bytes_max // SENSOR_COPIES_SHARE, 2 * limits.COPIED_FILE_BYTES_MAX)
        return share - stored_files.usage(self._database, sensor_id).of_sensor

    def left(self, sensor_id: int, arrived: Arrived = NOTHING) -> int:
        """Returns the bytes that a sensor may still send without an eviction. Unfinished files
        count against the sensor, its group and the server."""
        total = self._left_of_all(arrived)
        group = stored_files.usage_of_group(self._database, sensor_id)
        of_group = total
        if group.most:
            of_group = group.most - group.used - self._arriving_in(group.group_id, arrived)
        return min(total, of_group, self.of_sensor(sensor_id) - arrived.get(sensor_id, 0))

    def make(self, sensor_id: int, wanted: int, arrived: Arrived = NOTHING) -> None:
        """Evicts copies until a sensor may send `wanted` bytes, as far as the quotas permit."""
        if self.of_sensor(sensor_id) - arrived.get(sensor_id, 0) < wanted or not self._bytes_max:
            return
        group = stored_files.usage_of_group(self._database, sensor_id)
        if group.most:
            most = group.most - self._arriving_in(group.group_id, arrived)
            if most < wanted:
                return
            self._free(group.group_id, group.used + wanted - most)
        self.make_for_all(wanted, arrived)

    def make_for_all(self, wanted: int, arrived: Arrived = NOTHING) -> int:
        """Evicts copies until the server has room for `wanted` bytes. Returns the bytes that it
        has."""
        self._free(0, wanted - self._left_of_all(arrived))
        return self._left_of_all(arrived)

    def _left_of_all(self, arrived: Arrived) -> int:
        total = stored_files.usage(self._database, 0).total
        return self._bytes_max - total - sum(arrived.values())

    def _arriving_in(self, group_id: int, arrived: Arrived) -> int:
        own = stored_files.sensors_in(self._database, group_id, arrived.keys())
        return sum(arrived[sensor_id] for sensor_id in own)

    def _free(self, group_id: int, wanted: int) -> None:
        if wanted <= 0:
            return
        freed = 0
        for file in stored_files.least_requested(self._database, group_id, COPIES_EVICTED_MAX):
            self._evict(file, group_id)
            freed += file.copied
            if freed >= wanted:
                return

    def _evict(self, file: StoredFile, group_id: int) -> None:
        log.info("evicting a copy of a program", sha256=file.sha256, group_id=group_id)
        if not stored_files.release(self._database, file, group_id):
            return
        # Delete the bytes first: after a crash in between, the row remains and the eviction is
        # repeated.
        content = BlobKey("binaries", file.content_sha256 or file.sha256)
        if not stored_files.is_content_of_others(self._database, file):
            self._blobs.delete(content)
        if stored_files.forget_unsent(self._database, file):
            return
        # Sent again meanwhile, possibly after a check that still saw the bytes.
        if self._blobs.size(content) is None:
            stored_files.forget(self._database, file)
