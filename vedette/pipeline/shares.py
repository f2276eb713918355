"""How the records of a commit are shared out among the processes that prepare.

All records of a host go to one process, which alone learns from them and remembers the host. A
host belongs to the process that met it first. Which host a text is of shows only once it is
decoded, so texts go where their likely host belongs, and the processes tell whom they met
(`share.py`). Where a guess was wrong the commit is shared out again, now by what they told.
"""

from collections import Counter
from collections.abc import Mapping
from operator import attrgetter

from msgspec import Struct

from vedette.ingest.likely_host import likely_hosts
from vedette.pipeline.share import Met
from vedette.pipeline.submission import UNTOLD, Receipt, Submission

_NAMES_MAX = 200_000
"""Names whose process is remembered; with more the guessing begins anew."""


class Portion(Struct):
    """What one process gets of a commit."""

    submissions: list[Submission]
    places: list[tuple[int, list[int] | None]]
    """For each submission: its number in the commit, and where its texts were there; None where
    it is whole."""


class Shares:
    """Which process has which host, as long as the processes live."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._of_sensor: dict[int, int] = {}
        self._bit_of_name: dict[bytes, int] = {}
        self._texts = [0] * count
        """Handed out so far: a new host belongs to who got the fewest."""

    def guess(self, names: list[bytes]) -> list[int]:
        """The processes that these likely hosts belong to, as bits."""
        find = self._bit_of_name.__getitem__
        try:
            bits = list(map(find, names))
        except KeyError:
            if len(self._bit_of_name) >= _NAMES_MAX:
                self._bit_of_name.clear()
            self._give(Counter(name for name in names if name not in self._bit_of_name))
            bits = list(map(find, names))
        for process in range(self.count):
            self._texts[process] += bits.count(1 << process)
        return bits

    def claim(self, sensor_id: int, process: int) -> int:
        """The process that a sensor belongs to: this one, if it belongs to none."""
        return self._of_sensor.setdefault(sensor_id, process)

    def learn(self, name: bytes, process: int) -> None:
        """The host with this likely name belongs to another process than was guessed."""
        if name:
            self._bit_of_name[name] = 1 << process

    def _give(self, new: Counter[bytes]) -> None:
        """Gives names that are new to processes, by how many texts have them."""
        texts = self._texts.copy()
        for name, count in new.most_common():
            process = texts.index(min(texts))
            texts[process] += count
            self._bit_of_name[name] = 1 << process


class SharedCommit:
    """The submissions of one commit, and who gets which of their texts."""

    def __init__(self, submissions: list[Submission], shares: Shares) -> None:
        self._submissions = submissions
        self._shares = shares
        self._names: list[list[bytes]] = []
        if shares.count > 1:
            self._names = [_likely_hosts(submission) for submission in submissions]
            self._bits = [shares.guess(names) for names in self._names]
        else:
            self._bits = [[1] * len(submission.records) for submission in submissions]
        """For each text of each submission, the processes that get it."""
        self._new: dict[int, list[int]] | None = None
        self.portions = self._portions()
        """By process, what it gets, if anything."""

    def settle(self, met: Mapping[int, Met]) -> dict[int, list[int]] | None:
        """By process, which of the sensors it met are its own. None where a guess was wrong: the
        portions are others then."""
        new: dict[int, list[int]] = {process: [] for process in met}
        is_right = True
        for process, sensors in met.items():
            for sensor_id, where in sensors.items():
                owner = self._shares.claim(sensor_id, process)
                if owner == process:
                    new[process].append(sensor_id)
                    continue
                is_right = False
                for place in where:
                    self._pass_on(*_place(self.portions[process], *place), owner)
        if is_right:
            return new
        self._new, self.portions = new, self._portions()
        return None

    def mine(self, process: int) -> list[int] | None:
        """Once it was shared out by sensors: those that are new of this process."""
        return None if self._new is None else self._new.get(process, [])

    def _portions(self) -> dict[int, Portion]:
        found = {process: self._portion(1 << process) for process in range(self._shares.count)}
        return {process: portion for process, portion in found.items() if portion.submissions}

    def _pass_on(self, number: int, position: int, owner: int) -> None:
        """Whoever had the text keeps it, too: it may hold records of several hosts."""
        self._bits[number][position] |= 1 << owner
        self._shares.learn(self._names[number][position], owner)

    def _portion(self, bit: int) -> Portion:
        portion = Portion([], [])
        for number, (submission, bits) in enumerate(
            zip(self._submissions, self._bits, strict=True)
        ):
            if bits and bits.count(bit) == len(bits):
                portion.submissions.append(submission)
                portion.places.append((number, None))
                continue
            positions = [position for position, of in enumerate(bits) if of & bit]
            if positions:
                portion.submissions.append(_some(submission, bits, positions, bit))
                portion.places.append((number, positions))
        return portion


def joined_receipts(
    submissions: list[Submission], parts: list[tuple[Portion, list[Receipt]]]
) -> list[Receipt]:
    """The receipts of whole submissions, out of those for the portions of the processes. A text
    of several hosts is told by the best of what became of it."""
    whole: list[Receipt | None] = [None] * len(submissions)
    for portion, receipts in parts:
        for (number, positions), receipt in zip(portion.places, receipts, strict=True):
            if positions is None:
                whole[number] = receipt
                continue
            into = whole[number]
            if into is None:
                into = whole[number] = Receipt(
                    bytearray([UNTOLD]) * len(submissions[number].records)
                )
            _add(into, receipt, positions)
    return [Receipt(bytearray()) if receipt is None else receipt for receipt in whole]


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


def _place(portion: Portion, number: int, position: int) -> tuple[int, int]:
    """Where a text of a portion was in the commit."""
    number, positions = portion.places[number]
    return number, position if positions is None else positions[position]


def _some(submission: Submission, bits: list[int], positions: list[int], bit: int) -> Submission:
    """These texts of a submission; of a text that several get, the first answers for it."""
    return Submission(
        [submission.records[position] for position in positions],
        submission.group_id,
        submission.request_key,
        submission.byte_count,
        submission.in_sequence,
        submission.host,
        submission.comms_ip,
        [n for n, position in enumerate(positions) if bits[position] & (bit - 1)],
    )
