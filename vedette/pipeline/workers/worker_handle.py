"""The server's side of one worker process, and of one commit that several workers process."""

import select
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import msgspec
import structlog

from vedette.limits import WORKER_CHECK_S, WORKER_PING_S
from vedette.pipeline.workers.message_channel import MessageChannel
from vedette.pipeline.workers.ownership import UnownedSensors
from vedette.pipeline.workers.progress import Progress, ProgressSlot
from vedette.pipeline.workers.protocol import (
    ClaimSensors,
    Failed,
    FromWorker,
    Lookup,
    LookupAnswer,
    Ping,
    Processed,
    SensorsOwned,
)
from vedette.pipeline.workers.refusal_pieces import put_refusals

log = structlog.get_logger(__name__)

WorkerChannel = MessageChannel[FromWorker]

ResolveClaims = Callable[[Mapping[int, UnownedSensors]], dict[int, list[int]] | None]
"""Returns the claimed sensors that each worker owns; None if the commit must be distributed
again."""


class WorkerHandle:
    """A channel to a worker with an outbox. A dedicated sender thread drains the outbox in order,
    so that no caller blocks on a worker that is busy and does not read."""

    def __init__(self, channel: WorkerChannel, progress: ProgressSlot) -> None:
        self.progress = progress
        self.durable: list[int] = []
        """Commits with a part of this worker that became durable since its last `ProcessCommit`."""
        self.privacy_version = 0
        self.filters_version = 0
        self.names_version = 0
        """Versions of privacy settings, ingress filters and host names that the worker has; 0 for
        none."""
        self.rules_version = 0
        """Version of the detection rules that the worker has; 0 for none."""
        self._channel = channel
        self._outbox: SimpleQueue[msgspec.Struct | threading.Event | None] = SimpleQueue()
        self._is_connected = True
        self._awaits_server = False
        self._last_progress = Progress(0, 0, 0)
        self._silent_s = 0.0
        self._is_pinged = False
        self._sender = threading.Thread(target=self._send_loop, name="worker-send", daemon=True)
        self._sender.start()

    @property
    def is_connected(self) -> bool:
        """False once sending failed or `shut` was called."""
        return self._is_connected

    @property
    def has_begun(self) -> bool:
        """Whether the worker has made any progress, as of the last `check`."""
        return self._last_progress.steps > 0

    @property
    def silent_s(self) -> float:
        """Seconds without any progress, as counted by `check`."""
        return self._silent_s

    def send(self, message: msgspec.Struct) -> None:
        """Queues a message. Never raises: `receive` reports a worker that has ended."""
        self._outbox.put(message)

    def answer(self, message: LookupAnswer) -> None:
        """Queues the answer that the worker is waiting for."""
        self._awaits_server = False
        self._outbox.put(message)

    def flush(self) -> None:
        """Returns once the outbox is sent. Raises ConnectionError if the worker has ended."""
        sent = threading.Event()
        self._outbox.put(sent)
        sent.wait()
        if not self._is_connected:
            raise ConnectionResetError("the worker has ended")

    def receive(self) -> Any:
        """Returns the worker's next message. Raises ConnectionError if the worker has ended."""
        message = self._channel.receive()
        self._awaits_server = not isinstance(message, Processed | Failed)
        return message

    def fileno(self) -> int:
        """Returns the file descriptor for selectors."""
        return self._channel.fileno()

    def take_durable(self) -> list[int]:
        """Returns `durable` and empties it."""
        taken, self.durable = self.durable, []
        return taken

    def check(self, elapsed_s: float, ping_s: float = WORKER_PING_S) -> float:
        """Returns the seconds without progress, adding `elapsed_s` since the last check. Pings an
        idle worker after `ping_s`, which makes it progress; a worker that waits for the server is
        not silent. Only for the supervisor's thread."""
        progress = self.progress.read()
        if progress != self._last_progress or self._awaits_server:
            self._last_progress, self._silent_s, self._is_pinged = progress, 0.0, False
            return 0.0
        # At most two intervals at once: the server may have been paused itself.
        self._silent_s += min(elapsed_s, 2 * WORKER_CHECK_S)
        if self._silent_s >= ping_s and not self._is_pinged:
            self._is_pinged = True
            self.send(Ping())
        return self._silent_s

    def has_unread_message(self) -> bool:
        """Whether the worker has sent a message that the server has not received yet."""
        poller = select.poll()
        poller.register(self.fileno(), select.POLLIN)
        return bool(poller.poll(0))

    def shut(self) -> None:
        """Disconnects the worker, which then ends. Threads that wait for it get ConnectionError."""
        self._is_connected = False
        self._channel.shut()

    def close(self) -> None:
        """Disconnects the worker and discards the content of the outbox."""
        self._channel.shut()
        self._outbox.put(None)
        self._sender.join()
        self._channel.close()

    def _send_loop(self) -> None:
        while (item := self._outbox.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            elif self._is_connected:
                self._send_now(item)

    def _send_now(self, message: msgspec.Struct) -> None:
        try:
            self._channel.send(message)
        except Exception as error:
            if not isinstance(error, ConnectionError):
                log.exception("cannot send a message to a worker")
            self.shut()


class CommitRound:
    """One commit that several workers process in parallel. Lookups are answered as they arrive,
    claims of sensors once all workers have sent theirs."""

    def __init__(
        self,
        workers: Mapping[int, WorkerHandle],
        look_up: Callable[[Lookup], LookupAnswer],
        resolve_claims: ResolveClaims,
    ) -> None:
        self._workers = workers
        self._look_up = look_up
        self._resolve_claims = resolve_claims
        self._working = set(workers)
        self._claims: dict[int, UnownedSensors] = {}
        self._processed: dict[int, Processed] = {}
        self._failed: Failed | None = None

    def run(self) -> dict[int, Processed] | Failed | None:
        """Returns the result of each worker; the first failure, once all workers have finished;
        None if the commit must be distributed again. Raises ConnectionError if a worker has
        ended."""
        with DefaultSelector() as selector:
            for number, worker in self._workers.items():
                selector.register(worker, EVENT_READ, number)
            while self._working:
                for key, _ in selector.select():
                    self._receive(key.data)
                if self._claims and self._claims.keys() == self._working:
                    self._answer_claims()
        if self._failed is not None:
            return self._failed
        return self._processed if self._processed.keys() == self._workers.keys() else None

    def _receive(self, number: int) -> None:
        worker = self._workers[number]
        message = worker.receive()
        match message:
            case Processed():
                put_refusals(message.receipts, message.refusals)
                self._processed[number] = message
                self._working.discard(number)
            case Failed():
                self._failed = self._failed or message
                self._working.discard(number)
            case ClaimSensors(unowned):
                self._claims[number] = unowned
            case _:
                worker.answer(self._look_up(message))

    def _answer_claims(self) -> None:
        owned = None if self._failed else self._resolve_claims(self._claims)
        for number in self._claims:
            self._workers[number].answer(SensorsOwned(None if owned is None else owned[number]))
        if owned is None:
            self._working.clear()
        self._claims = {}
