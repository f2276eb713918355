"""Checks of health that wait for something: each has a thread of its own, and all who ask at the
same time share a call. What hangs holds this one thread, and neither other checks nor callers."""

import asyncio
from collections.abc import Callable

from anyio import CapacityLimiter, to_thread

from vedette import limits


class HealthChecks:
    """By name. For the event loop alone."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[str]] = {}
        self._limiters: dict[str, CapacityLimiter] = {}

    async def outcome(self, name: str, ask: Callable[[], str]) -> str:
        """What `ask` returns, which may block; another text where it has not returned after
        `limits.READINESS_S`. A call of this name that is under way is not begun again."""
        running = self._running.get(name)
        if running is None or running.done():
            limiter = self._limiters.setdefault(name, CapacityLimiter(1))
            running = asyncio.create_task(to_thread.run_sync(ask, limiter=limiter))
            self._running[name] = running
        try:
            # Shielded: others may wait for the same call, and a thread cannot be cancelled.
            return await asyncio.wait_for(asyncio.shield(running), limits.READINESS_S)
        except TimeoutError:
            return f"no answer within {limits.READINESS_S} s"
