"""Which slots each server takes and gives up."""

import random

import pytest

from vedette.servers.shares import Change, change_for
from vedette.state.servers.slots import Slot


def settle(slots: list[Slot], servers: list[str], dice: random.Random) -> list[Slot]:
    """All servers act in some order until nobody wants any change."""
    for _ in range(20):
        before = slots
        for server in dice.sample(servers, len(servers)):
            change = change_for(server, servers, slots)
            free = [one.slot for one in slots if not one.server_id][: change.claim]
            slots = [
                Slot(one.slot, server, 0)
                if one.slot in free
                else Slot(one.slot, "", 0)
                if one.slot in change.release
                else one
                for one in slots
            ]
        if slots == before:
            return slots
    raise AssertionError("they never agree")


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_each_server_ends_with_the_same_number_or_one_more(count: int) -> None:
    dice = random.Random(count)
    servers = [f"server-{n}" for n in range(count)]
    slots = settle([Slot(n, "", 0) for n in range(16)], servers, dice)
    counts = [sum(one.server_id == server for one in slots) for server in servers]
    assert sum(counts) == 16
    assert max(counts) - min(counts) <= 1


def test_a_server_that_comes_gets_its_share_and_nobody_else_moves() -> None:
    dice = random.Random(1)
    two = settle([Slot(n, "", 0) for n in range(12)], ["a", "b"], dice)
    three = settle(two, ["a", "b", "c"], dice)
    moved = [one.slot for one, other in zip(two, three, strict=True) if one != other]
    assert len(moved) == 4
    assert all(three[slot].server_id == "c" for slot in moved)


def test_what_a_dead_server_had_is_shared_out() -> None:
    slots = [Slot(n, "a" if n % 2 else "", 0) for n in range(10)]
    assert change_for("a", ["a"], slots).claim == 5
    assert change_for("a", ["a", "b"], slots) == change_for("a", ["b", "a"], slots)
    assert change_for("b", ["a", "b"], slots).claim == 5


def test_slots_that_are_given_up_are_spread_out() -> None:
    slots = [Slot(n, "a", 0) for n in range(8)]
    assert change_for("a", ["a", "b"], slots).release == (1, 3, 5, 7)


def test_a_slot_that_is_held_is_given_up_and_taken_by_nobody() -> None:
    slots = [Slot(0, "a", 0, held=True), Slot(1, "a", 0), Slot(2, "", 0, held=True)]
    assert change_for("a", ["a"], slots) == Change(0, (0,))
    assert change_for("b", ["a", "b"], slots) == Change(0, ())
    free = [Slot(0, "", 0, held=True), Slot(1, "a", 0), Slot(2, "", 0)]
    assert change_for("a", ["a"], free) == Change(1, ())
