"""Deadline fallback: a search that runs out of time is repeated over a newer part of the store.

An answer has an exact total, so a partial read is worth nothing. After 60% of the deadline the
search is repeated over the newest 1/8 of the store, then 1/64. The answer is exact for that part
and marked `incomplete_results`. All attempts together stay within the deadline.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from vedette.errors import UnavailableError
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach, newest_since

Answer = TypeVar("Answer")

_WHOLE_SHARE: Final = 0.6
"""Share of the deadline for the search over the whole store."""

_ATTEMPTS: Final = ((1 / 8, 0.25), (1 / 64, 0.1))
"""Part of the store, and the share of the deadline for it."""

_LOOKUP_SHARE: Final = 0.02
"""Share of the deadline for finding where the newest part begins."""


def with_fallback(
    engine: Engine, deadline_s: float, run: Callable[[Reach], Answer]
) -> tuple[Answer | None, bool]:
    """The answer of `run` and whether it covers the whole store; (None, False) when every attempt
    ran out of time. Errors of `run` other than a deadline are raised."""
    is_whole = True
    try:
        for reach in _reaches(engine, deadline_s):
            try:
                return run(reach), is_whole
            except UnavailableError as error:
                _only_deadline(error)
            is_whole = False
    except UnavailableError as error:
        _only_deadline(error)
    return None, False


def _reaches(engine: Engine, deadline_s: float) -> Iterator[Reach]:
    """The attempts: each is computed only when the one before it ran out of time."""
    yield Reach.within(deadline_s * _WHOLE_SHARE)
    for part, share in _ATTEMPTS:
        since_ms = newest_since(engine, part, Reach.within(deadline_s * _LOOKUP_SHARE))
        yield Reach.within(deadline_s * share, since_ms)


def _only_deadline(error: UnavailableError) -> None:
    if error.reason != "deadline":
        raise error


def raise_if_over(reach: Reach) -> None:
    """For loops outside of the engine, which ends its own reads.

    Raises UnavailableError: `reason` "deadline" when no time is left, "cancelled" when the
    search was cancelled.
    """
    if reach.cancel is not None:
        reach.cancel.raise_if_cancelled()
    reach.left_s()
