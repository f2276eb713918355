"""The thread of the event loop runs before those that it starts, and does not wait for them."""

import asyncio
import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

import pytest
from anyio import to_thread

from vedette.bootstrap.event_loop import (
    EVENT_LOOP_NICE,
    GARBAGE_ALL_TICKS,
    THREAD_TIMER_SLACK_NS,
    collect_garbage,
    defer_to_event_loop,
    prefer_this_thread,
    start_threads,
)

T = TypeVar("T")


def in_a_thread(work: Callable[[], T]) -> T:
    """In a thread that ends, as a thread keeps its priority."""
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def nice() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def timer_slack_ns() -> int:
    return ctypes.CDLL(None).prctl(30, 0, 0, 0, 0)  # PR_GET_TIMERSLACK


def preferred() -> tuple[bool, int, int]:
    return prefer_this_thread(), nice(), in_a_thread(nice)


@pytest.mark.skipif(nice() != 0, reason="the tests run with a nice value")
def test_the_event_loop_has_priority_and_what_it_starts_has_not() -> None:
    is_preferred, own, started = in_a_thread(preferred)
    if not is_preferred:
        pytest.skip("needs CAP_SYS_NICE")
    assert (own, started) == (EVENT_LOOP_NICE, 0)
    assert nice() == 0


def test_a_process_with_a_nice_value_keeps_it() -> None:
    def lowered() -> tuple[bool, int, int]:
        os.setpriority(os.PRIO_PROCESS, 0, 12)
        return preferred()

    assert in_a_thread(lowered) == (False, 12, 12)


@pytest.mark.skipif(nice() != 0, reason="the tests run with a nice value")
def test_a_process_that_may_not_goes_on_without() -> None:
    code = (
        "import os; from vedette.bootstrap.event_loop import prefer_this_thread;"
        "os.geteuid() or os.setuid(65_534);"
        "print(prefer_this_thread(), os.getpriority(os.PRIO_PROCESS, 0))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split()[-2:] == ["False", "0"]
    assert "no priority" in ran.stdout + ran.stderr


def test_the_event_loop_is_woken_for_the_interpreter_lock_before_threads_that_it_starts() -> None:
    def slacks_ns() -> tuple[int, set[int]]:
        prefer_this_thread()

        async def of_routes() -> set[int]:
            await start_threads()
            count = int(to_thread.current_default_thread_limiter().total_tokens)
            return set(
                await asyncio.gather(*(to_thread.run_sync(timer_slack_ns) for _ in range(count)))
            )

        return timer_slack_ns(), asyncio.run(of_routes())

    assert in_a_thread(slacks_ns) == (1, {THREAD_TIMER_SLACK_NS})


def test_what_a_thread_starts_that_defers_to_the_event_loop_defers_too() -> None:
    def started() -> int:
        defer_to_event_loop()
        return in_a_thread(timer_slack_ns)

    assert in_a_thread(started) == THREAD_TIMER_SLACK_NS


def test_requests_that_come_at_once_start_no_thread() -> None:
    async def started_by_requests() -> set[int]:
        await start_threads()
        ready = {thread.ident for thread in threading.enumerate()}
        count = int(to_thread.current_default_thread_limiter().total_tokens)
        at_once = threading.Barrier(count)

        def request() -> int:
            at_once.wait()
            return threading.get_ident()

        used = await asyncio.gather(*(to_thread.run_sync(request) for _ in range(count)))
        assert len(set(used)) == count
        return set(used) - ready

    assert asyncio.run(started_by_requests()) == set()


class Cycle:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("survived", range(3))
def test_garbage_of_every_generation_is_collected_in_time(survived: int) -> None:
    gc.disable()
    try:
        cycle = Cycle()
        seen = weakref.ref(cycle)
        for generation in range(survived):
            gc.collect(generation)
        del cycle
        for tick in range(1, GARBAGE_ALL_TICKS + 1):
            collect_garbage(tick)
            if seen() is None:
                break
        assert seen() is None
        assert tick == (1, 10, GARBAGE_ALL_TICKS)[survived]
    finally:
        gc.enable()
