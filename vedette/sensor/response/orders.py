"""Executes the orders of a check-in, and keeps results that the next check-in must report.

Bans, filters and isolation are states: the target state is compared with the current state.
Restart, update and uninstall end the program, so they come last. A file makes the next run report a
restart.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from .. import SENSOR_VERSION
from ..durable_files import write_durably
from ..events.collection import Collection
from ..events.filters import Filters
from ..host.host import volume
from ..limits import PROBLEM_CHARS_MAX, QUEUE_BYTES_MIN, UPDATE_RETRY_S
from ..settings import Settings
from ..transport.binary_copies import Binaries
from ..transport.disk_queue import DiskQueue
from ..transport.https_client import Client, ServerUnavailableError
from ..transport.identity import Identity
from .bans import Bans
from .firewall import IsolationError
from .isolation import Isolation
from .update import Update, UpdateError, install, parse


class ExitReason(Enum):
    """Why the program ends."""

    STOP = "stop"
    RESTART = "restart"
    FAIL = "fail"
    UNINSTALL = "uninstall"


@dataclass(frozen=True)
class Parts:
    """The components that orders act on."""

    settings: Settings
    bans: Bans
    filters: Filters
    collection: Collection
    isolation: Isolation
    queue: DiskQueue
    binaries: Binaries
    identity: Identity
    end: Callable[[ExitReason], None]
    close_block: Callable[[], None]
    """Closes the open block of the queue and waits until that is done."""


@dataclass(frozen=True)
class _Refusal:
    """A rejected update. `until` is in seconds of the monotonic clock."""

    update: Update
    key: bytes | None
    error: UpdateError
    until: float

    def holds(self, update: Update, key: bytes | None) -> bool:
        return (self.update, self.key) == (update, key) and time.monotonic() < self.until


@dataclass(frozen=True)
class Flush:
    """A flush order: the time (epoch us), and its number on the server."""

    before_us: int
    number: int | None


class Orders:
    """Executes orders. Only for the check-in thread."""

    def __init__(self, parts: Parts, state: Path) -> None:
        self._parts, self._state = parts, state
        self._flush: Flush | None = None
        """The flush in progress."""
        self._flush_until = 0
        self._refused_update: _Refusal | None = None
        self.flushed_before_us = 0
        self.flushed_number: int | None = None
        """Number of the last completed flush; None if the server sent none."""
        self.flush_count = 0
        """Number of completed flushes."""
        self.has_restarted = False
        self.is_uninstalling = False
        self.problems: dict[str, str] = {}
        """Error text by the name of the order that failed last."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            self.has_restarted = bool(json.loads(state.read_bytes())["restarted"])

    def acknowledge(self) -> None:
        """Call when the server was informed of the restart."""
        if self.has_restarted:
            self.has_restarted = False
            self._state.unlink(missing_ok=True)

    def enforce_isolation(self) -> None:
        """Enforces an ordered isolation that is not active, including one from before a restart.
        Called before every check-in and while the server is unreachable."""
        isolation = self._parts.isolation

        def enforce() -> None:
            isolation.resume(self._parts.settings.server)
            isolation.enforce()

        self._try("isolation table", enforce)

    def execute(self, answer: dict[str, Any], client: Client) -> None:
        """Executes the orders of a check-in. An order that fails is reported in `problems` and does
        not affect the others."""
        self._try("isolation", lambda: self._isolate(answer, client.peer))
        self._try("bans", lambda: self._ban(answer.get("bans")))
        self._try("filters", lambda: self._filter(answer.get("filters")))
        self._try("collection", lambda: self._collect(answer))
        self._try("flush", lambda: self._begin_flush(answer))
        self._try("binaries", lambda: self._parts.binaries.want(answer.get("want_binaries") or []))
        if answer.get("uninstall"):
            self.is_uninstalling = True
        elif answer.get("update"):
            self._try("update", lambda: self._update(answer["update"], client))
        elif answer.get("restart"):
            self._restart()
        if not answer.get("update"):
            self.problems.pop("update", None)

    def _try(self, name: str, order: Callable[[], None]) -> None:
        try:
            order()
            self.problems.pop(name, None)
        except (
            IsolationError,
            UpdateError,
            ServerUnavailableError,
            OSError,
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:
            self.problems[name] = f"{type(error).__name__}: {error}"[:PROBLEM_CHARS_MAX]

    def _isolate(self, answer: dict[str, Any], peer: tuple[str, int] | None) -> None:
        isolation = self._parts.isolation
        if answer.get("isolate"):
            entries = answer.get("isolation_allow")
            texts = [str(text) for text in entries] if isinstance(entries, list) else []
            isolation.begin(self._parts.settings.server, texts, peer)
        elif "isolate" in answer:
            isolation.end()

    def _ban(self, change: dict[str, Any] | None) -> None:
        if change is not None:
            self._parts.bans.apply(
                int(change["version"]),
                full=bool(change.get("full")),
                add=change.get("add") or (),
                remove=change.get("remove") or (),
            )

    def _filter(self, change: dict[str, Any] | None) -> None:
        if change is not None:
            self._parts.filters.replace(int(change["version"]), change.get("filters") or [])

    def _collect(self, answer: dict[str, Any]) -> None:
        parts = self._parts
        parts.collection.replace(str(name) for name in answer.get("not_collected") or ())
        quotas = answer.get("quotas") or {}
        total, _ = volume()
        least = (
            parts.settings.disk_bytes,
            int(quotas.get("eventlog_bytes") or parts.settings.disk_bytes),
            total * int(quotas.get("eventlog_percent") or 100) // 100,
        )
        parts.queue.bytes_max = max(QUEUE_BYTES_MIN, min(least))

    def _begin_flush(self, answer: dict[str, Any]) -> None:
        """Starts a flush: every event before `flush_before_us` must reach the server. An order is
        identified by its number, or by its time if the server sends no number."""
        if answer.get("flush_before_us") is None:
            return
        number = answer.get("flush_number")
        wanted = Flush(int(answer["flush_before_us"]), None if number is None else int(number))
        if wanted.number is None:
            is_done = wanted.before_us <= self.flushed_before_us
        else:
            is_done = wanted.number == self.flushed_number
        if is_done or wanted == self._flush:
            return
        self._flush = wanted
        self._parts.close_block()
        self._flush_until = self._parts.queue.next

    def update_flush(self) -> None:
        """Completes a flush whose blocks the server has acknowledged."""
        done = self._flush
        if done is not None and self._parts.queue.first_waiting >= self._flush_until:
            self.flushed_before_us = max(self.flushed_before_us, done.before_us)
            self.flushed_number = done.number
            self.flush_count += 1
            self._flush = None

    def _update(self, order: dict[str, Any], client: Client) -> None:
        """Installs an update. A rejected update is tried again when the order or the key changes,
        or after UPDATE_RETRY_S."""
        identity = self._parts.identity
        if str(order.get("version")) == SENSOR_VERSION:
            return
        wanted = parse(order)
        key = identity.ensure_update_key(client)
        refusal = self._refused_update
        if refusal is not None and refusal.holds(wanted, key):
            raise refusal.error
        try:
            wanted.check(key)
            install(wanted, client, identity.credential(client), self._parts.settings.data_dir)
        except UpdateError as error:
            until = time.monotonic() + UPDATE_RETRY_S
            self._refused_update = _Refusal(wanted, key, error, until)
            raise
        self._restart()

    def _restart(self) -> None:
        write_durably(self._state, json.dumps({"restarted": True}).encode())
        self._parts.end(ExitReason.RESTART)
