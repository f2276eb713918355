"""Health checks that may block. Each check has its own thread, and concurrent callers share a call.
A check that hangs blocks only its own thread, not other checks or callers."""

import asyncio
from collections.abc import Callable

from anyio import CapacityLimiter, to_thread

from vedette.limits import Limit

READINESS_S: Limit[int] = 5
"""Seconds that `/readyz` waits for the store, the state or the disk. Load balancers give up after
seconds, so a slower server counts as not ready."""


class HealthChecks:
    """Running health checks by name. Use on the event loop only."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[str]] = {}
        self._limiters: dict[str, CapacityLimiter] = {}

    async def outcome(self, name: str, ask: Callable[[], str]) -> str:
        """Returns the result of `ask`, which may block; returns a timeout message after
        `READINESS_S`. Joins a running call of the same name instead of starting another."""
        running = self._running.get(name)
        if running is None or running.done():
            limiter = self._limiters.setdefault(name, CapacityLimiter(1))
            running = asyncio.create_task(to_thread.run_sync(ask, limiter=limiter))
            self._running[name] = running
        try:
            # Shielded: other callers may wait for the same call, and a thread cannot be cancelled.
            return await asyncio.wait_for(asyncio.shield(running), READINESS_S)
        except TimeoutError:
            return f"no answer within {READINESS_S} s"
