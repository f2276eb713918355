"""One of the processes that prepare commits, as the server sees it; and one commit of them all."""

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import msgspec
import structlog

from vedette.pipeline.workers.message_channel import SocketChannel
from vedette.pipeline.workers.ownership import UnownedSensors
from vedette.pipeline.workers.protocol import (
    ClaimSensors,
    Failed,
    FromWorker,
    Lookup,
    LookupAnswer,
    Processed,
    SensorsOwned,
)

log = structlog.get_logger(__name__)

WorkerChannel = SocketChannel[FromWorker]

Settle = Callable[[Mapping[int, UnownedSensors]], dict[int, list[int]] | None]
"""Tells each process which of the sensors it met are its own; None where the commit has to come
again, shared out in another way."""


class WorkerHandle:
    """See the module. What it is told is sent by a thread of its own, in order: a process that is
    busy reads nothing, and nobody waits for it."""

    def __init__(self, link: WorkerChannel) -> None:
        self._link = link
        self._outbox: SimpleQueue[msgspec.Struct | threading.Event | None] = SimpleQueue()
        self._is_there = True
        self._sender = threading.Thread(target=self._send_all, name="tell", daemon=True)
        self._sender.start()
        self.durable: list[int] = []
        """Commits it took part in that were stored since its last order."""
        self.filters_version = 0
        """Which filters it judges by; 0 for none."""

    def tell(self, message: msgspec.Struct) -> None:
        """Raises nothing: that the process has ended shows when it is listened to."""
        self._outbox.put(message)

    def wait(self) -> None:
        """Returns when it was sent all that it was told. Raises ConnectionError when it has
        ended."""
        sent = threading.Event()
        self._outbox.put(sent)
        sent.wait()
        if not self._is_there:
            raise ConnectionResetError("the process has ended")

    def listen(self) -> Any:
        """What it says next. Raises ConnectionError when the process has ended."""
        return self._link.receive()

    def fileno(self) -> int:
        """For selectors."""
        return self._link.fileno()

    def durable_since(self) -> list[int]:
        told, self.durable = self.durable, []
        return told

    def close(self) -> None:
        """Ends the process; it does not get what it was not sent yet."""
        self._link.shut()
        self._outbox.put(None)
        self._sender.join()
        self._link.close()

    def _send_all(self) -> None:
        while (item := self._outbox.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            elif self._is_there:
                self._send(item)

    def _send(self, message: msgspec.Struct) -> None:
        try:
            self._link.send(message)
        except Exception as error:
            if not isinstance(error, ConnectionError):
                log.exception("a message to a process that prepares commits could not be sent")
            self._is_there = False
            self._link.shut()  # whoever listens must not wait for an answer


class CommitRound:
    """One commit that some processes prepare at the same time. Their questions are answered as
    they come; the one for their sensors when all have asked it."""

    def __init__(
        self,
        workers: Mapping[int, WorkerHandle],
        answer: Callable[[Lookup], LookupAnswer],
        settle: Settle,
    ) -> None:
        self._workers = workers
        self._answer = answer
        self._settle = settle
        self._working = set(workers)
        self._met: dict[int, UnownedSensors] = {}
        self._done: dict[int, Processed] = {}
        self._failed: Failed | None = None

    def run(self) -> dict[int, Processed] | Failed | None:
        """What each has made; the first failure, after all have come to their end; None where the
        commit has to come again. Raises ConnectionError when one of them has ended."""
        with DefaultSelector() as selector:
            for process, worker in self._workers.items():
                selector.register(worker, EVENT_READ, process)
            while self._working:
                for key, _ in selector.select():
                    self._hear(key.data)
                if self._met and self._met.keys() == self._working:
                    self._tell_whose()
        if self._failed is not None:
            return self._failed
        return self._done if self._done.keys() == self._workers.keys() else None

    def _hear(self, process: int) -> None:
        worker = self._workers[process]
        told = worker.listen()
        match told:
            case Processed():
                self._done[process] = told
                self._working.discard(process)
            case Failed():
                self._failed = self._failed or told
                self._working.discard(process)
            case ClaimSensors(met):
                self._met[process] = met
            case _:
                worker.tell(self._answer(told))

    def _tell_whose(self) -> None:
        whose = None if self._failed else self._settle(self._met)
        for process in self._met:
            self._workers[process].tell(SensorsOwned(None if whose is None else whose[process]))
        if whose is None:
            self._working.clear()
        self._met = {}
