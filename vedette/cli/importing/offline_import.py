"""Import without a server: the server's own write path in this process, without HTTP.

Parts of files are committed, deduplicated and rejected by the same code as in the server.
"""

import gc
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from vedette.bootstrap.background_jobs import WRITE_PATH_JOBS, WritePathContext, bind
from vedette.bootstrap.logs import configure_logs
from vedette.bootstrap.write_path import open_engines, start_write_path
from vedette.cli.importing.import_sender import Answered
from vedette.clock import SystemClock
from vedette.errors import BusyError, UnavailableError
from vedette.importer.file_sequence import Chunk
from vedette.jobs.timer import Job, Timer
from vedette.limits import (
    IMPORT_ATTEMPTS_MAX,
    IMPORT_CHUNK_BYTES,
    IMPORT_IN_FLIGHT,
    OFFLINE_IMPORT_RETRY_S,
    Limit,
)
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.receipt_report import report
from vedette.pipeline.submission import Receipt, Submission, request_key
from vedette.settings import Settings
from vedette.state.jobs.leases import Leases
from vedette.state.policy.groups import DEFAULT_GROUP_ID

IMPORT_COMMIT_BYTES: Limit[int] = 6 * IMPORT_CHUNK_BYTES
"""Bytes of a commit of an import without a server. Only the import itself waits for the commit."""

OFFLINE_IMPORT_PARTS_MERGED: Limit[int] = 24
"""Parts of a size that are merged together. Larger than in a server, because no searches run
meanwhile: each row is merged fewer times."""


_COMES_AGAIN = (BusyError, UnavailableError)

_GARBAGE = (
    Job(
        "young garbage",
        1,
        False,
        "collect garbage of the two young generations",
        lambda: gc.collect(1),
    ),
    Job("garbage", 300, False, "collect all garbage", gc.collect),
)
"""Garbage collection, which the event loop does in a server (`bootstrap/event_loop.py`)."""


@contextmanager
def own_store(settings: Settings) -> Iterator["OwnStore"]:
    """Opens the store of a data directory under an exclusive lock. Leaving the block commits
    everything that was accepted.

    Raises StartError with the remedy.
    """
    configure_logs("warning", settings.log_format)
    settings = _settings(settings)
    clock = SystemClock()
    with ExitStack() as closing:
        closing.enter_context(_garbage_left_to_jobs())
        engines = open_engines(settings, clock, closing, OFFLINE_IMPORT_PARTS_MERGED)
        path = start_write_path(settings, clock, engines, closing)
        context = WritePathContext(path, settings, clock, engines.telemetry)
        jobs = [*bind(WRITE_PATH_JOBS, context), *_GARBAGE]
        timer = Timer(jobs, Leases(engines.state, clock))
        timer.start()
        closing.callback(timer.close)
        gc.freeze()
        yield OwnStore(path.ingest_queue)


def _settings(settings: Settings) -> Settings:
    commit = max(settings.commit_bytes_max, IMPORT_COMMIT_BYTES)
    return replace(
        settings, commit_bytes_max=commit, queue_bytes_max=max(settings.queue_bytes_max, 3 * commit)
    )


@contextmanager
def _garbage_left_to_jobs() -> Iterator[None]:
    """Disables automatic garbage collection in favor of `_GARBAGE`, because it would scan every
    batch many times and free nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass(slots=True)
class _Handed:
    """A submitted chunk and its pending receipt."""

    chunk: Chunk
    submission: Submission
    answer: "Future[Receipt]"


class OwnStore:
    """Destination of chunks, like `import_sender.Connection`. Not thread-safe."""

    def __init__(self, intake: IngestQueue) -> None:
        self._intake = intake
        self._under_way: list[_Handed] = []

    def send(self, chunk: Chunk) -> Iterator[Answered]:
        """Submits a chunk; yields responses to earlier chunks that had to complete first.

        Raises UnavailableError if the store accepts nothing for a minute.
        """
        while len(self._under_way) >= IMPORT_IN_FLIGHT:
            yield self._oldest()
        key = request_key(chunk.source.encode())
        size = sum(map(len, chunk.records))
        submission = Submission(
            chunk.records, DEFAULT_GROUP_ID, key, size, in_sequence=True, any_group=True
        )
        self._under_way.append(_Handed(chunk, submission, self._hand_in(submission)))

    def flush(self) -> Iterator[Answered]:
        """Waits for all chunks in flight; yields their responses."""
        while self._under_way:
            yield self._oldest()

    def _oldest(self) -> Answered:
        oldest = self._under_way[0]
        for _ in range(IMPORT_ATTEMPTS_MAX):
            try:
                receipt = oldest.answer.result()
            except _COMES_AGAIN as error:
                reason = error.message
                self._hand_in_again()
            else:
                del self._under_way[0]
                return Answered(oldest.chunk, report(receipt))
        raise UnavailableError(
            f"the store accepted nothing in {IMPORT_ATTEMPTS_MAX} attempts: {reason}"
        )

    def _hand_in_again(self) -> None:
        """Resubmits all failed chunks in order, because a failed commit fails those prepared after
        it."""
        time.sleep(OFFLINE_IMPORT_RETRY_S)
        for handed in self._under_way:
            if isinstance(handed.answer.exception(), _COMES_AGAIN):
                handed.answer = self._hand_in(handed.submission)

    def _hand_in(self, submission: Submission) -> "Future[Receipt]":
        try:
            return self._intake.enqueue(submission)
        except _COMES_AGAIN as error:
            refused: Future[Receipt] = Future()
            refused.set_exception(error)
            return refused
