"""Failures that a test asks of the front, for the statements that match a pattern."""

import re
import threading
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Kind = Literal["refuse", "lose", "error", "slow"]


@dataclass(frozen=True)
class Fault:
    """`times` statements that match `pattern` fail."""

    kind: Kind
    """`refuse`: the connection is closed before the statement runs; `lose`: it runs, and the
    connection is closed without an answer; `error`: an answer with `code`; `slow`: it runs
    `seconds` later, or once all faults are taken back."""
    pattern: str = "."
    times: int = 1
    code: int = 210
    seconds: float = 1.0


class Faults:
    """The faults to come, in order. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[Fault] = []
        self._taken_back = threading.Event()

    def replace(self, wanted: list[dict[str, Any]]) -> None:
        with self._lock:
            self._left = [Fault(**one) for one in wanted]
            if not wanted:
                self._taken_back.set()
                self._taken_back = threading.Event()

    def left(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(one) for one in self._left]

    def take(self, statement: str) -> Fault | None:
        """The fault that this statement meets; one that only takes time has passed."""
        with self._lock:
            found = next((one for one in self._left if re.search(one.pattern, statement)), None)
            if found is None:
                return None
            less = [replace(found, times=found.times - 1)] if found.times > 1 else []
            place = self._left.index(found)
            self._left[place : place + 1] = less
            taken_back = self._taken_back
        if found.kind == "slow":
            taken_back.wait(found.seconds)
        return found
