"""Processes that help to read a path: they read parts of files while this one reads others.

What they give is merged and sorted like what is read here, so it does not matter who reads what.
One that dies costs nothing: its parts are read here.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from vedette.pipeline.gathered import Gathered
from vedette.pipeline.link import Link
from vedette.pipeline.parts import Part, read_part
from vedette.pipeline.texts import Spool

_AHEAD: Final = 2
"""Parts that a process has at a time: one that it reads, and the next."""


class Reader(Struct):
    """A process that was started: how to speak to it, and where it puts texts."""

    link: Link[Gathered]
    spool: Spool


Launch = Callable[[], list[Reader]]
"""Starts processes; none where they would not help."""


class Readers:
    """Not for use by several threads."""

    def __init__(self, launch: Launch) -> None:
        self._done: queue.SimpleQueue[Gathered | Part] = queue.SimpleQueue()
        """What was read; a part where that failed."""
        self._todo: queue.SimpleQueue[Part | None] = queue.SimpleQueue()
        self._under_way = 0
        self._readers = launch()
        self._threads = [
            threading.Thread(target=self._speak, args=[one.link], name="help", daemon=True)
            for one in self._readers
        ]
        for thread in self._threads:
            thread.start()

    @property
    def spools(self) -> list[Spool]:
        return [one.spool for one in self._readers]

    def give(self, part: Part) -> bool:
        """Whether a process will read this part; False while all have enough to do."""
        if self._under_way >= _AHEAD * len(self._readers):
            return False
        self._under_way += 1
        self._todo.put(part)
        return True

    def done(self, *, wait: bool = False) -> Iterator[Gathered | Part]:
        """What was read since it was asked last, with `wait` all that is left. Parts that could
        not be read are given back."""
        while self._under_way and (wait or not self._done.empty()):
            yield self._done.get()
            self._under_way -= 1

    def close(self) -> None:
        """Ends the processes. The spools stay."""
        for one in self._readers:
            self._todo.put(None)
            one.link.shut()
        for thread in self._threads:
            thread.join()
        for one in self._readers:
            one.link.close()

    def _speak(self, link: Link[Gathered]) -> None:
        is_there = True
        while (part := self._todo.get()) is not None:
            try:
                if is_there:
                    link.send(part)
                    self._done.put(link.receive())
                    continue
            except Exception:  # noqa: BLE001 - whatever it is, the part can be read here
                is_there = False
            self._done.put(part)


def help_out(link: Link[Part], spool: Spool) -> None:
    """The work of such a process: returns when nobody wants it any more."""
    try:
        while True:
            part = link.receive()
            gathered = read_part(part, Gathered(part.number), spool)
            spool.fileno()
            link.send(gathered)
    except ConnectionError:
        return
