"""Distributes the records of a commit among the workers, by host.

One worker processes all records of a host, and it alone has the host's context. A host belongs to
the worker that processed it first. The host of a text is certain only after decoding, so texts are
distributed by an estimate (`likely_hosts`), and the workers then claim the sensors that they found
(`ownership.py`). After a wrong estimate, the commit is distributed again by the actual owners.
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from operator import attrgetter, or_
from weakref import WeakValueDictionary

from vedette.ingest.framing.host_prefilter import likely_hosts
from vedette.ingest.record import RecordError
from vedette.limits import Limit
from vedette.model.ids import slot_of
from vedette.pipeline.receipt_outcomes import merge_hosts, note_refusal
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission
from vedette.pipeline.workers.ownership import UnownedSensors

SHARDED_HOST_NAMES_MAX: Limit[int] = 200_000
"""Likely host names whose worker is cached; when there are more, all are dropped."""


_STUCK = RecordError("stuck", "processing the record stalled the server repeatedly")


class ShardedSubmission:
    """A submission, and the workers that receive each of its texts."""

    def __init__(
        self,
        number: int,
        submission: Submission,
        names: list[bytes],
        bits: list[int],
        stuck: Collection[int] = (),
    ) -> None:
        self.number = number
        """Number in order of arrival, starting at 1; unique while the workers live."""
        self.submission = submission
        self.stuck = stuck
        """Positions of texts that no worker receives: they are rejected."""
        self.elsewhere: dict[int, list[int]] = {}
        """Maps text position to the sensors that belong to another server (`Receipt.elsewhere`)."""
        self._names = names
        self._bits = bits
        """For each text, a bit mask of the workers that receive it."""
        self.portions = self._portions()
        """Maps worker to the positions of its texts; None for all of them. Workers without texts
        are missing."""

    def name(self, position: int) -> bytes:
        """Returns the estimated host of a text; b"" with a single worker, which needs no
        estimate."""
        return self._names[position] if self._names else b""

    def position(self, worker: int, position: int) -> int | None:
        """Maps a position in a worker's portion to the position in the submission; None if the
        portion has no such text."""
        if worker not in self.portions:
            return None
        portion = self.portions[worker]
        positions = range(len(self.submission.records)) if portion is None else portion
        return positions[position] if position < len(positions) else None

    def note_elsewhere(self, worker: int, position: int, sensor_id: int) -> None:
        """Records that a sensor in the text at `position` of a worker's portion belongs to another
        server."""
        positions = self.portions[worker]
        there = position if positions is None else positions[position]
        sensors = self.elsewhere.setdefault(there, [])
        if sensor_id not in sensors:
            sensors.append(sensor_id)

    def portion(self, worker: int) -> Submission:
        """Returns a worker's portion. If several workers receive a text, the first one reports its
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
            whole.sensor_id,
        )

    def add_workers(self, to: list[tuple[int, int]]) -> None:
        """Adds texts to further workers, as (position, worker). Workers that had a text keep it,
        because it may contain records of several hosts."""
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
    """Maps hosts to the workers that own them, for as long as the workers live. Thread-safe."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._owner: dict[int, int] = {}
        self._bit_of_name: dict[bytes, int] = {}
        self._texts = [0] * count
        """Texts distributed so far to each worker: a new host goes to the worker with the
        fewest."""
        self._submissions = 0
        self._under_way: WeakValueDictionary[int, ShardedSubmission] = WeakValueDictionary()

    def distribute(self, submission: Submission, stuck: Collection[int] = ()) -> ShardedSubmission:
        """Distributes texts by their estimated hosts. Texts at the positions `stuck` go to no
        worker."""
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
        """Returns a submission by number, while it is waiting or being processed."""
        return self._under_way.get(number)

    def claim(self, sensor_id: int, worker: int) -> int:
        """Returns the owner of a sensor; a sensor without an owner is assigned to `worker`."""
        with self._lock:
            return self._owner.setdefault(sensor_id, worker)

    def forget_slots(self, slots: Collection[int]) -> None:
        """Removes the owners of sensors in these slots."""
        with self._lock:
            for sensor_id in [one for one in self._owner if slot_of(one) in slots]:
                del self._owner[sensor_id]

    def learn(self, name: bytes, worker: int) -> None:
        """Corrects an estimate: texts with this estimated host belong to `worker`."""
        if name:
            with self._lock:
                self._bit_of_name[name] = 1 << worker

    def _guess(self, names: list[bytes]) -> list[int]:
        """Returns the workers for these estimated hosts, as bit masks."""
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
    """Ownership check of the only server."""
    return True


class ShardedCommit:
    """The submissions of one commit, and the workers that receive each of their texts."""

    def __init__(
        self,
        sharded: list[ShardedSubmission],
        sharding: HostSharding,
        is_ours: Callable[[int], bool] = _all_are_ours,
    ) -> None:
        """`is_ours` returns whether a sensor belongs to this server."""
        self._sharded = sharded
        self._sharding = sharding
        self._is_ours = is_ours
        self._granted: dict[int, list[int]] | None = None

    @property
    def processes(self) -> list[int]:
        """The workers that receive any text."""
        return sorted({worker for one in self._sharded for worker in one.portions})

    def portions(self, worker: int) -> list[ShardedSubmission]:
        """Returns the submissions with texts for a worker."""
        return [one for one in self._sharded if worker in one.portions]

    def resolve_claims(self, claims: Mapping[int, UnownedSensors]) -> dict[int, list[int]] | None:
        """Maps worker to the claimed sensors that it owns. Returns None if an estimate was wrong,
        or another server owns a sensor; then the portions have changed, and the commit must be sent
        again."""
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
        """Returns the new sensors of this worker after `resolve_claims` returned None; None
        before."""
        return None if self._granted is None else self._granted.get(worker, [])

    def receipts(self, by_worker: Mapping[int, list[Receipt]]) -> list[Receipt]:
        """Returns the receipts of whole submissions, merged from those of the portions. A text with
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
        return submission.keys([submission.host.encode()] * len(submission.records))
    return submission.keys(likely_hosts(submission.records))
