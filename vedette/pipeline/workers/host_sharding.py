"""How the records of a commit are shared out among the processes that prepare.

All records of a host go to one process, which alone learns from them and remembers the host. A
host belongs to the process that met it first. Which host a text is of shows only once it is
decoded, so texts go where their likely host belongs, and the processes tell whom they met
(`ownership.py`). Where a guess was wrong the commit is shared out again, now by what they told.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from functools import reduce
from operator import attrgetter, or_

from vedette.ingest.framing.host_prefilter import likely_hosts
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission
from vedette.pipeline.workers.ownership import UnownedSensors

_NAMES_MAX = 200_000
"""Names whose process is remembered; with more the guessing begins anew."""


class ShardedSubmission:
    """The texts of one submission, and who gets which of them."""

    def __init__(
        self, number: int, submission: Submission, names: list[bytes], bits: list[int]
    ) -> None:
        self.number = number
        """Which submission it is, of all that were shared out."""
        self.submission = submission
        self._names = names
        self._bits = bits
        """For each text, the processes that get it."""
        self.portions = self._portions()
        """By process, which texts it gets, if any; None for all of them."""

    def name(self, position: int) -> bytes:
        """The likely host of a text; b"" where nobody had to guess."""
        return self._names[position] if self._names else b""

    def some(self, process: int) -> Submission:
        """The portion of a process; of a text that several get, the first answers for it."""
        whole, positions = self.submission, self.portions[process]
        if positions is None:
            return whole
        earlier = (1 << process) - 1
        return Submission(
            [whole.records[position] for position in positions],
            whole.group_id,
            whole.request_key,
            whole.byte_count,
            whole.in_sequence,
            whole.host,
            whole.comms_ip,
            [n for n, position in enumerate(positions) if self._bits[position] & earlier],
        )

    def pass_on(self, to: list[tuple[int, int]]) -> None:
        """Texts, each with a process that gets it. Whoever had it keeps it, too: it may hold
        records of several hosts."""
        for position, process in to:
            self._bits[position] |= 1 << process
        self.portions = self._portions()

    def _portions(self) -> dict[int, list[int] | None]:
        found: dict[int, list[int] | None] = {}
        asked = reduce(or_, set(self._bits), 0)
        for process in range(asked.bit_length()):
            bit = 1 << process
            if self._bits.count(bit) == len(self._bits):
                found[process] = None
            elif asked & bit:
                found[process] = [n for n, bits in enumerate(self._bits) if bits & bit]
        return found


class HostSharding:
    """Which process has which host, as long as the processes live. Thread-safe."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._of_sensor: dict[int, int] = {}
        self._bit_of_name: dict[bytes, int] = {}
        self._texts = [0] * count
        """Handed out so far: a new host belongs to who got the fewest."""
        self._submissions = 0

    def share(self, submission: Submission) -> ShardedSubmission:
        """By guesses at whose host each text is of."""
        is_alone = self._count == 1
        names = [] if is_alone else _likely_hosts(submission)
        with self._lock:
            self._submissions += 1
            number = self._submissions
            bits = [1] * len(submission.records) if is_alone else self._guess(names)
        return ShardedSubmission(number, submission, names, bits)

    def claim(self, sensor_id: int, process: int) -> int:
        """The process that a sensor belongs to: this one, if it belongs to none."""
        with self._lock:
            return self._of_sensor.setdefault(sensor_id, process)

    def learn(self, name: bytes, process: int) -> None:
        """The host with this likely name belongs to another process than was guessed."""
        if name:
            with self._lock:
                self._bit_of_name[name] = 1 << process

    def _guess(self, names: list[bytes]) -> list[int]:
        """The processes that these likely hosts belong to, as bits."""
        find = self._bit_of_name.__getitem__
        try:
            bits = list(map(find, names))
        except KeyError:
            if len(self._bit_of_name) >= _NAMES_MAX:
                self._bit_of_name.clear()
            self._give(Counter(name for name in names if name not in self._bit_of_name))
            bits = list(map(find, names))
        for process in range(self._count):
            self._texts[process] += bits.count(1 << process)
        return bits

    def _give(self, new: Counter[bytes]) -> None:
        """Gives names that are new to processes, by how many texts have them."""
        texts = self._texts.copy()
        for name, count in new.most_common():
            process = texts.index(min(texts))
            texts[process] += count
            self._bit_of_name[name] = 1 << process


class ShardedCommit:
    """The submissions of one commit, and who gets which of their texts."""

    def __init__(self, shared: list[ShardedSubmission], shares: HostSharding) -> None:
        self._shared = shared
        self._shares = shares
        self._new: dict[int, list[int]] | None = None

    @property
    def processes(self) -> list[int]:
        """Those that get any text."""
        return sorted({process for one in self._shared for process in one.portions})

    def portions(self, process: int) -> list[ShardedSubmission]:
        """The submissions that a process gets texts of."""
        return [one for one in self._shared if process in one.portions]

    def settle(self, met: Mapping[int, UnownedSensors]) -> dict[int, list[int]] | None:
        """By process, which of the sensors it met are its own. None where a guess was wrong: the
        portions are others then."""
        new: dict[int, list[int]] = {process: [] for process in met}
        wrong: dict[ShardedSubmission, list[tuple[int, int]]] = {}
        for process, sensors in met.items():
            portions = self.portions(process)
            for sensor_id, where in sensors.items():
                owner = self._shares.claim(sensor_id, process)
                if owner == process:
                    new[process].append(sensor_id)
                    continue
                for number, position in where:
                    positions = portions[number].portions[process]
                    there = position if positions is None else positions[position]
                    wrong.setdefault(portions[number], []).append((there, owner))
        if not wrong:
            return new
        for shared, to in wrong.items():
            for position, owner in to:
                self._shares.learn(shared.name(position), owner)
            shared.pass_on(to)
        self._new = new
        return None

    def mine(self, process: int) -> list[int] | None:
        """Once it was shared out by sensors: those that are new of this process."""
        return None if self._new is None else self._new.get(process, [])

    def receipts(self, by_process: Mapping[int, list[Receipt]]) -> list[Receipt]:
        """The receipts of whole submissions, out of those for the portions of the processes. A
        text of several hosts is told by the best of what became of it."""
        whole = {
            one.number: Receipt(bytearray([NO_OUTCOME]) * len(one.submission.records))
            for one in self._shared
        }
        for process, receipts in by_process.items():
            for one, receipt in zip(self.portions(process), receipts, strict=True):
                positions = one.portions[process]
                if positions is None:
                    whole[one.number] = receipt
                else:
                    _add(whole[one.number], receipt, positions)
        return list(whole.values())


def _add(into: Receipt, receipt: Receipt, positions: list[int]) -> None:
    outcomes = into.outcomes
    for position, outcome in zip(positions, receipt.outcomes, strict=True):
        outcomes[position] = min(outcomes[position], outcome)
    for refusal in receipt.refusals:
        refusal.position = positions[refusal.position]
        into.refusals.append(refusal)
    into.refusals.sort(key=attrgetter("position"))
    for entry, count in receipt.tally.items():
        into.tally[entry] = into.tally.get(entry, 0) + count


def _likely_hosts(submission: Submission) -> list[bytes]:
    if submission.host:
        return [submission.host.encode()] * len(submission.records)
    return likely_hosts(submission.records)
