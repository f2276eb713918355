"""What prepares commits, as the rest of the write path sees it.

A server prepares in processes of their own (`worker_pool.py`), because preparing is most
of what ingest costs and holds the interpreter. `LocalProcessor` is the same in this process: it
is what that process runs, and what the write path's tests drive.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from vedette.ingest.filter import compile_filters
from vedette.model.ingress_filter import IngressFilter
from vedette.pipeline.batch.batch_processor import BatchProcessor
from vedette.pipeline.batch.decoded_batch import decode_submission
from vedette.pipeline.batch.pack import PackedCommit, pack
from vedette.pipeline.submission import Submission
from vedette.pipeline.time_windows import TimeWindows


class StoredKeys(Protocol):
    """Who is told what was stored before (`Seen`)."""

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None: ...

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None: ...

    def restore_requests(self, table: str, keys: Iterable[int]) -> None: ...


class KeyRecovery(Protocol):
    """What is read back from the store (`StoreGuide`)."""

    def restore_seen(self, seen: StoredKeys, since_seq: int) -> None:
        """Tells which keys the commits from `since_seq` on did store, whole or in part."""


class CommitProcessor(Protocol):
    """The preparing thread's alone, but for `expect`, and for the filters, which any thread may
    change and ask."""

    @property
    def windows(self) -> TimeWindows:
        """Where the next commit belongs."""

    def expect(self, submission: Submission) -> None:
        """A submission that has come, and will be of a later commit: what can be done of it before
        then may begin. By any thread, one at a time; beside all else. Raises nothing."""

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> PackedCommit:
        """The tables of one commit, whether its submissions were expected or not. Raises
        UnavailableError when the server cannot tell now what has to be known; after any error
        `begin_anew` comes next."""

    def durable(self, seq: int) -> None:
        """A commit is stored: what it brought is known from now on."""

    def begin_anew(self, since_seq: int) -> None:
        """Forgets all that may speak of rows which were never stored, and reads back what the
        commits from `since_seq` on did store. Raises UnavailableError."""

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        """Segments of these partitions get no late metadata."""

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        """Commits that begin after it are judged by these."""

    def filter_counts(self) -> tuple[int, dict[str, int]]:
        """Processes judged since the last call, and how many of them each filter meant."""


class LocalProcessor:
    """`CommitProcessor` by a preparer of this process."""

    def __init__(self, preparer: BatchProcessor, recall: KeyRecovery) -> None:
        self.preparer = preparer
        self._recall = recall

    @property
    def windows(self) -> TimeWindows:
        return self.preparer.windows

    def expect(self, submission: Submission) -> None:
        """Nothing: whatever is done before is done by this process all the same."""

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> PackedCommit:
        return pack(self.preparer.prepare(list(map(decode_submission, submissions)), seq, now_us))

    def durable(self, seq: int) -> None:
        self.preparer.seen.durable(seq)

    def begin_anew(self, since_seq: int) -> None:
        self.preparer.forget()
        self._recall.restore_seen(self.preparer.seen, since_seq)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        self.preparer.registry.without_partitions(unmounted)

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        self.preparer.sieve.use(compile_filters(filters))

    def filter_counts(self) -> tuple[int, dict[str, int]]:
        return self.preparer.sieve.counts()
