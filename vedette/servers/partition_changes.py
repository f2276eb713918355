"""Coordinates closing a partition for writing with the other servers that write to it."""

import time

from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.servers.membership import Membership
from vedette.state.db.database import Database
from vedette.state.servers import commit_numbers, partition_changes

PARTITIONS_FOLLOW_WAIT_S: Limit[int] = 60
"""Time that a change of a partition waits for other servers to follow, and for commits that may
write to the partition."""

PARTITIONS_WAIT_STEP_S: Limit[float] = 0.1
"""Interval between two checks of that wait."""


class PartitionChanges:
    """`OtherWriters` of a cluster."""

    def __init__(self, database: Database, membership: Membership) -> None:
        self._database = database
        self._membership = membership
        self._noted = ("", -1)
        """(id of this server, last change that it has recorded under this id)."""

    def announced(self) -> int:
        return partition_changes.announced(self._database)

    def note_followed(self, change: int) -> None:
        own_id = self._membership.id
        if (own_id, change) != self._noted:
            partition_changes.note_followed(self._database, own_id, change)
            self._noted = own_id, change

    def announce_and_wait(self) -> None:
        change = partition_changes.announce(self._database)
        until_s = time.monotonic() + PARTITIONS_FOLLOW_WAIT_S
        while late := partition_changes.behind(self._database, self._membership.id, change):
            _check(until_s, f"these servers may still write to this partition: {', '.join(late)}")
            time.sleep(PARTITIONS_WAIT_STEP_S)
        newest = commit_numbers.newest(self._database)
        while commit_numbers.settled(self._database) < newest:
            _check(until_s, "a commit to this partition does not end")
            time.sleep(PARTITIONS_WAIT_STEP_S)


def _check(until_s: float, what_holds: str) -> None:
    if time.monotonic() > until_s:
        raise UnavailableError(f"{what_holds}; try again")
