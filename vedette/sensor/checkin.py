"""The check-in: reports the state of the sensor and receives orders."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import SENSOR_VERSION
from .host import host
from .kernel.audit import boot_id
from .limits import CHECKIN_S, CHECKIN_S_RANGE, FLUSH_POLL_S, HEALTH_CHARS_MAX
from .response.bans import BlockCounts
from .response.orders import ExitReason, Orders, Parts
from .transport.https_client import BackOff, Client, ServerUnavailableError


@dataclass(frozen=True)
class Health:
    """Health status, 100 without problems, and a message that lists the problems."""

    status: int
    message: str


def health(problems: list[str]) -> Health:
    """Returns the health. Each problem costs 20; the minimum is 10."""
    text = "; ".join(problems)[:HEALTH_CHARS_MAX]
    return Health(max(10, 100 - 20 * len(problems)), text or "Healthy")


class CheckIn:
    """The check-in thread. `run` returns when `stopping` is set, or after an uninstall."""

    def __init__(
        self,
        parts: Parts,
        orders: Orders,
        blocks: BlockCounts,
        problems: Callable[[], list[str]],
    ) -> None:
        self._parts, self._orders, self._blocks = parts, orders, blocks
        self._identity, self._problems = parts.identity, problems
        self._client = Client(parts.settings, parts.isolation.server_addresses)
        self._began = time.monotonic()
        self._back_off = BackOff()
        self.interval_s = CHECKIN_S

    def run(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            self._orders.enforce_isolation()
            try:
                self.once()
                self._back_off.succeeded()
                self._wait(stopping)
            except ServerUnavailableError as error:
                pause_s = min(self.interval_s, self._back_off.pause_s(error.retry_after_s))
                self._pause(stopping, max(pause_s, error.retry_after_s))
        self._client.close()

    def _pause(self, stopping: threading.Event, pause_s: float) -> None:
        """Waits while the server is unreachable. Enforces isolation at the usual interval."""
        until = time.monotonic() + pause_s
        while True:
            left_s = until - time.monotonic()
            if left_s <= 0 or stopping.wait(min(left_s, self.interval_s)):
                return
            self._orders.enforce_isolation()

    def _wait(self, stopping: threading.Event) -> None:
        """Waits for the next check-in, which is early if a flush completes."""
        until = time.monotonic() + self.interval_s
        flushes = self._orders.flush_count
        while time.monotonic() < until and not stopping.wait(min(FLUSH_POLL_S, self.interval_s)):
            self._orders.update_flush()
            if self._orders.flush_count != flushes:
                return

    def once(self) -> None:
        """Performs a check-in and its orders. Raises ServerUnavailableError."""
        credential = self._identity.credential(self._client)
        blocks = self._blocks.take()
        uninstalling = self._orders.is_uninstalling
        answer = self._client.post("/sensor/v1/checkin", self.body(blocks), credential)
        if answer.status != 200:
            if answer.status in {401, 403}:
                self._identity.invalidate(credential)
            raise ServerUnavailableError(f"the server answers {answer.status}")
        self._blocks.acknowledge()
        self._orders.acknowledge()
        if uninstalling:
            self._parts.end(ExitReason.UNINSTALL)
            return
        low, high = CHECKIN_S_RANGE
        self.interval_s = min(high, max(low, float(answer.body.get("checkin_interval_s", 30))))
        self._orders.execute(answer.body, self._client)
        if self._orders.is_uninstalling:
            self.once()

    def body(self, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the request body (docs/sensor-checkin.md)."""
        parts, orders = self._parts, self._orders
        orders.update_flush()
        total, free = host.volume()
        isolation_problems = parts.isolation.problems
        failed = [f"{name}: {text}" for name, text in orders.problems.items()]
        state = health(self._problems() + failed + isolation_problems)
        return {
            "boot_id": boot_id(),
            "clock_us": time.time_ns() // 1_000,
            "uptime_s": host.uptime_s(),
            "sensor_uptime_s": int(time.monotonic() - self._began),
            "sensor_version": SENSOR_VERSION,
            "health_status": state.status,
            "health_message": state.message,
            "event_backlog_bytes": parts.queue.waiting_bytes,
            "file_backlog_bytes": parts.binaries.waiting_bytes,
            "system_volume_total_bytes": total,
            "system_volume_free_bytes": free,
            "physical_memory_size": host.memory_bytes(),
            "adapters": host.adapters(),
            "power_state": 0,
            "utc_offset_min": host.utc_offset_min(),
            "is_isolating": parts.isolation.is_on,
            "isolation_problems": isolation_problems,
            "flushed_before_us": orders.flushed_before_us,
            "flushed_number": orders.flushed_number,
            "restarted": orders.has_restarted,
            "uninstalling": orders.is_uninstalling,
            "ban_version": parts.bans.version,
            "filter_version": parts.filters.version,
            "blocks": blocks,
            "unsent": parts.binaries.take_refused(),
            "sequence": {
                "epoch": parts.queue.epoch,
                "next": parts.queue.next,
                "blocks": self._blocks.number,
            },
        }
