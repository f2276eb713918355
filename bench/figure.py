"""Result of a part of the benchmark."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with its target, where it has one."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def is_met(self) -> bool:
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything one part measured."""

    data_set: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    run: Callable[[Path], Outcome]
    """Takes an empty directory with room for the data; what it leaves there is removed."""
