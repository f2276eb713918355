"""Processes that read a path: parts of its files, while this one gives them out, opens the store
and merges what they give. A thread here would do none of these well beside the others.

What they give is merged and sorted like what is read here, so it does not matter who reads what.
One that dies costs nothing: its parts are read here.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from vedette.importer.order.text_spool import Spool
from vedette.importer.scan.file_ranges import Part, read_part
from vedette.importer.scan.scan_result import Gathered
from vedette.pipeline.workers.socket_channel import SocketChannel

_AHEAD: Final = 2
"""Parts that a process has at a time: one that it reads, and the next."""


class Reader(Struct):
    """A process that was started: how to speak to it, and where it puts texts."""

    link: SocketChannel[Gathered]
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
        self._alive = len(self._readers)
        self._dying = threading.Lock()
        """Held to count the dead."""
        self._threads = [
            threading.Thread(target=self._speak, args=[one.link], name="reader", daemon=True)
            for one in self._readers
        ]
        for thread in self._threads:
            thread.start()

    @property
    def spools(self) -> list[Spool]:
        return [one.spool for one in self._readers]

    def give(self, part: Part) -> None:
        """One of the processes will read this part."""
        self._under_way += 1
        self._todo.put(part)

    def done(self, *, all_of_it: bool = False) -> Iterator[Gathered | Part]:
        """What was read, until a process has nothing to do next, or until all of it is there.
        Parts that could not be read are given back."""
        left = 0 if all_of_it else _AHEAD * len(self._readers) - 1
        while self._under_way > left:
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

    def _speak(self, link: SocketChannel[Gathered]) -> None:
        while (part := self._todo.get()) is not None:
            try:
                link.send(part)
                self._done.put(link.receive())
            except Exception:  # noqa: BLE001 - whatever it is, the part can be read here
                self._done.put(part)
                break
        else:
            return
        with self._dying:
            self._alive -= 1
            is_last = not self._alive
        while is_last and (part := self._todo.get()) is not None:
            self._done.put(part)


def read_parts(link: SocketChannel[Part], spool: Spool) -> None:
    """The work of such a process: returns when nobody wants it any more."""
    try:
        while True:
            part = link.receive()
            gathered = read_part(part, Gathered(part.number), spool)
            spool.fileno()
            link.send(gathered)
    except ConnectionError:
        return
