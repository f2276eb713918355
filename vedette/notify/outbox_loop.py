"""Sends the waiting messages of the outbox: each target in its own thread while it is active.

A receiver that is down or hangs only delays its own messages: each kind of target has a few
threads, of which failing targets may use half. Messages of a target are sent in order. A message is
marked only after the receiver has accepted it, so a kill in between repeats it and never loses it.
"""

import random
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import structlog
from msgspec import MsgspecError

from vedette import limits
from vedette.clock import Clock
from vedette.errors import VedetteError
from vedette.limits import Limit
from vedette.notify.delivery import Envelope, RefusedError, Sender, TargetError, UnwantedError
from vedette.notify.notice import decode
from vedette.notify.outbox_metrics import OutboxMetrics
from vedette.notify.targets import kind_of
from vedette.state.db.database import Database
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import Message, Target

OUTBOX_THREADS_A_KIND: Limit[int] = 4
"""Targets of one kind that are sent to concurrently; a hanging target occupies a thread."""

OUTBOX_THREADS_FAILING: Limit[int] = 2
"""Threads of a kind that failing targets may use, so that working ones always find a thread."""

OUTBOX_TURN_S: Limit[int] = 30
"""Time (s) after which a target with many messages yields its thread to others."""

OUTBOX_HOLD_S: Limit[int] = 150
"""Time (s) for which a server holds a target; longer than the longest attempt. After the death of a
server in a cluster, its targets wait that long."""

OUTBOX_BACKOFF_MIN_S: Limit[int] = 2
"""Pause (s) before the second attempt; doubles with every failure."""

OUTBOX_BACKOFF_MAX_S: Limit[int] = 300
"""Maximum pause (s) between attempts; a recovered receiver is noticed within five minutes."""

OUTBOX_BACKOFF_ASKED_MAX_S: Limit[int] = 3_600
"""Maximum pause (s) that a receiver may request."""

OUTBOX_GIVE_UP_US: Limit[int] = 3 * 24 * 3600 * 1_000_000
"""Age (us) at which a message to a failing target becomes dead; long enough for a weekend."""


log = structlog.get_logger(__name__)

_SECOND_US = 1_000_000


class OutboxLoop:
    """Sends messages (see the module). `dispatch` returns immediately; `close` waits for current
    sending."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        senders: Mapping[str, Sender],
        metrics: OutboxMetrics,
    ) -> None:
        self._database = database
        self._clock = clock
        self._senders = senders
        self._metrics = metrics
        self._holder = f"{database.name}/{secrets.token_hex(8)}"
        self._lock = threading.Lock()
        self._running: dict[str, bool] = {}
        """Maps active target to whether it was failing."""
        self._is_closing = threading.Event()
        self._pool = ThreadPoolExecutor(
            OUTBOX_THREADS_A_KIND * len(senders), thread_name_prefix="outbox"
        )

    def dispatch(self) -> None:
        """Starts sending to every due target, as threads permit."""
        for target in outbox.due_targets(self._database, self._clock.now_us()):
            if not self._is_closing.is_set() and self._begin(target):
                self._pool.submit(self._serve, target)

    def watch(self) -> None:
        """Updates the metrics of waiting messages."""
        dead = outbox.dead_counts(self._database)
        self._metrics.show(outbox.targets(self._database), dead)

    def purge(self) -> None:
        """Deletes tombstones that have expired, in batches of OUTBOX_PURGE_ROWS."""
        while outbox.purge(self._database, self._clock.now_us()) == limits.OUTBOX_PURGE_ROWS:
            continue

    def close(self) -> None:
        """Stops sending. Idempotent. Unsent messages stay in the outbox."""
        self._is_closing.set()
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, target: Target) -> bool:
        """Reserves a thread for the target. Returns False if none is free."""
        kind, is_failing = kind_of(target.name), target.failures > 0
        with self._lock:
            same = [failing for name, failing in self._running.items() if kind_of(name) == kind]
            is_full = len(same) >= OUTBOX_THREADS_A_KIND
            if is_failing:
                is_full |= sum(same) >= OUTBOX_THREADS_FAILING
            if target.name in self._running or is_full:
                return False
            self._running[target.name] = is_failing
            return True

    def _serve(self, target: Target) -> None:
        """Sends to one target until no message waits, it fails, or its turn is over."""
        try:
            until = time.monotonic() + OUTBOX_TURN_S
            while time.monotonic() < until and not self._is_closing.is_set():
                if not self._send_batch(target):
                    break
        except Exception:
            log.exception("sending from the outbox failed", target=target.name)
        finally:
            self._end(target)

    def _end(self, target: Target) -> None:
        try:
            outbox.release(self._database, target.name, self._holder)
        except VedetteError as error:
            log.warning(
                "cannot release a message target; its lease expires later",
                target=target.name,
                error=error.message,
            )
        with self._lock:
            del self._running[target.name]

    def _send_batch(self, target: Target) -> bool:
        """Sends a batch. Returns whether to continue."""
        sender = self._senders[kind_of(target.name)]
        messages = outbox.take(
            self._database,
            target.name,
            self._holder,
            self._clock.now_us(),
            OUTBOX_HOLD_S * _SECOND_US,
            sender.batch,
        )
        envelopes = self._envelopes(target.name, messages)
        while envelopes:
            if self._is_closing.is_set() or not self._renew(target):
                return False
            done = self._attempt(target, sender, envelopes)
            if not done:
                return False
            envelopes = envelopes[done:]
        return bool(messages)

    def _renew(self, target: Target) -> bool:
        return outbox.renew(
            self._database,
            target.name,
            self._holder,
            self._clock.now_us(),
            OUTBOX_HOLD_S * _SECOND_US,
        )

    def _attempt(self, target: Target, sender: Sender, envelopes: Sequence[Envelope]) -> int:
        """Returns the number of completed envelopes; 0 if the target fails."""
        kind, first = kind_of(target.name), [envelopes[0].message_id]
        try:
            done = sender.send(envelopes)
        except RefusedError as error:
            log.warning("a message was rejected", target=target.name, error=error.message)
            outbox.give_up(self._database, target.name, first, error.message, self._now_us())
            self._metrics.count(kind, "refused")
            return 1
        except UnwantedError as error:
            outbox.drop(self._database, target.name, first, error.message, self._now_us())
            self._metrics.count(kind, "unwanted")
            return 1
        except TargetError as error:
            self._fail(target, error.message, error.after_s, envelopes)
            return 0
        except Exception as error:
            log.exception("a sender failed", target=target.name)
            self._fail(target, f"{type(error).__name__}: {error}", 0.0, envelopes)
            return 0
        self._metrics.count(kind, "sent", done)
        sent = [one.message_id for one in envelopes[:done]]
        outbox.mark_sent(self._database, target.name, sent, self._now_us())
        return done

    def _fail(
        self, target: Target, error: str, after_s: float, envelopes: Sequence[Envelope]
    ) -> None:
        now_us = self._now_us()
        failures = self._failures(target)
        wait_s = max(backoff_s(failures), min(after_s, OUTBOX_BACKOFF_ASKED_MAX_S))
        log.warning(
            "a message target failed", target=target.name, error=error, again_in_s=round(wait_s)
        )
        outbox.mark_failed(
            self._database, target.name, error, now_us, now_us + int(wait_s * _SECOND_US)
        )
        self._metrics.count(kind_of(target.name), "failed")
        old_us = now_us - OUTBOX_GIVE_UP_US
        old = [one.message_id for one in envelopes if one.waiting_since_us < old_us]
        if old:
            outbox.give_up(self._database, target.name, old, error, now_us)

    def _failures(self, target: Target) -> int:
        """Returns the failures since the last success, which may have been in this turn."""
        return next(
            (one.failures for one in outbox.targets(self._database) if one.name == target.name), 0
        )

    def _envelopes(self, name: str, messages: Sequence[Message]) -> list[Envelope]:
        found = []
        for one in messages:
            try:
                notice = decode(one.body)
            except MsgspecError as error:  # of another version, or damaged
                outbox.give_up(self._database, name, [one.id], str(error), self._now_us())
                continue
            since_us = max(one.created_us, one.changed_us)  # a retry restarts the age
            found.append(Envelope(one.id, one.key, notice, one.action_id, since_us))
        return found

    def _now_us(self) -> int:
        return self._clock.now_us()


def backoff_s(failures: int) -> float:
    """Returns the pause (s) after that many earlier failures: doubling, with jitter, so that
    targets of one receiver do not retry simultaneously."""
    least, most = OUTBOX_BACKOFF_MIN_S, OUTBOX_BACKOFF_MAX_S
    return min(least * 2.0 ** min(failures, 20), most) * random.uniform(0.8, 1.0)  # noqa: S311
