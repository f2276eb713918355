"""Commit numbers that all servers share, for the ingest queue.

The store may still store a failed commit until the end of the time for which it accepts this
server's inserts (`Membership.fence_us`). Until then the commit's number stays open.

If fewer replicas than all acknowledge an insert, the others have it some seconds later. Followers
read any replica, and never look back, so they see a commit as settled only after that time.
"""

import queue
import threading
import time
from collections import deque
from threading import Lock

import structlog

from vedette.errors import UnavailableError, VedetteError
from vedette.limits import INGEST_RECOVER_INTERVAL_S
from vedette.servers.membership import Membership
from vedette.state.db.database import Database
from vedette.state.servers import commit_numbers

log = structlog.get_logger(__name__)


class Delayed:
    """A monotonically growing number, delayed by a fixed time. Thread-safe."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._lock = Lock()
        self._newer: deque[tuple[float, int]] = deque()
        self._old: int | None = None

    def older(self, number: int, now_s: float) -> int | None:
        """Adds the current number and returns the delayed one; None until one is old enough."""
        with self._lock:
            newest = self._newer[-1][1] if self._newer else self._old
            if newest is None or number > newest:
                self._newer.append((now_s, number))
            while self._newer and self._newer[0][0] <= now_s - self._delay_s:
                self._old = self._newer.popleft()[1]
            return self._old


class SharedNumbers:
    """`CommitNumbers` of a cluster."""

    def __init__(
        self, database: Database, membership: Membership, above: int, settle_s: float
    ) -> None:
        """Numbers are greater than `above`. After `settle_s` seconds all replicas used for reads
        have an insert."""
        commit_numbers.number_above(database, above)
        self._database = database
        self._membership = membership
        self._delayed = Delayed(settle_s)
        self._uncertain: set[int] = set()
        self._over_s = 0.0
        """Time at which the uncertain commits have ended."""
        self._ended: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._end_loop, name="commit ends", daemon=True)
        self._thread.start()

    def begin(self) -> int:
        return commit_numbers.begin(self._database, self._membership.current_id())

    def ended(self, seq: int) -> None:
        self._ended.put(seq)

    def failed(self, seq: int) -> None:
        self._uncertain.add(seq)
        self._over_s = self._membership.uncertain_until_s()

    @property
    def settled(self) -> int:
        found = self._delayed.older(commit_numbers.settled(self._database), time.monotonic())
        if found is None:
            raise UnavailableError("replicas may not have the newest commits yet")
        return found

    def first_uncertain(self) -> int | None:
        if self._uncertain and time.monotonic() < self._over_s:
            raise UnavailableError("commits that failed may still be stored for some seconds")
        return min(self._uncertain, default=None)

    def recovered(self) -> None:
        for seq in self._uncertain:
            self._ended.put(seq)
        self._uncertain = set()

    def close(self) -> None:
        self._ended.put(None)
        self._thread.join()

    def _end_loop(self) -> None:
        """Ends numbers on a separate thread, so that the next commit does not wait."""
        waiting: set[int] = set()
        while True:
            try:
                seq = self._ended.get(timeout=INGEST_RECOVER_INTERVAL_S if waiting else None)
            except queue.Empty:
                seq = 0
            is_last = seq is None
            if seq:
                waiting.add(seq)
            while not self._ended.empty():
                more = self._ended.get()
                is_last = is_last or more is None
                waiting |= set() if more is None else {more}
            try:
                if waiting:
                    commit_numbers.end(self._database, waiting)
                waiting = set()
            except VedetteError as error:
                log.warning("followers wait for finished commits", reason=str(error))
            if is_last:
                return
