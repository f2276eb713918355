"""When partitions are rolled and deleted: a decision over values."""

import pytest

from tests.contract.store.test_partitions import OLD_NAME, states, two_partitions
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.partition import Partition, State
from vedette.store.partitions.retention import (
    ROLL_AGE_MS_MIN,
    Action,
    Delete,
    Policy,
    Roll,
    decide,
    execute,
)

DAY_MS = 24 * 3600 * 1_000
NOW_MS = 1_700_000_000_000
OFF = Policy(0, 0, 0, 0, 0)


def aged(days: int, size: int, state: State = "warm", *, mounted: bool = False) -> Partition:
    """A partition of one day, closed `days` ago."""
    closed = 0 if state == "hot" else NOW_MS - days * DAY_MS
    opened = (closed or NOW_MS) - DAY_MS
    return Partition(opened, closed, state, mounted, size, 1, 1, "")


HOT, YOUNG, MIDDLE, OLD = aged(0, 5, "hot"), aged(1, 20), aged(10, 20), aged(40, 20, "cold")
HELD = [HOT, YOUNG, MIDDLE, OLD]


def gone(reason: str, *partitions: Partition) -> tuple[Action, ...]:
    return tuple(Delete(partition.name, reason) for partition in partitions)


@pytest.mark.parametrize(
    ("policy", "free", "expected"),
    [
        (OFF, 0, ()),
        (Policy(0, 0, 30 * DAY_MS, 0, 0), 0, gone("age", OLD)),
        (Policy(0, 0, 10 * DAY_MS, 0, 0), 0, gone("age", OLD, MIDDLE)),
        (Policy(0, 0, 0, 45, 0), 0, gone("size", OLD)),
        (Policy(0, 0, 0, 1, 0), 0, gone("size", OLD, MIDDLE, YOUNG)),
        (Policy(0, 0, 0, 0, 30), 5, gone("disk", OLD, MIDDLE)),
        (Policy(0, 0, 0, 0, 30), 30, ()),
        (Policy(DAY_MS, 0, 0, 0, 0), 0, (Roll(),)),
        (Policy(2 * DAY_MS, 6, 0, 0, 0), 0, ()),
        (Policy(0, 5, 0, 0, 0), 0, (Roll(),)),
        (Policy(DAY_MS, 0, 30 * DAY_MS, 0, 0), 0, (*gone("age", OLD), Roll())),
    ],
)
def test_each_rule_takes_what_it_must(
    policy: Policy, free: int, expected: tuple[Action, ...]
) -> None:
    assert decide(HELD, policy, NOW_MS, free) == expected


def test_what_a_user_mounted_is_spared_until_the_disk_is_full() -> None:
    mounted = aged(40, 20, mounted=True)
    assert decide([HOT, mounted], Policy(0, 0, DAY_MS, 1, 0), NOW_MS, 0) == ()
    assert decide([HOT, mounted], Policy(0, 0, 0, 0, 9), NOW_MS, 0) == gone("disk", mounted)


def test_an_empty_hot_partition_is_not_rolled() -> None:
    empty = Partition(NOW_MS - 9 * DAY_MS, 0, "hot", False, 0, 0, 0, "")
    assert decide([empty], Policy(roll_age_ms=DAY_MS), NOW_MS, 0) == ()


@pytest.mark.parametrize(
    ("age_ms", "rows", "expected"),
    [
        (ROLL_AGE_MS_MIN, 9, ()),
        (ROLL_AGE_MS_MIN, 10, (Roll(),)),
        (ROLL_AGE_MS_MIN - 1, 10, ()),
    ],
)
def test_a_hot_partition_with_many_rows_is_rolled_once_it_is_an_hour_old(
    age_ms: int, rows: int, expected: tuple[Action, ...]
) -> None:
    hot = Partition(NOW_MS - age_ms, 0, "hot", False, 5, rows, 1, "")
    assert decide([hot], Policy(0, 0, 0, 0, 0, roll_rows=10), NOW_MS, 0) == expected


def test_what_was_decided_is_done(engine: ClickHouseEngine) -> None:
    two_partitions(engine)
    rolled: list[str] = []
    execute(engine, [Delete(OLD_NAME, "age"), Roll()], lambda: rolled.append("rolled"))
    assert (states(engine), rolled) == ({"writer": "hot"}, ["rolled"])
