"""Room for copies of programs: of the server, of a group, of a sensor; and what goes to make some.

A sensor has a share of its own and is refused beyond it, so that one host that makes up files
cannot push out those of others. Within it, what was asked for least goes for what comes: of the
group where its quota is full, of all where the server is.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from vedette import limits
from vedette.blobs.blob_store import BlobKey, BlobStore
from vedette.state.db.database import Database
from vedette.state.files import stored_files
from vedette.state.files.stored_files import StoredFile

log = structlog.get_logger(__name__)

Arrived = Mapping[int, int]
"""Bytes of unfinished files, by the sensor that sends them."""

NOTHING: Final[Arrived] = {}


class CopiesRoom:
    """The room of all servers that share a state. Safe to share between threads."""

    def __init__(self, database: Database, blobs: BlobStore, bytes_max: int) -> None:
        self._database = database
        self._blobs = blobs
        self._bytes_max = bytes_max

    def of_sensor(self, sensor_id: int) -> int:
        """Bytes that are left of a sensor's share."""
        share = max(self._bytes_max // limits.SENSOR_COPIES_SHARE, 2 * limits.COPIED_FILE_BYTES_MAX)
        return share - stored_files.usage(self._database, sensor_id).of_sensor

    def left(self, sensor_id: int, arrived: Arrived = NOTHING) -> int:
        """Bytes that a sensor may still send without anything going. What arrives counts where it
        will lie: with its sensor, with its group, and with all."""
        total = self._left_of_all(arrived)
        group = stored_files.usage_of_group(self._database, sensor_id)
        of_group = total
        if group.most:
            of_group = group.most - group.used - self._arriving_in(group.group_id, arrived)
        return min(total, of_group, self.of_sensor(sensor_id) - arrived.get(sensor_id, 0))

    def make(self, sensor_id: int, wanted: int, arrived: Arrived = NOTHING) -> None:
        """Deletes copies until so many bytes are left to a sensor, as far as they may go."""
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
        """Deletes copies until the server has room for so many bytes; how many it has."""
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
        for file in stored_files.least_requested(
            self._database, group_id, limits.COPIES_EVICTED_MAX
        ):
            self._evict(file, group_id)
            freed += file.copied
            if freed >= wanted:
                return

    def _evict(self, file: StoredFile, group_id: int) -> None:
        log.info("a copy of a program makes room", sha256=file.sha256, group_id=group_id)
        if not stored_files.release(self._database, file, group_id):
            return
        # The bytes go first: a server that is killed in between finds the row, and does it again.
        content = BlobKey("binaries", file.content_sha256 or file.sha256)
        if not stored_files.is_content_of_others(self._database, file):
            self._blobs.delete(content)
        if stored_files.forget_unsent(self._database, file):
            return
        # Sent again meanwhile, by one who may have looked for the bytes before they went.
        if self._blobs.size(content) is None:
            stored_files.forget(self._database, file)
