"""Admission of searches: bounds, turns of users, deadlines, clients that leave."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from vedette.errors import BusyError, UnavailableError
from vedette.search.bounded_engine import BoundedEngine
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import ClickHouseEngine
from vedette.web.http.search_pool import USER_LIMIT, SearchPool

SLOW = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"


@pytest.fixture
def pool(engine: ClickHouseEngine) -> Iterator[SearchPool]:
    made = SearchPool(engine, running_max=3, readers_max=2, a_user_max=5)
    yield made
    made.close()


async def stays() -> None:
    """A client that stays."""
    await asyncio.Event().wait()


def leaves(after_s: float) -> Callable[[], Awaitable[None]]:
    return lambda: asyncio.sleep(after_s)


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(steps)


class Gate:
    """Work that notes its name and ends when the gate is opened."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.opened = threading.Event()

    def work(self, name: str) -> Callable[[BoundedEngine], str]:
        def wait(_: BoundedEngine) -> str:
            self.begun.append(name)
            assert self.opened.wait(30)
            return name

        return wait

    async def wait_for(self, count: int) -> None:
        while len(self.begun) < count:
            await asyncio.sleep(0.01)


def test_one_user_leaves_a_place_to_others_and_users_take_turns(pool: SearchPool) -> None:
    async def steps() -> None:
        gate = Gate()
        greedy = [
            asyncio.ensure_future(pool.run("greedy", stays, gate.work(f"g{n}"), 30))
            for n in range(5)
        ]
        await gate.wait_for(2)
        other = asyncio.ensure_future(pool.run("other", stays, gate.work("o"), 30))
        await gate.wait_for(3)
        assert gate.begun == ["g0", "g1", "o"]
        gate.opened.set()
        assert await asyncio.gather(*greedy, other) == ["g0", "g1", "g2", "g3", "g4", "o"]

    run(steps())


def test_a_user_with_too_many_searches_gets_the_limit(pool: SearchPool) -> None:
    async def steps() -> None:
        gate = Gate()
        begun = [
            asyncio.ensure_future(pool.run("ann", stays, gate.work("x"), 30)) for _ in range(5)
        ]
        await gate.wait_for(2)
        with pytest.raises(BusyError, match="limit 5") as refused:
            await pool.run("ann", stays, gate.work("x"), 30)
        assert refused.value.reason == USER_LIMIT
        gate.opened.set()
        await asyncio.gather(*begun)
        assert await pool.run("ann", stays, gate.work("again"), 30) == "again"

    run(steps())


def test_who_waits_until_the_deadline_is_answered_and_forgotten(pool: SearchPool) -> None:
    async def steps() -> None:
        gate = Gate()
        begun = [
            asyncio.ensure_future(pool.run("ann", stays, gate.work("x"), 30)) for _ in range(2)
        ]
        await gate.wait_for(2)
        with pytest.raises(UnavailableError) as late:
            await pool.run("ann", stays, gate.work("late"), 0.1)
        assert late.value.reason == "deadline"
        with pytest.raises(ClientDisconnect):
            await pool.run("ann", leaves(0.1), gate.work("gone"), 30)
        gate.opened.set()
        await asyncio.gather(*begun)
        assert gate.begun == ["x", "x"]

    run(steps())


def test_a_query_ends_in_the_engine_when_its_client_leaves(pool: SearchPool) -> None:
    ended = threading.Event()

    def slow(engine: BoundedEngine) -> None:
        try:
            engine.query(SLOW)
        finally:
            ended.set()

    async def steps() -> None:
        with pytest.raises(ClientDisconnect):
            await pool.run("ann", leaves(0.3), slow, 60)
        assert await asyncio.to_thread(ended.wait, 20)

    run(steps())


def test_a_query_ends_in_the_engine_at_the_deadline(pool: SearchPool) -> None:
    async def steps() -> None:
        with pytest.raises(UnavailableError) as late:
            await pool.run("ann", stays, lambda engine: engine.query(SLOW), 0.5)
        assert late.value.reason == "deadline"

    run(steps())


def test_work_that_never_looks_at_the_clock_is_answered_for(
    pool: SearchPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.web.http.search_pool.SEARCH_GRACE_S", 0.1)

    async def steps() -> None:
        gate = Gate()
        with pytest.raises(UnavailableError) as late:
            await pool.run("ann", stays, gate.work("spins"), 0.1)
        assert late.value.reason == "deadline"
        for _ in range(2):  # its place is still taken: only one is left for the user
            with pytest.raises(UnavailableError):
                await pool.run("ann", stays, gate.work("spins"), 0.1)
        gate.opened.set()
        while pool._running:
            await asyncio.sleep(0.01)
        assert await pool.run("ann", stays, gate.work("next"), 30) == "next"

    run(steps())


def test_an_error_of_the_work_gives_its_place_back(pool: SearchPool) -> None:
    def fails(_: BoundedEngine) -> None:
        raise ValueError("no")

    async def steps() -> None:
        for _ in range(10):
            with pytest.raises(ValueError, match="no"):
                await pool.run("ann", stays, fails, 30)

    run(steps())


def test_reads_share_the_readers_of_their_pool(engine: ClickHouseEngine) -> None:
    readers = threading.BoundedSemaphore(1)
    until_s = time.monotonic() + 30
    first = BoundedEngine(engine, readers, until_s, CancelToken())
    assert first.query("SELECT 1").rows == [(1,)]
    with readers, pytest.raises(UnavailableError) as late:
        first.query("SELECT 1", deadline_s=0.05)
    assert late.value.reason == "deadline"
    first.cancel.cancel()
    with pytest.raises(UnavailableError) as cancelled:
        first.query("SELECT 1")
    assert cancelled.value.reason == "cancelled"


def test_while_ingest_is_behind_half_as_many_searches_begin(engine: ClickHouseEngine) -> None:
    behind = [True]
    pool = SearchPool(
        engine, running_max=4, readers_max=2, a_user_max=9, is_ingest_behind=lambda: behind[0]
    )
    running: list[str] = []
    most: list[int] = []

    async def search(user: str) -> None:
        def work(_: BoundedEngine) -> None:
            running.append(user)
            most.append(len(running))
            time.sleep(0.02)
            running.remove(user)

        await pool.run(user, stays, work, 10)

    async def searches() -> int:
        most.clear()
        await asyncio.gather(*(search(user) for user in "abababab"))
        return max(most)

    async def both() -> tuple[int, int]:
        restrained = await searches()
        behind[0] = False
        return restrained, await searches()

    try:
        restrained, free = asyncio.run(both())
        assert restrained == 2
        assert free > 2
    finally:
        pool.close()
