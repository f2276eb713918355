"""Ownership of hosts by workers, from the view of one worker.

One worker processes each host's records, and it alone has the host's context. The server
distributes records by an estimate of their host (`host_sharding.py`); the true host is certain only
after decoding. So before any context is learned from records, each worker claims the sensors in its
portion that it does not own yet. After a wrong estimate, the commit is distributed again by
ownership, and each worker drops records of sensors that it does not own.
"""

from collections.abc import Callable

from vedette.model.ids import slot_of
from vedette.pipeline.batch.decoded_batch import DecodedBatch

UnownedSensors = dict[int, list[tuple[int, int]]]
"""Maps sensor id to the places of its records: (index of the submission, position of the text in
it)."""


class ReshardError(Exception):
    """The commit is going to be distributed again; this attempt has changed nothing."""


class HostOwnership:
    """The sensors that this worker owns. `claim` requests more from the server: it returns the
    claimed sensors that are granted, or None if the commit must be distributed again."""

    def __init__(self, claim: Callable[[UnownedSensors], list[int] | None]) -> None:
        self._claim = claim
        self._owned: set[int] = set()
        self._is_final = False

    def begin(self, granted: list[int] | None) -> None:
        """Starts a commit. `granted` are new sensors of this worker if the commit was distributed
        by ownership; None if it was distributed by estimates."""
        self._is_final = granted is not None
        self._owned.update(granted or ())

    def forget_slots(self, slots: frozenset[int]) -> None:
        """Releases the sensors in these slots, so that they are claimed again when they next
        appear."""
        self._owned = {one for one in self._owned if slot_of(one) not in slots}

    def resolve_claims(self, batches: list[DecodedBatch]) -> None:
        """Removes the records of sensors that other workers own. Raises ReshardError."""
        unowned = self._unowned(batches)
        if self._is_final:
            for batch in batches:
                batch.remove_sensors(unowned.keys())
            return
        granted = self._claim(unowned)
        if granted is None:
            raise ReshardError
        self._owned.update(granted)

    def _unowned(self, batches: list[DecodedBatch]) -> UnownedSensors:
        unowned: UnownedSensors = {}
        for number, batch in enumerate(batches):
            others = {host for host in set(batch.hosts) if host.sensor.id not in self._owned}
            if not others:
                continue
            for host, position in zip(batch.hosts, batch.positions, strict=True):
                if host in others:
                    unowned.setdefault(host.sensor.id, []).append((number, position))
        return unowned
