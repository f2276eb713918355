"""What a search does that runs out of time: it looks at less.

An answer says how many there are, so nothing is known before all is read. When the time for that
is over, the same search is made over the newest eighth of the store, and if need be over the
newest sixty-fourth: exact for the part it looked at, and marked as incomplete. Whatever the
attempt, it is over within the deadline.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from vedette.errors import UnavailableError
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach, newest_since

Answer = TypeVar("Answer")

_WHOLE_SHARE: Final = 0.6
"""Share of the deadline for the search over everything."""

_ATTEMPTS: Final = ((1 / 8, 0.25), (1 / 64, 0.1))
"""Newest part of the store, and the share of the deadline for it."""

_LOOKUP_SHARE: Final = 0.02


def patiently(
    engine: Engine, deadline_s: float, ask: Callable[[Reach], Answer]
) -> tuple[Answer | None, bool]:
    """What `ask` answers within the deadline, and whether that is about the whole store; None
    when there was no time for any part. Raises what `ask` raises for other reasons."""
    is_whole = True
    try:
        for reach in _reaches(engine, deadline_s):
            try:
                return ask(reach), is_whole
            except UnavailableError as error:
                _only_deadline(error)
            is_whole = False
    except UnavailableError as error:
        _only_deadline(error)
    return None, False


def _reaches(engine: Engine, deadline_s: float) -> Iterator[Reach]:
    """Reaches to try one after the other, each when the one before was not enough."""
    yield Reach.within(deadline_s * _WHOLE_SHARE)
    for part, share in _ATTEMPTS:
        since_ms = newest_since(engine, part, Reach.within(deadline_s * _LOOKUP_SHARE))
        yield Reach.within(deadline_s * share, since_ms)


def _only_deadline(error: UnavailableError) -> None:
    if error.reason != "deadline":
        raise error
