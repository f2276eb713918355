"""Retention: decides when to roll and which partitions to delete, and executes the decisions.

Partitions are deleted whole, the oldest first. Partitions that a user mounted are exempt from the
limits of age and size, but not from the limit of free disk space.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vedette.limits import Limit
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import delete
from vedette.store.partitions.partition import Partition

ROLL_AGE_MS_MIN: Limit[int] = 3_600_000
"""Age at which a partition may be closed for its number of rows: a month has 720 at most."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits; 0 disables a rule."""

    roll_age_ms: int = 3 * 24 * 3600 * 1_000
    """A hot partition of this age is closed."""
    roll_bytes: int = 0
    """A hot partition of this size is closed."""
    keep_age_ms: int = 30 * 24 * 3600 * 1_000
    """A partition closed this long ago is deleted."""
    keep_bytes: int = 0
    """The oldest partitions are deleted until all together fit this size."""
    free_bytes_min: int = 0
    """The oldest partitions are deleted until the disk has this much free space."""
    roll_rows: int = 0
    """Number of rows at which a hot partition is closed, once it is `ROLL_AGE_MS_MIN` old."""


@dataclass(frozen=True, slots=True)
class Roll:
    """Action: open a new hot partition."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Action: delete a partition, with the reason."""

    name: str
    reason: str


Action = Roll | Delete


def decide(
    partitions: Sequence[Partition], policy: Policy, now_ms: int, free_bytes: int
) -> tuple[Action, ...]:
    """Returns the actions due now; deletions first, since a roll needs space."""
    hot = next((each for each in partitions if each.state == "hot"), None)
    closed = sorted(
        (each for each in partitions if each.state != "hot"), key=lambda each: each.opened_ms
    )
    actions: list[Action] = []
    held = sum(each.byte_count for each in partitions)
    for partition in closed:
        reason = _reason(partition, policy, now_ms, held, free_bytes)
        if reason:
            actions.append(Delete(partition.name, reason))
            held -= partition.byte_count
            free_bytes += partition.byte_count
    if hot and _is_due(hot, policy, now_ms):
        actions.append(Roll())
    return tuple(actions)


def execute(engine: Engine, actions: Sequence[Action], roll: Callable[[], None]) -> None:
    """Executes the actions; `roll` closes window and partition in the write path."""
    for action in actions:
        match action:
            case Roll():
                roll()
            case Delete(name, _):
                delete(engine, name)


def _reason(
    partition: Partition, policy: Policy, now_ms: int, held_bytes: int, free_bytes: int
) -> str:
    if policy.free_bytes_min and free_bytes < policy.free_bytes_min:
        return "disk"
    if partition.user_mounted:
        return ""
    if policy.keep_age_ms and now_ms - partition.closed_ms >= policy.keep_age_ms:
        return "age"
    if policy.keep_bytes and held_bytes > policy.keep_bytes:
        return "size"
    return ""


def _is_due(hot: Partition, policy: Policy, now_ms: int) -> bool:
    if not hot.row_count:
        return False
    old = bool(policy.roll_age_ms) and now_ms - hot.opened_ms >= policy.roll_age_ms
    large = bool(policy.roll_bytes) and hot.byte_count >= policy.roll_bytes
    full = bool(policy.roll_rows) and hot.row_count >= policy.roll_rows
    return old or large or (full and now_ms - hot.opened_ms >= ROLL_AGE_MS_MIN)
