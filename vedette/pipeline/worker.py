"""One of the processes that prepare commits, as the server sees it; and one commit of them all."""

from collections.abc import Callable, Mapping
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from vedette.pipeline.link import Link
from vedette.pipeline.messages import Answer, AskWhose, Done, Failed, FromPreparer, Question, Whose
from vedette.pipeline.share import Met

PreparerLink = Link[FromPreparer]

Settle = Callable[[Mapping[int, Met]], dict[int, list[int]] | None]
"""Tells each process which of the sensors it met are its own; None where the commit has to come
again, shared out in another way."""


class Worker:
    """See the module. Its link raises ConnectionError when the process has ended."""

    def __init__(self, link: PreparerLink) -> None:
        self.link = link
        self.durable: list[int] = []
        """Commits it took part in that were stored since its last order."""
        self.filters_version = 0
        """Which filters it judges by; 0 for none."""

    def durable_since(self) -> list[int]:
        told, self.durable = self.durable, []
        return told


class Round:
    """One commit that some processes prepare at the same time. Their questions are answered as
    they come; the one for their sensors when all have asked it."""

    def __init__(
        self,
        workers: Mapping[int, Worker],
        answer: Callable[[Question], Answer],
        settle: Settle,
    ) -> None:
        self._workers = workers
        self._answer = answer
        self._settle = settle
        self._working = set(workers)
        self._met: dict[int, Met] = {}
        self._done: dict[int, Done] = {}
        self._failed: Failed | None = None

    def run(self) -> dict[int, Done] | Failed | None:
        """What each has made; the first failure, after all have come to their end; None where the
        commit has to come again. Raises ConnectionError when one of them has ended."""
        with DefaultSelector() as selector:
            for process, worker in self._workers.items():
                selector.register(worker.link, EVENT_READ, process)
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
        told: Any = worker.link.receive()
        match told:
            case Done():
                self._done[process] = told
                self._working.discard(process)
            case Failed():
                self._failed = self._failed or told
                self._working.discard(process)
            case AskWhose(met):
                self._met[process] = met
            case _:
                worker.link.send(self._answer(told))

    def _tell_whose(self) -> None:
        whose = None if self._failed else self._settle(self._met)
        for process in self._met:
            self._workers[process].link.send(Whose(None if whose is None else whose[process]))
        if whose is None:
            self._working.clear()
        self._met = {}
