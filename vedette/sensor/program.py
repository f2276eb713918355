"""The sensor process: starts the sources and threads, assembles events, shuts down.

Threads: one per source, one that uploads, one that checks in. The main thread assembles events and
supervises the guard. The check-in's health reports a source that cannot be opened on this host; the
other sources continue.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from types import FrameType

from . import SENSOR_VERSION
from .checkin import CheckIn
from .events.assemble import Assembler, Inbox, Outputs
from .events.collection import Collection
from .events.event_format import EventWriter
from .events.filters import Filters
from .events.hashes import FileHashes, Hashed
from .events.process_table import Processes
from .host import self_exec
from .kernel import boot
from .kernel.observations import Blocked
from .limits import (
    ASSEMBLE_S,
    BLOCK_AGE_AWAY_S,
    BLOCK_AGE_S,
    BLOCKS_WAITING_MANY,
    FLUSH_S,
    HOUSEKEEPING_S,
    JOIN_S,
)
from .response import uninstall
from .response.bans import Bans, BlockCounts
from .response.firewall import IsolationError
from .response.guard_supervisor import GuardSupervisor
from .response.isolation import Isolation
from .response.orders import ExitReason, Orders, Parts
from .settings import Settings
from .sources import Sources
from .transport.binary_copies import Binaries
from .transport.disk_queue import DiskQueue
from .transport.https_client import Client
from .transport.identity import Identity
from .transport.upload import Uploader

_log = logging.getLogger("vedette-sensor")
UNINSTALLED = 76
"""Exit status after which the service manager does not restart the program."""


class Program:
    """A run of the sensor."""

    def __init__(self, settings: Settings) -> None:
        """Raises OSError if the data folder cannot be used."""
        self._settings = settings
        folder = settings.data_dir
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._boot = boot.load(folder / "boot.json")
        self._queue = DiskQueue(folder / "queue", settings.disk_bytes)
        self._bans = Bans(folder / "bans.json")
        self._filters = Filters(folder / "filters.json")
        self._collection = Collection(folder / "collection.json")
        self._isolation = Isolation(
            folder / "isolation.json", dns=settings.isolation_dns, dhcp=settings.isolation_dhcp
        )
        self._hashes = FileHashes(self._on_file)
        self._binaries = Binaries(self._hashes.of, is_wanted=settings.send_binaries)
        self._blocks = BlockCounts()
        self._inbox = Inbox()
        self._sources = Sources(settings, self._boot, self._hashes, self._inbox.put)
        self._assembler = self._new_assembler()
        self._guard = GuardSupervisor(self._bans, list(settings.mounts), self._on_block)
        self._identity = Identity(folder / "identity.json", settings)
        self._stopping, self._ended = threading.Event(), ExitReason.STOP
        self._stop_requested = False
        self._close_block, self._block_closed = threading.Event(), threading.Event()
        self._uploading = threading.Event()
        self._housekeeping_at = 0.0
        self._make_senders()

    def _new_assembler(self) -> Assembler:
        writer = EventWriter(self._boot.id, _now_us())
        outputs = Outputs(
            self._queue.add,
            self._hashes,
            self._filters,
            self._isolation.blocks,
            self._collection,
            str(self._settings.data_dir.absolute()),
        )
        return Assembler(Processes(self._boot), writer, outputs, self._inbox)

    def _make_senders(self) -> None:
        parts = Parts(
            self._settings,
            self._bans,
            self._filters,
            self._collection,
            self._isolation,
            self._queue,
            self._binaries,
            self._identity,
            self.end,
            self._flush_block,
        )
        orders = Orders(parts, self._settings.data_dir / "orders.json")
        self._checkin = CheckIn(parts, orders, self._blocks, self.problems)
        client = Client(self._settings, self._isolation.server_addresses)
        self._uploader = Uploader(
            self._queue, self._identity, client, self._uploading, self._binaries.send_some
        )

    def run(self) -> ExitReason:
        """Returns when `end` is called or a signal arrives."""
        threading.excepthook = self._on_failure
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        checking = threading.Thread(target=self._checkin.run, args=(self._stopping,), daemon=True)
        sending = threading.Thread(target=self._uploader.run, daemon=True)
        try:
            self._begin()
            checking.start()
            sending.start()
            self._assemble()
        finally:
            self._stop(checking, sending)
        return self._ended

    def _begin(self) -> None:
        self._sources.begin()
        _log.info("audit %s; missing: %s", self._sources.audit_mode, self._sources.missing or "-")
        self._assembler.begin()

    def _assemble(self) -> None:
        closed_at = time.monotonic()
        while not self._stopping.wait(ASSEMBLE_S):
            self._assembler.round(_now_us())
            many = self._queue.waiting_blocks > BLOCKS_WAITING_MANY
            age_s = BLOCK_AGE_AWAY_S if many else BLOCK_AGE_S
            wanted = self._close_block.is_set()
            if wanted:
                self._assembler.round(_now_us(), final=True)
            if wanted or time.monotonic() > closed_at + age_s:
                closed_at = time.monotonic()
                self._queue.close_block()
            if wanted:
                self._close_block.clear()
                self._block_closed.set()
            self._housekeeping()

    def _housekeeping(self) -> None:
        if time.monotonic() < self._housekeeping_at + HOUSEKEEPING_S:
            return
        self._housekeeping_at = time.monotonic()
        self._sources.check()
        try:
            self._guard.check()
        except OSError as error:
            _log.warning("cannot start the guard: %s", error)

    def _stop(self, checking: threading.Thread, sending: threading.Thread) -> None:
        """Restores the changes to the host first, then flushes events to disk."""
        self._stopping.set()
        self._guard.stop()
        self._sources.end()
        self._assembler.round(_now_us(), final=True)
        self._queue.close_block()
        self._uploading.set()
        for thread in (checking, sending):
            if thread.is_alive():
                thread.join(JOIN_S)
        if self._ended is ExitReason.STOP:
            with contextlib.suppress(IsolationError):
                self._isolation.lift()
        elif self._ended is ExitReason.UNINSTALL:
            uninstall.remove(self._settings, self._isolation)

    def _flush_block(self) -> None:
        """Closes the open block and waits until it is on disk. Called by another thread."""
        self._block_closed.clear()
        self._close_block.set()
        self._block_closed.wait(FLUSH_S)

    def end(self, how: ExitReason) -> None:
        """Requests the end of the program. Called by any thread. After SIGTERM an ordered restart
        is ignored."""
        if how is not ExitReason.RESTART or not self._stop_requested:
            self._ended = how
        self._stopping.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._stop_requested = True
        self.end(ExitReason.STOP)

    def _on_failure(self, failure: threading.ExceptHookArgs) -> None:
        """Ends the program after a thread failed: without it the sensor would look healthy and miss
        events. Restores the host and exits, and the service manager restarts the sensor."""
        name = failure.thread.name if failure.thread else "?"
        _log.error("thread %s failed", name, exc_info=failure.exc_value)
        self.end(ExitReason.FAIL)

    def _on_file(self, path: str, hashed: Hashed) -> None:
        is_offered = self._collection.includes("storefiles")
        self._binaries.add_file(path, hashed, is_offered=is_offered)

    def _on_block(self, body: dict[str, object]) -> None:
        self._blocks.count(body)
        self._inbox.put(
            [
                Blocked(
                    int(str(body["time_us"])),
                    int(str(body["pid"])),
                    str(body["path"]),
                    str(body["md5"]),
                    str(body["sha256"]),
                )
            ]
        )

    def problems(self) -> list[str]:
        """Returns the problem messages for the check-in's health; [] if there are none."""
        found = self._sources.problems()
        counts = (
            (self._inbox.lost, "events did not fit between the threads"),
            (self._queue.dropped_blocks, "blocks were dropped from the queue"),
            (self._queue.dropped_events, "events were dropped: the disk refuses"),
            (self._uploader.rejected, "events were rejected by the server"),
            (len(self._filters.refused), "filters cannot be enforced here"),
            (self._bans.refused, "bans exceed the limit"),
            (self._guard.failures, "times the guard was replaced"),
        )
        found += [f"{number} {text}" for number, text in counts if number]
        if self._uploader.problem:
            found.append(self._uploader.problem)
        if len(self._bans) and not self._guard.is_running:
            found.append("bans are not enforced: the guard is not running")
        return found


def _now_us() -> int:
    return time.time_ns() // 1_000


def run(settings: Settings) -> int:
    """Runs the sensor. Returns the exit status. Does not return if it restarts itself."""
    _log.info("version %s, server %s", SENSOR_VERSION, settings.server_url)
    ending = Program(settings).run()
    if ending is ExitReason.RESTART:
        sys.stdout.flush()
        command = self_exec.command(sys.argv[1:])
        os.execv(command[0], command)  # noqa: S606 - this program
    return {ExitReason.UNINSTALL: UNINSTALLED, ExitReason.FAIL: 1}.get(ending, 0)
