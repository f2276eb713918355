"""Which process a record speaks of when it names a pid and no ProcessGuid.

Pids are used again, so a pid means a process only at a time. Every ProcessGuid carries the second
of its start (docs/telemetry-formats.md#real-world-data, fact 2), a 4688 or an exec is one, a 5
or a 4689 an end. The process that had a pid at a time is the one that started last before it and
had not ended. When none is known, the pid and the image stand for a process whose start nobody saw.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.recorded.raw import Raw

NEAR_S = 2.0
"""Two reports of one start or end may lie this far apart
(docs/telemetry-events.md, 4688)."""

Key = tuple[str, ...]
"""("guid", guid), ("start", pid, second) or ("image", pid, image)."""


def seconds(text: str) -> float:
    """Epoch seconds of a time in text; what has no zone is taken as UTC."""
    if text.replace(".", "").isdigit():
        return float(text)
    moment = datetime.fromisoformat(_six_digits(text))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _six_digits(text: str) -> str:
    head, dot, tail = text.partition(".")
    return f"{head}.{tail.rstrip('Z')[:6]:0<6}+00:00" if dot else text


class Clocks:
    """The time of every record: `UtcTime`, else the envelope's, put right by whole hours.

    Senders write local time as if it were UTC (fact 5); how far it is off shows in the records
    that have both.
    """

    def __init__(self, records: list[Raw]) -> None:
        votes: dict[str, Counter[int]] = defaultdict(Counter)
        for record in records:
            utc = record.data.get("UtcTime")
            if utc:
                votes[record.host][round((seconds(record.time) - seconds(utc)) / 3600)] += 1
        self._hours = {host: some.most_common(1)[0][0] for host, some in votes.items()}

    def of(self, record: Raw) -> float:
        utc = record.data.get("UtcTime")
        if utc:
            return seconds(utc)
        return seconds(record.time) - 3600 * self._hours.get(record.host, 0)


@dataclass
class Life:
    """One process of a pid."""

    key: Key
    start: float
    end: float = 0.0


class Lives:
    """The processes of one host, by pid."""

    def __init__(self) -> None:
        self._by_pid: dict[int, list[Life]] = defaultdict(list)
        self._images: dict[int, str] = {}
        self.created: set[Key] = set()
        self.ended: set[Key] = set()
        """Processes whose start, or end, Sysmon reports."""

    def mention(self, pid: int, image: str) -> None:
        """An image that some record gives a pid, for records that give it none."""
        self._images[pid] = max(image.lower(), self._images.get(pid, ""))

    def guid(self, guid: str, pid: int) -> None:
        """A ProcessGuid and its pid, from any record that has both.

        Sysmon for Linux gives processes that it lost sight of one GUID a second, with nothing
        in its last groups: such a GUID is of many pids.
        """
        key = ("guid", guid)
        if guid[19:].strip("0-") and pid and all(life.key != key for life in self._by_pid[pid]):
            self._by_pid[pid].append(Life(key, float(guid_second(guid))))

    def started(self, pid: int, at: float) -> Key:
        """The process with this pid that started then: the one with a ProcessGuid, if any.

        One set has two ProcessGuids for most processes; the one of the Sysmon 1 counts.
        """
        near = [life for life in self._by_pid[pid] if abs(life.start - at) <= NEAR_S]
        named = [life for life in near if life.key[0] == "guid"]
        if named:
            return min(named, key=lambda n: (n.key not in self.created, abs(n.start - at))).key
        key = ("start", str(pid), f"{at:.3f}")
        if all(life.key != key for life in near):
            self._by_pid[pid].append(Life(key, at))
        return key

    def end(self, key: Key, pid: int, at: float) -> None:
        self.ended.add(key)
        for life in self._by_pid[pid]:
            if life.key == key:
                life.end = max(life.end, at)

    def alive(self, pid: int, at: float, image: str) -> Key:
        """The process that had this pid at that time."""
        there = [
            life
            for life in self._by_pid[pid]
            if life.start <= at + NEAR_S and not (life.end and at > life.end + NEAR_S)
        ]
        if there:
            return max(there, key=lambda life: (life.start, life.key in self.ended)).key
        return ("image", str(pid), image.lower() or self._images.get(pid, ""))


def guid_second(guid: str) -> int:
    """Second of the start that a ProcessGuid carries in its second and third group."""
    return int(guid[14:18] + guid[9:13], 16)
