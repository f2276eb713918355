"""One load on one server in short turns, without something and with it.

Each turn is held against the two around it: the speed of a machine that does other things too
changes by half within a minute, so the sums of a few long turns say more of that than of what is
switched. The time of a switch, and of what is looked up anew after it, is in no turn.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from bench.figure import Figure
from bench.watch import cpu_seconds
from vedette.simulate.load import LoadCounters


@dataclass(frozen=True, slots=True)
class Turn:
    is_on: bool
    rate: float
    """Events stored a second."""
    cpu_us: float
    """Microseconds of the server's processors an event."""


@dataclass(slots=True)
class SwitchedLoad:
    """Switches while a load runs, and notes what was stored between."""

    pid: int
    """Process id of the server."""
    switch: Callable[[bool], None]
    warm_s: float
    """Before the first turn, which is without."""
    turn_s: float
    settle_s: float
    """After a switch, before the next turn."""
    is_on: bool = False
    done: list[Turn] = field(default_factory=list)
    """Without and with, in turn."""
    _gone_s: float = 0.0
    _begin: tuple[int, float, float] | None = None

    def watch(self, tally: LoadCounters, gone_s: float) -> None:
        """To be called often while the load runs (`run_load`)."""
        if gone_s < (self._gone_s or self.warm_s):
            return
        now = tally.stored, time.monotonic(), cpu_seconds(self.pid)
        if self._begin is None:
            self._begin, self._gone_s = now, gone_s + self.turn_s
            return
        stored, wall_s, cpu_s = (new - old for new, old in zip(now, self._begin, strict=True))
        self.done.append(Turn(self.is_on, stored / wall_s, 1e6 * cpu_s / max(stored, 1)))
        self.is_on = not self.is_on
        self.switch(self.is_on)
        self._begin = None
        self._gone_s = gone_s + (time.monotonic() - now[1]) + self.settle_s

    def figures(self, name: str, target: float) -> tuple[Figure, ...]:
        """Returns the figures, named after `name`. The target applies to the ratio of rates."""
        return (
            Figure(f"without {name}", self._median(False, _rate), "events/s"),
            Figure(f"with {name}", self._median(True, _rate), "events/s"),
            Figure(f"with {name} to without", self._ratio(_rate), "of 1", target),
            Figure("processor time without", self._median(False, _cpu_us), "us/event"),
            Figure("processor time with", self._median(True, _cpu_us), "us/event"),
            Figure("processor time, with to without", self._ratio(_cpu_us), "of 1"),
        )

    def note(self) -> str:
        shown = ", ".join(f"{turn.rate:,.0f}" for turn in self.done)
        return f"events/s, turn by turn, the first without: {shown}"

    def _median(self, is_on: bool, what: Callable[[Turn], float]) -> float:
        return statistics.median(what(turn) for turn in self.done if turn.is_on == is_on)

    def _ratio(self, what: Callable[[Turn], float]) -> float:
        """The median over all pairs of neighbours of the one with to the one without."""
        return statistics.median(
            what(one) / what(other) if one.is_on else what(other) / what(one)
            for one, other in pairwise(self.done)
        )


def _rate(turn: Turn) -> float:
    return turn.rate


def _cpu_us(turn: Turn) -> float:
    return turn.cpu_us
