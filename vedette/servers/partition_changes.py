"""Other servers that write to the same partitions, for whoever closes one to writing."""

import time

from vedette import limits
from vedette.errors import UnavailableError
from vedette.servers.membership import Membership
from vedette.state.db.database import Database
from vedette.state.servers import commit_numbers, partition_changes


class PartitionChanges:
    """`OtherWriters` of a cluster."""

    def __init__(self, database: Database, membership: Membership) -> None:
        self._database = database
        self._membership = membership
        self._noted = ("", -1)
        """The id of this server, and the change that it has noted under it."""

    def announced(self) -> int:
        return partition_changes.announced(self._database)

    def note_followed(self, change: int) -> None:
        own_id = self._membership.id
        if (own_id, change) != self._noted:
            partition_changes.note_followed(self._database, own_id, change)
            self._noted = own_id, change

    def announce_and_wait(self) -> None:
        change = partition_changes.announce(self._database)
        until_s = time.monotonic() + limits.PARTITIONS_FOLLOW_WAIT_S
        if partition_changes.any_silent(self._database):
            time.sleep(2 * limits.PARTITIONS_FOLLOWED_S)
        while late := partition_changes.behind(self._database, self._membership.id, change):
            _check(until_s, f"these servers may still write to this partition: {', '.join(late)}")
            time.sleep(limits.PARTITIONS_WAIT_STEP_S)
        newest = commit_numbers.newest(self._database)
        while commit_numbers.settled(self._database) < newest:
            _check(until_s, "a commit to this partition does not end")
            time.sleep(limits.PARTITIONS_WAIT_STEP_S)


def _check(until_s: float, what_holds: str) -> None:
    if time.monotonic() > until_s:
        raise UnavailableError(f"{what_holds}; try again")
