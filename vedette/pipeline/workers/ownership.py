"""The share of the hosts that one of several preparing processes has, as that process knows it.

Which host a text is of shows once it is decoded; before that the server guesses
(`host_sharding.py`). So after decoding, and before anything is learned, every process tells which
sensors it met that are not known to be its own, and is told which of them are. Where a guess was
wrong the commit is shared out anew, and then a process leaves out what is not of its sensors.
"""

from collections.abc import Callable

from vedette.pipeline.batch.decoded_batch import DecodedBatch

UnownedSensors = dict[int, list[tuple[int, int]]]
"""By sensor, where it was met: the number of the submission, and the position of the text."""


class ReshardError(Exception):
    """This commit comes again, shared out in another way."""


class HostOwnership:
    """`ask` tells what was met, and returns which of these sensors are this process's; None where
    the commit will come again."""

    def __init__(self, ask: Callable[[UnownedSensors], list[int] | None]) -> None:
        self._ask = ask
        self._mine: set[int] = set()
        self._is_final = False

    def begin(self, mine: list[int] | None) -> None:
        """A commit was shared out by sensors, and these are new of this process; None where it was
        shared out by guesses."""
        self._is_final = mine is not None
        self._mine.update(mine or ())

    def settle(self, parts: list[DecodedBatch]) -> None:
        """Leaves what is of this process's sensors in the parts. Raises ReshardError."""
        met = self._met(parts)
        if self._is_final:
            for part in parts:
                part.take_out(met.keys())
            return
        mine = self._ask(met)
        if mine is None:
            raise ReshardError
        self._mine.update(mine)

    def _met(self, parts: list[DecodedBatch]) -> UnownedSensors:
        met: UnownedSensors = {}
        for number, part in enumerate(parts):
            others = {host for host in set(part.hosts) if host.sensor.id not in self._mine}
            if not others:
                continue
            for host, position in zip(part.hosts, part.positions, strict=True):
                if host in others:
                    met.setdefault(host.sensor.id, []).append((number, position))
        return met
