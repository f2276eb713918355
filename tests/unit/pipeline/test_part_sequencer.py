"""Parts of a sequence go in by their numbers, whichever arrives first."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from vedette.pipeline.part_sequencer import PartSequencer


def arriving(turns: PartSequencer, sources: list[str]) -> list[str]:
    """The order in which parts that arrive in this order are handed in."""
    order: list[str] = []

    async def part(source: str) -> None:
        await turns.wait_for_turn(source)
        order.append(source)
        turns.queued(source)

    async def all_parts() -> None:
        tasks = []
        for source in sources:
            tasks.append(asyncio.create_task(part(source)))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)

    asyncio.run(all_parts())
    return order


def test_parts_go_in_by_their_numbers() -> None:
    assert arriving(PartSequencer(), ["a:2", "a:0", "a:3", "a:1"]) == ["a:0", "a:1", "a:2", "a:3"]


def test_sequences_do_not_wait_for_each_other() -> None:
    assert arriving(PartSequencer(), ["a:1", "b:0", "a:0"]) == ["b:0", "a:0", "a:1"]


def test_a_part_that_comes_again_does_not_wait() -> None:
    turns = PartSequencer()
    assert arriving(turns, ["a:0", "a:1"]) == ["a:0", "a:1"]
    assert arriving(turns, ["a:0"]) == ["a:0"]


def test_a_part_whose_forerunner_never_comes_goes_in_after_a_while() -> None:
    assert arriving(PartSequencer(timeout_s=0.01), ["a:5", "a:6"]) == ["a:5", "a:6"]


def test_a_part_waits_for_one_that_was_refused_and_comes_again() -> None:
    turns = PartSequencer()
    order: list[int] = []

    async def refused_first() -> None:
        await turns.wait_for_turn("a:0")
        await asyncio.sleep(0.01)
        await turns.wait_for_turn("a:0")
        order.append(0)
        turns.queued("a:0")

    async def second() -> None:
        await turns.wait_for_turn("a:1")
        order.append(1)

    async def both(*parts: Coroutine[Any, Any, None]) -> None:
        await asyncio.gather(*parts)

    asyncio.run(both(second(), refused_first()))
    assert order == [0, 1]
