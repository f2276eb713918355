"""Pool of reader processes for an import. They read ranges of files while the import's process
distributes ranges, opens the store and merges results; threads would compete for the interpreter
lock.

Results are merged and sorted, so it does not matter which process reads what. Ranges of a reader
that died are read by the import's process.
"""

import queue
import threading
from collections.abc import Callable, Iterator

from msgspec import Struct

from vedette.importer.scan.file_ranges import FileRange, read_range
from vedette.importer.scan.scan_result import ScanResult
from vedette.importer.sources.digest import Hasher
from vedette.importer.sources.text_spool import Spool
from vedette.limits import Limit
from vedette.pipeline.workers.socket_channel import SocketChannel

IMPORT_RANGES_PER_READER: Limit[int] = 2
"""Ranges given to each reader process: the one it reads, and the next one, so that it never waits
for work."""


class Reader(Struct):
    """A reader process: its channel, and the spool that it writes texts to."""

    link: SocketChannel[ScanResult]
    spool: Spool


LaunchReaders = Callable[[], list[Reader]]
"""Starts reader processes; returns none where they would not help."""


class ReaderPool:
    """Distributes ranges to reader processes and collects their results. Not thread-safe; has a
    thread for each reader."""

    def __init__(self, launch: LaunchReaders) -> None:
        self._done: queue.SimpleQueue[ScanResult | FileRange] = queue.SimpleQueue()
        """Results, or the range itself where reading failed."""
        self._todo: queue.SimpleQueue[FileRange | None] = queue.SimpleQueue()
        self._under_way = 0
        self._readers = launch()
        self._alive = len(self._readers)
        self._alive_lock = threading.Lock()
        """Held to change `_alive`."""
        self._threads = [
            threading.Thread(target=self._serve, args=[one.link], name="reader", daemon=True)
            for one in self._readers
        ]
        for thread in self._threads:
            thread.start()

    @property
    def spools(self) -> list[Spool]:
        return [one.spool for one in self._readers]

    def submit(self, part: FileRange) -> None:
        """Queues a range for the readers."""
        self._under_way += 1
        self._todo.put(part)

    def results(self, *, wait_for_all: bool = False) -> Iterator[ScanResult | FileRange]:
        """Yields results until a reader would become idle, or with `wait_for_all` until there are
        no more. Ranges that could not be read are returned as they are."""
        left = 0 if wait_for_all else IMPORT_RANGES_PER_READER * len(self._readers) - 1
        while self._under_way > left:
            yield self._done.get()
            self._under_way -= 1

    def close(self) -> None:
        """Ends the readers. Their spools stay open."""
        for one in self._readers:
            self._todo.put(None)
            one.link.shut()
        for thread in self._threads:
            thread.join()
        for one in self._readers:
            one.link.close()

    def _serve(self, link: SocketChannel[ScanResult]) -> None:
        while (part := self._todo.get()) is not None:
            try:
                link.send(part)
                self._done.put(link.receive())
            except Exception:  # noqa: BLE001 - whatever it is, the part can be read here
                self._done.put(part)
                break
        else:
            return
        with self._alive_lock:
            self._alive -= 1
            is_last = not self._alive
        while is_last and (part := self._todo.get()) is not None:
            self._done.put(part)


def read_ranges(link: SocketChannel[FileRange], spool: Spool, hasher: Hasher) -> None:
    """Main loop of a reader process. Returns when the channel is closed."""
    try:
        while True:
            part = link.receive()
            gathered = read_range(part, ScanResult(part.number), spool, hasher)
            spool.fileno()
            link.send(gathered)
    except ConnectionError:
        return
