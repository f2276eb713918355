"""Deadline fallback: a search that exceeds its time is repeated over a newer part of the store.

An answer has an exact total, so a partial read has no value. After 60% of the deadline the search
is repeated over the newest 1/8 of the store, then over the newest 1/64. The result is exact for
that range and marked `incomplete_results`. All attempts together stay within the deadline.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from vedette.errors import UnavailableError
from vedette.model.scope import EVERYTHING, Scope
from vedette.search.search_request import ALL_WINDOWS, Windows
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach, newest_since

Answer = TypeVar("Answer")

_WHOLE_SHARE: Final = 0.6
"""Share of the deadline for the search over the whole store."""

_ATTEMPTS: Final = ((1 / 8, 0.25), (1 / 64, 0.1))
"""(part of the store, share of the deadline) of each fallback attempt."""

_LOOKUP_SHARE: Final = 0.02
"""Share of the deadline for the lookup of the start of the newest part."""


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Answer]):
    """The outcome of a search within its deadline."""

    answer: Answer | None
    """None if every attempt exceeded its time."""
    since_ms: int
    """The earliest window that was read (epoch ms); 0 if the whole requested range was read."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer covers the whole requested range."""
        return self.answer is not None and not self.since_ms


def with_fallback(
    engine: Engine,
    deadline_s: float,
    run: Callable[[Reach], Answer],
    scope: Scope = EVERYTHING,
    windows: Windows = ALL_WINDOWS,
) -> Attempt[Answer]:
    """Returns the result of `run` for the segments of a scope within `windows`. Propagates all
    errors of `run` except an exceeded deadline."""
    try:
        for since_ms, reach in _reaches(engine, deadline_s, scope, windows):
            try:
                return Attempt(run(reach), since_ms)
            except UnavailableError as error:
                _only_deadline(error)
    except UnavailableError as error:
        _only_deadline(error)
    return Attempt(None, 0)


def _reaches(
    engine: Engine, deadline_s: float, scope: Scope, windows: Windows
) -> Iterator[tuple[int, Reach]]:
    """Yields (earliest window or 0 for the whole range, reach) of each attempt. Computes an attempt
    only after the previous one exceeded its time."""
    yield 0, windows.within(deadline_s * _WHOLE_SHARE)
    for part, share in _ATTEMPTS:
        since_ms = newest_since(engine, part, windows.within(deadline_s * _LOOKUP_SHARE), scope)
        yield since_ms, replace(windows, since_ms=since_ms).within(deadline_s * share)


def _only_deadline(error: UnavailableError) -> None:
    if error.reason != "deadline":
        raise error


def raise_if_over(reach: Reach) -> None:
    """Ends a loop outside the engine at the deadline; the engine ends its own reads.

    Raises UnavailableError: `reason` "deadline" when no time is left, "cancelled" when the search
    was cancelled.
    """
    if reach.cancel is not None:
        reach.cancel.raise_if_cancelled()
    reach.left_s()
