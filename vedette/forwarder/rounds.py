"""Forwards new records. Each forwarder runs in its own thread while it has something to send.

A destination that is down or hangs delays only its own forwarder: records that wait stay in the
stores, and only the file that is being sent is in memory. A position is saved after the file has
arrived, so a kill in between causes the file to be sent again. It then has the same path and
replaces the first one. Each stream of a forwarder sends something in every turn, however much
another stream has.

In a cluster, one server at a time runs a forwarder. It holds a lease, which it renews before each
file.
"""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import structlog

from vedette.clock import Clock
from vedette.errors import NotFoundError, UnavailableError, VedetteError
from vedette.forwarder.configuration import Forwarders
from vedette.forwarder.delivery import DeliveryError
from vedette.forwarder.path_template import folder_of
from vedette.forwarder.record_files import Forwarded, RecordFile, record_files
from vedette.forwarder.schedule import Turns
from vedette.limits import FORWARD_THREADS_MAX, Limit
from vedette.state.jobs import forwarders
from vedette.state.jobs.forwarders import ForwardedStream, Forwarder
from vedette.state.jobs.leases import Leases

FORWARD_HOLD_S: Limit[float] = 90.0
"""Seconds for which a server holds a forwarder, longer than one file takes. If the server is
killed, another one continues after this time."""

FORWARD_TURN_S: Limit[float] = 30.0
"""Seconds after which a forwarder that has much to send gives its thread to others."""

FORWARD_BACKOFF_MIN_S: Limit[float] = 2.0
"""Seconds before the second attempt, doubled with every failure."""

FORWARD_BACKOFF_MAX_S: Limit[float] = 300.0
"""Seconds between attempts at most: a destination that works again is noticed within five
minutes."""

FORWARD_BACKOFF_ASKED_MAX_S: Limit[float] = 3_600.0
"""Seconds that a destination may ask to wait."""

FORWARD_TRIALS: Limit[int] = 2
"""Tests of forwarders that may run at the same time. Each may hold a thread of the API for a
minute."""


log = structlog.get_logger(__name__)

_SECOND_US = 1_000_000
_LEASE = "forwarder "


class ForwarderRounds:
    """Runs the forwarders. `dispatch` returns at once; `close` waits for files that are being
    sent."""

    def __init__(self, parts: Forwarders, leases: Leases, clock: Clock, org: str) -> None:
        self._parts = parts
        self._leases = leases
        self._clock = clock
        self._org = org
        self._turns = Turns()
        self._trials = threading.BoundedSemaphore(FORWARD_TRIALS)
        self._is_closing = threading.Event()
        self._pool = ThreadPoolExecutor(FORWARD_THREADS_MAX, thread_name_prefix="forwarder")

    def dispatch(self) -> None:
        """Starts every forwarder that is due, as far as threads are free."""
        known = forwarders.all_forwarders(self._parts.database)
        by_id: dict[str, list[ForwardedStream]] = {}
        for stream in forwarders.streams(self._parts.database):
            by_id.setdefault(stream.forwarder_id, []).append(stream)
        now_us = self._clock.now_us()
        for one in self._turns.due(known):
            streams = [some for some in by_id.get(one.id, ()) if some.retry_us <= now_us]
            is_failing = any(some.failures for some in streams)
            if not streams or self._is_closing.is_set():
                continue
            if self._turns.begin(one.id, is_failing=is_failing):
                self._pool.submit(self._serve, one)

    def send_trial(self, one: Forwarder) -> None:
        """Sends a file with a record that says that it is a test. Raises DeliveryError,
        UnavailableError; the latter also if too many other tests are running."""
        if not self._trials.acquire(blocking=False):
            raise UnavailableError("other forwarders are being tested; try again in a minute")
        try:
            _send_trial(self._parts, one, self._org)
        finally:
            self._trials.release()

    def close(self) -> None:
        """Stops all forwarders. Idempotent. Records that were not sent stay in the stores."""
        self._is_closing.set()
        self._pool.shutdown(cancel_futures=True)

    def _serve(self, one: Forwarder) -> None:
        is_done = True
        try:
            if self._leases.hold(_lease(one), FORWARD_HOLD_S):
                is_done = self._turn(one, time.monotonic() + FORWARD_TURN_S)
                self._leases.release(_lease(one))
        except Exception:
            log.exception("forwarding failed", forwarder=one.name)
        finally:
            self._turns.end(one, one.interval_s if is_done else 0.0)

    def _turn(self, one: Forwarder, until_s: float) -> bool:
        """Sends the records of each stream. Returns False if there are more than fit into a turn,
        or if a stream fails: the time of its next attempt belongs to the stream, not to the
        forwarder."""
        is_done = True
        for stream in forwarders.streams(self._parts.database, one.id):
            if stream.retry_us > self._clock.now_us():
                is_done = False
                continue
            try:
                is_done &= self._send_stream(one, stream, until_s)
                continue
            except DeliveryError as error:
                self._fail(one, stream, error.message, error.after_s)
            except VedetteError as error:
                self._fail(one, stream, error.message, 0.0)
            except Exception as error:
                log.exception("forwarding failed", forwarder=one.name, type=stream.type)
                self._fail(one, stream, f"{type(error).__name__}: {error}", 0.0)
            is_done = False
        return is_done

    def _send_stream(self, one: Forwarder, stream: ForwardedStream, until_s: float) -> bool:
        """Sends a chunk, and more while there is time. Returns whether everything was sent."""
        run = _Run(self._parts, one, stream, self._org, self._turns, lambda: self._may_go_on(one))
        while run.send_chunk(self._clock.now_us) and run.has_more:
            if time.monotonic() > until_s:
                return False
        return True

    def _may_go_on(self, one: Forwarder) -> bool:
        """Whether this server still holds the lease of the forwarder, and the forwarder has not
        changed."""
        if self._is_closing.is_set() or not self._leases.hold(_lease(one), FORWARD_HOLD_S):
            return False
        try:
            known = forwarders.get(self._parts.database, one.id)
        except NotFoundError:
            return False
        return known.changed_us == one.changed_us

    def _fail(self, one: Forwarder, stream: ForwardedStream, error: str, after_s: float) -> None:
        now_us = self._clock.now_us()
        wait_s = max(backoff_s(stream.failures), min(after_s, FORWARD_BACKOFF_ASKED_MAX_S))
        log.warning(
            "a forwarder failed",
            forwarder=one.name,
            type=stream.type,
            error=error,
            again_in_s=round(wait_s),
        )
        retry_us = now_us + int(wait_s * _SECOND_US)
        forwarders.note_failure(self._parts.database, stream, error, now_us, retry_us)


class _Run:
    """Sends the records of one stream in one turn."""

    def __init__(
        self,
        parts: Forwarders,
        one: Forwarder,
        stream: ForwardedStream,
        org: str,
        turns: Turns,
        may_go_on: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._one = one
        self._stream = stream
        self._org = org
        self._turns = turns
        self._may_go_on = may_go_on
        self._destination = parts.open(one)
        self._part = 0
        """Files since the position was saved."""
        self._records = 0
        self.has_more = True

    def send_chunk(self, now_us: Callable[[], int]) -> bool:
        """Sends one chunk of the source. Returns whether this server may continue."""
        chunk = self._parts.sources[self._stream.type].read(self._one, self._stream.position)
        for file in record_files(chunk.records, self._folder, self._one.file_format):
            if not self._may_go_on():
                return False
            with self._turns.sending(self._one.id):
                self._destination.deliver(self._path(file), file.content)
            self._part += 1
            self._records += file.records
            if file.is_whole and not self._advance(file.position, now_us()):
                return False
        self.has_more = chunk.has_more
        return chunk.until <= self._stream.position or self._advance(chunk.until, now_us())

    def _advance(self, position: int, now_us: int) -> bool:
        is_saved = forwarders.advance(
            self._parts.database, self._stream, position, self._records, self._part, now_us
        )
        failures = 0 if self._part else self._stream.failures
        self._stream = replace(self._stream, position=position, failures=failures)
        self._part = self._records = 0
        return is_saved

    def _path(self, file: RecordFile) -> str:
        """Returns the path of a file. It is the same for a file that is sent again from the same
        position."""
        name = f"{self._one.id[:8]}-{self._stream.position:020d}-{self._part:04d}"
        return _below(file.folder, f"{name}{file.content.suffix}")

    def _folder(self, time_us: int) -> str:
        one = self._one
        return folder_of(one.path, self._org, self._stream.type, one.name, time_us)


def _send_trial(parts: Forwarders, one: Forwarder, org: str) -> None:
    now_us = parts.clock.now_us()
    record = Forwarded(0, now_us, {"type": "test", "forwarder": one.name, "org_key": org})
    folder = folder_of(one.path, org, "test", one.name, now_us)
    (file,) = record_files([record], lambda _: folder, one.file_format)
    path = _below(folder, f"{one.id[:8]}-test{file.content.suffix}")
    parts.open(one).deliver(path, file.content)


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def backoff_s(failures: int) -> float:
    """Returns the seconds until the next attempt after this number of earlier failures. They double
    with every failure and are randomized, so that many forwarders to one destination do not try
    again at the same moment."""
    least, most = FORWARD_BACKOFF_MIN_S, FORWARD_BACKOFF_MAX_S
    return min(least * 2.0 ** min(failures, 20), most) * random.uniform(0.8, 1.0)  # noqa: S311


def _lease(one: Forwarder) -> str:
    return f"{_LEASE}{one.id}"
