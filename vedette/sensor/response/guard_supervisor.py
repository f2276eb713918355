"""Runs the guard while there are bans. Replaces a guard that dies or hangs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from ..host.self_exec import command
from ..limits import GUARD_RESTART_S, GUARD_SILENT_S
from .bans import Bans


class GuardSupervisor:
    """Supervises the guard. A single thread calls `check` about once a second."""

    def __init__(
        self, bans: Bans, mounts: list[str], on_block: Callable[[dict[str, Any]], None]
    ) -> None:
        self._bans, self._mounts, self._on_block = bans, mounts, on_block
        self._process: subprocess.Popen[bytes] | None = None
        self._version = -1
        self._last_heartbeat_at = self._next_at = 0.0
        self.failures = 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Starts, stops, reloads or replaces the guard as needed."""
        if self._process is not None and self._is_dead():
            self.stop()
            self.failures += 1
            self._next_at = time.monotonic() + GUARD_RESTART_S
        if not len(self._bans):
            self.stop()
        elif self._process is None:
            if time.monotonic() >= self._next_at:
                self._start()
        elif self._version != self._bans.version:
            self._send(b"reload\n")

    def _is_dead(self) -> bool:
        is_silent = time.monotonic() > self._last_heartbeat_at + GUARD_SILENT_S
        return not self.is_running or is_silent

    def _start(self) -> None:
        self._version = self._bans.version
        self._last_heartbeat_at = time.monotonic()
        arguments = ["guard", str(self._bans.path), *self._mounts]
        self._process = subprocess.Popen(  # noqa: S603 - this program
            command(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        threading.Thread(
            target=self._read_output, args=(self._process.stdout,), daemon=True
        ).start()

    def _send(self, command_line: bytes) -> None:
        self._version = self._bans.version
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(command_line)
            self._process.stdin.flush()

    def _read_output(self, output: IO[bytes]) -> None:
        for line in output:
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                self._last_heartbeat_at = time.monotonic()
                if "block" in message:
                    self._on_block(message["block"])
        output.close()

    def stop(self) -> None:
        """Kills the guard. The kernel then allows the execs that it had suspended."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
