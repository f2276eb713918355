"""Distributes the records of a commit among the workers, by host.

All records of a host are processed by one worker, which alone holds the host's context. A host
belongs to the worker that saw it first. The host of a text is known only after decoding, so texts
are distributed by a guess (`likely_hosts`), and the workers then claim the sensors that they found
(`ownership.py`). Where a guess was wrong, the commit is distributed again by the owners found.
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from operator import attrgetter, or_
from weakref import WeakValueDictionary

from vedette.ingest.framing.host_prefilter import likely_hosts
from vedette.ingest.record import RecordError
from vedette.limits import SHARDED_HOST_NAMES_MAX
from vedette.model.ids import slot_of
from vedette.pipeline.receipt_outcomes import merge_hosts, note_refusal
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission
from vedette.pipeline.workers.ownership import UnownedSensors

_STUCK = RecordError("stuck", "the record stalled the server repeatedly while it was processed")


class ShardedSubmission:
    """A submission, and which worker gets which of its texts."""

    def __init__(
        self,
        number: int,
        submission: Submission,
        names: list[bytes],
        bits: list[int],
        stuck: Collection[int] = (),
    ) -> None:
        self.number = number
        """From 1, in order of arrival; unique while the workers live."""
        self.submission = submission
        self.stuck = stuck
        """Positions of texts that no worker gets: they are rejected."""
        self.elsewhere: dict[int, list[int]] = {}
        """By position, sensors that another server has (`Receipt.elsewhere`)."""
        self._names = names
        self._bits = bits
        """For each text, the workers that get it, as a bit mask."""
        self.portions = self._portions()
        """By worker, the positions of the texts that it gets; None for all of them. Workers that
        get none are missing."""

    def name(self, position: int) -> bytes:
        """Guessed host of a text; b"" where there is one worker, so that no guess was needed."""
        return self._names[position] if self._names else b""

    def position(self, worker: int, position: int) -> int | None:
        """Position in the submission of a text at `position` in a worker's portion; None when the
        portion has no such text."""
        if worker not in self.portions:
            return None
        portion = self.portions[worker]
        positions = range(len(self.submission.records)) if portion is None else portion
        return positions[position] if position < len(positions) else None

    def note_elsewhere(self, worker: int, position: int, sensor_id: int) -> None:
        """Another server has a sensor in the text at `position` of a worker's portion."""
        positions = self.portions[worker]
        there = position if positions is None else positions[position]
        sensors = self.elsewhere.setdefault(there, [])
        if sensor_id not in sensors:
            sensors.append(sensor_id)

    def portion(self, worker: int) -> Submission:
        """A worker's portion. For a text that several workers get, the first one reports the
        outcome; for the others its position is in `reported_elsewhere`."""
        whole, positions = self.submission, self.portions[worker]
        if positions is None:
            return whole
        earlier = (1 << worker) - 1
        return Submission(
            [whole.records[position] for position in positions],
            whole.group_id,
            whole.request_key,
            whole.byte_count,
            whole.in_sequence,
            whole.host,
            whole.comms_ip,
            [
                n
                for n, position in enumerate(positions)
                if self._bits[position] & earlier or position in whole.reported_elsewhere
            ],
            whole.peer_ip,
            whole.any_group,
            [whole.parts[position] for position in positions] if whole.parts else [],
        )

    def add_workers(self, to: list[tuple[int, int]]) -> None:
        """Gives texts to further workers, as (position, worker). Workers that had a text keep it:
        it may hold records of several hosts."""
        for position, worker in to:
            self._bits[position] |= 1 << worker
        self.portions = self._portions()

    def _portions(self) -> dict[int, list[int] | None]:
        found: dict[int, list[int] | None] = {}
        used = reduce(or_, set(self._bits), 0)
        for worker in range(used.bit_length()):
            bit = 1 << worker
            if self._bits.count(bit) == len(self._bits):
                found[worker] = None
            elif used & bit:
                found[worker] = [n for n, bits in enumerate(self._bits) if bits & bit]
        return found


class HostSharding:
    """Which worker owns which host, for as long as the workers live. Thread-safe."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._owner: dict[int, int] = {}
        self._bit_of_name: dict[bytes, int] = {}
        self._texts = [0] * count
        """Texts distributed so far: a new host goes to the worker that got the fewest."""
        self._submissions = 0
        self._under_way: WeakValueDictionary[int, ShardedSubmission] = WeakValueDictionary()

    def distribute(self, submission: Submission, stuck: Collection[int] = ()) -> ShardedSubmission:
        """Distributes texts by their guessed hosts. Texts at the positions `stuck` go to nobody."""
        is_alone = self._count == 1
        names = [] if is_alone else _likely_hosts(submission)
        with self._lock:
            self._submissions += 1
            number = self._submissions
            bits = [1] * len(submission.records) if is_alone else self._guess(names)
            for position in stuck:
                bits[position] = 0
            sharded = ShardedSubmission(number, submission, names, bits, stuck)
            self._under_way[number] = sharded
        return sharded

    def find(self, number: int) -> ShardedSubmission | None:
        """A submission by number, while it is waiting or being processed."""
        return self._under_way.get(number)

    def claim(self, sensor_id: int, worker: int) -> int:
        """The owner of a sensor; a sensor without an owner is given to `worker`."""
        with self._lock:
            return self._owner.setdefault(sensor_id, worker)

    def forget_slots(self, slots: Collection[int]) -> None:
        """Sensors in these slots belong to no worker."""
        with self._lock:
            for sensor_id in [one for one in self._owner if slot_of(one) in slots]:
                del self._owner[sensor_id]

    def learn(self, name: bytes, worker: int) -> None:
        """Corrects a guess: texts with this guessed host belong to `worker`."""
        if name:
            with self._lock:
                self._bit_of_name[name] = 1 << worker

    def _guess(self, names: list[bytes]) -> list[int]:
        """The workers for these guessed hosts, as bit masks."""
        find = self._bit_of_name.__getitem__
        try:
            bits = list(map(find, names))
        except KeyError:
            if len(self._bit_of_name) >= SHARDED_HOST_NAMES_MAX:
                self._bit_of_name.clear()
            self._assign(Counter(name for name in names if name not in self._bit_of_name))
            bits = list(map(find, names))
        for worker in range(self._count):
            self._texts[worker] += bits.count(1 << worker)
        return bits

    def _assign(self, new: Counter[bytes]) -> None:
        """Assigns new names to workers, the most frequent first."""
        texts = self._texts.copy()
        for name, count in new.most_common():
            worker = texts.index(min(texts))
            texts[worker] += count
            self._bit_of_name[name] = 1 << worker


def _all_are_ours(_sensor_id: int) -> bool:
    """For the only server."""
    return True


class ShardedCommit:
    """The submissions of one commit, and which worker gets which of their texts."""

    def __init__(
        self,
        sharded: list[ShardedSubmission],
        sharding: HostSharding,
        is_ours: Callable[[int], bool] = _all_are_ours,
    ) -> None:
        """`is_ours` says whether this server has a sensor, of the servers there are."""
        self._sharded = sharded
        self._sharding = sharding
        self._is_ours = is_ours
        self._granted: dict[int, list[int]] | None = None

    @property
    def processes(self) -> list[int]:
        """The workers that get any text."""
        return sorted({worker for one in self._sharded for worker in one.portions})

    def portions(self, worker: int) -> list[ShardedSubmission]:
        """The submissions that a worker gets texts of."""
        return [one for one in self._sharded if worker in one.portions]

    def resolve_claims(self, claims: Mapping[int, UnownedSensors]) -> dict[int, list[int]] | None:
        """By worker, the claimed sensors that it owns. None where a guess was wrong, or another
        server has a sensor; the portions are changed then, and the commit has to be sent again."""
        granted: dict[int, list[int]] = {worker: [] for worker in claims}
        wrong: dict[ShardedSubmission, list[tuple[int, int]]] = {}
        is_elsewhere = False
        for worker, sensors in claims.items():
            portions = self.portions(worker)
            for sensor_id, where in sensors.items():
                if not self._is_ours(sensor_id):
                    is_elsewhere = True
                    for number, position in where:
                        portions[number].note_elsewhere(worker, position, sensor_id)
                    continue
                owner = self._sharding.claim(sensor_id, worker)
                if owner == worker:
                    granted[worker].append(sensor_id)
                    continue
                for number, position in where:
                    positions = portions[number].portions[worker]
                    there = position if positions is None else positions[position]
                    wrong.setdefault(portions[number], []).append((there, owner))
        if not wrong and not is_elsewhere:
            return granted
        for sharded, to in wrong.items():
            for position, owner in to:
                self._sharding.learn(sharded.name(position), owner)
            sharded.add_workers(to)
        self._granted = granted
        return None

    def granted(self, worker: int) -> list[int] | None:
        """The new sensors of this worker after `resolve_claims` gave None; None before."""
        return None if self._granted is None else self._granted.get(worker, [])

    def receipts(self, by_worker: Mapping[int, list[Receipt]]) -> list[Receipt]:
        """The receipts of whole submissions, merged from those of the portions. A text with
        records of several hosts gets the best of their outcomes."""
        merged = {
            one.number: Receipt(bytearray([NO_OUTCOME]) * len(one.submission.records))
            for one in self._sharded
        }
        for worker, receipts in by_worker.items():
            for one, receipt in zip(self.portions(worker), receipts, strict=True):
                positions = one.portions[worker]
                if positions is None:
                    merged[one.number] = receipt
                else:
                    _merge(merged[one.number], receipt, positions)
        for one in self._sharded:
            merged[one.number].elsewhere = one.elsewhere
            for position in one.stuck:
                note_refusal(merged[one.number], position, _STUCK, "", 0)
            if one.stuck:
                merged[one.number].refusals.sort(key=attrgetter("position"))
        return list(merged.values())


def _merge(into: Receipt, receipt: Receipt, positions: list[int]) -> None:
    outcomes = into.outcomes
    for position, outcome in zip(positions, receipt.outcomes, strict=True):
        outcomes[position] = min(outcomes[position], outcome)
    for refusal in receipt.refusals:
        refusal.position = positions[refusal.position]
        into.refusals.append(refusal)
    into.refusals.sort(key=attrgetter("position"))
    into.conflicts += receipt.conflicts
    merge_hosts(into.hosts, receipt.hosts)
    for entry, count in receipt.tally.items():
        into.tally[entry] = into.tally.get(entry, 0) + count


def _likely_hosts(submission: Submission) -> list[bytes]:
    if submission.host:
        return [submission.host.encode()] * len(submission.records)
    return likely_hosts(submission.records)
