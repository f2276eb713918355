"""Expected results of a set, computed from the raw records and `event_table.py`: totals by host and
list, processes, ProcessGuids with events, outcomes of records."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from tests.recorded.event_table import (
    ACCESS,
    AUDIT,
    CHANNELS,
    HARMFUL_ACCESS,
    OWN,
    PARENT,
    TARGET,
    Effect,
)
from tests.recorded.lives import Clocks, Key, Lives, guid_second
from tests.recorded.raw import Raw


@dataclass
class Expected:
    """Expected answers of the API about a set, by host in lower case."""

    totals: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Events by list."""
    processes: dict[str, set[Key]] = field(default_factory=lambda: defaultdict(set))
    """Every process that a modelled event is of or names."""
    sources: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """ProcessGuids that are the source of a modelled event."""
    lists: dict[str, dict[Key, Counter[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    """Events by process and list."""
    reported_twice: Counter[str] = field(default_factory=Counter)
    """Connections that both Sysmon and Security tell; twice in `totals`, once in `lists`."""
    parents: dict[str, dict[Key, Key]] = field(default_factory=dict)
    """The parent of every process whose creation was reported."""
    tally: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    """Records by channel in lower case, event id, and fate: events, other or duplicate."""


def expect(records: Iterable[Raw]) -> Expected:
    """The whole reckoning: what is read twice counts once, then pids are learned, then counted."""
    found = Expected()
    once: list[Raw] = []
    seen: set[tuple[str, str, int]] = set()
    for record in records:
        name = (record.host, record.channel.lower(), record.record_id)
        if record.record_id and name in seen:
            found.tally[name[1], record.event_id, "duplicate"] += 1
        else:
            seen.add(name)
            once.append(record)
    clocks = Clocks(once)
    hosts: dict[str, list[tuple[float, Raw]]] = defaultdict(list)
    for record in once:
        hosts[record.host].append((clocks.of(record), record))
    for host, reported in hosts.items():
        _Host(found, host).reckon(sorted(reported, key=lambda item: item[0]))
    return found


class _Host:
    """The reckoning of one host."""

    def __init__(self, found: Expected, host: str) -> None:
        self.found = found
        self.host = host
        self.lives = Lives()
        self.parents: dict[Key, Key] = {}
        self.services: Key | None = None
        self.connections: dict[tuple[Any, ...], tuple[list[float], list[float]]] = {}
        """Times at which Sysmon, and Security, tell a connection."""

    def reckon(self, reported: list[tuple[float, Raw]]) -> None:
        for _, record in reported:
            self._learn_guids(record.data)
            self._learn_images(record)
            guid = guid_of(record.data.get("ProcessGuid"))
            if guid and _is_sysmon(record) and record.event_id == 1:
                self.lives.created.add(("guid", guid))
        for at, record in reported:
            self._learn_start(at, record)
        for at, record in reported:
            self._learn_end(at, record)
        self.found.parents[self.host] = self.parents
        for at, record in reported:
            self._count(at, record)
        for (key, *_), (ours, theirs) in self.connections.items():
            pairs = _pairs(ours, theirs)
            self.found.reported_twice[self.host] += pairs
            self.found.lists[self.host][key]["netconn"] -= pairs

    # --- what is learned before anything is counted ----------------------------------------

    def _learn_guids(self, data: dict[str, Any]) -> None:
        for prefix, suffix in _ROLES:
            guid = guid_of(data.get(f"{prefix}Process{suffix}"))
            if guid:
                self.lives.guid(guid, number(data.get(f"{prefix}ProcessId")))
                image = str(data.get(f"{prefix}Image", ""))
                if image.lower().endswith("\\services.exe"):
                    known = [guid, self.services[1]] if self.services else [guid]
                    self.services = ("guid", max(known, key=guid_second))

    def _learn_images(self, record: Raw) -> None:
        data = record.data
        for pid, image in _PID_AND_IMAGE:
            if number(data.get(pid)) and data.get(image) not in UNKNOWN:
                self.lives.mention(number(data[pid]), data[image])
        if record.event_id == 7045:
            self.lives.mention(record.pid, SERVICES_IMAGE)

    def _learn_start(self, at: float, record: Raw) -> None:
        data = record.data
        if _is_sysmon(record) and record.event_id == 1:
            key = self._named(at, data, "")
            parent = self._named(at, data, "Parent")
        elif _is(record, "security", 4688):
            key = self.lives.started(number(data["NewProcessId"]), at)
            parent = self._by_pid(at, data.get("ProcessId"), data.get("ParentProcessName"))
        elif _syscall(record) == "execve yes":
            key = self.lives.started(number(data["pid"]), at)
            parent = self._by_pid(at, data.get("ppid"), "")
        else:
            return
        if key and parent:
            self.parents.setdefault(key, parent)

    def _learn_end(self, at: float, record: Raw) -> None:
        if _is_sysmon(record) and record.event_id == 5:
            key = self._named(at, record.data, "")
            if key is not None:
                self.lives.end(key, number(record.data.get("ProcessId")), at)

    # --- counting ---------------------------------------------------------------------------

    def _count(self, at: float, record: Raw) -> None:
        modelled = False
        for name, key in self._effects(at, record):
            modelled = True
            self.found.processes[self.host].add(key)
            self.found.totals[self.host][name] += 1
            self.found.lists[self.host][key][name] += 1
            if name == "netconn":
                times = self.connections.setdefault((key, *_ends(record.data)), ([], []))
                times[record.event_id == CONNECTION_OF_SECURITY].append(at)
        fate = "events" if modelled else "other"
        self.found.tally[record.channel.lower(), record.event_id, fate] += 1
        guid = guid_of(next((record.data[n] for n in _SOURCES if n in record.data), None))
        if modelled and guid and _is_sysmon(record):
            self.found.sources[self.host].add(guid)

    def _effects(self, at: float, record: Raw) -> Iterable[tuple[str, Key]]:
        data, channel = record.data, record.channel.lower()
        if _syscall(record) == "execve yes":
            table = AUDIT
        elif channel == "security" and record.event_id in ACCESS_IDS:
            table = _access(data, record.event_id)
        else:
            table = CHANNELS.get(channel, {}).get(record.event_id, ())
        if _is_sysmon(record) and record.event_id == 10 and self._is_harmful(at, record):
            table = (*table, ("crossproc", TARGET))
        for name, whose in table:
            key = self._whose(at, record, whose)
            if key is not None and not self._known_better(at, record, whose):
                yield name, key

    def _is_harmful(self, at: float, record: Raw) -> bool:
        source, target = (self._named(at, record.data, who) for who in ("Source", "Target"))
        access = number(record.data.get("GrantedAccess"))
        return None not in (source, target) and source != target and access & HARMFUL_ACCESS != 0

    def _whose(self, at: float, record: Raw, whose: str) -> Key | None:
        data = record.data
        match whose:
            case "own":
                return self._own(at, record)
            case "parent":
                own = self._own(at, record)
                return self.parents.get(own) if own else None
            case "source" | "target":
                return self._named(at, data, whose.title())
            case "services":
                # The Service Control Manager logs 7045 itself, 4697 comes from elsewhere.
                pid = record.pid if record.event_id == 7045 else 0
                return self.services or ("image", str(pid), SERVICES_IMAGE)
            case _:
                return self.lives.alive(4, at, "System")

    def _known_better(self, at: float, record: Raw, whose: str) -> bool:
        """Whether Sysmon reports the same start or end: then Security's is no second one."""
        if whose != PARENT or _is_sysmon(record):
            return False
        starts = _is(record, "security", 4688)
        reported = self.lives.created if starts else self.lives.ended
        return self._own(at, record) in reported

    def _own(self, at: float, record: Raw) -> Key | None:
        data = record.data
        if _is_sysmon(record):
            return self._named(at, data, "")
        if _syscall(record):
            return self.lives.started(number(data["pid"]), at)
        if record.event_id == 4688:
            return self.lives.started(number(data["NewProcessId"]), at)
        if record.event_id == 4104:
            return self.lives.alive(record.pid, at, "") if record.pid else None
        pid = data.get("ProcessId") or data.get("ProcessID")
        image = data.get("ProcessName") or data.get("Application") or ""
        return self.lives.alive(number(pid), at, image)

    def _named(self, at: float, data: dict[str, Any], prefix: str) -> Key | None:
        """A process of a Sysmon event: by its GUID, by its pid when the GUID is zero."""
        guid = guid_of(data.get(f"{prefix}ProcessGuid") or data.get(f"{prefix}ProcessGUID"))
        if guid:
            return ("guid", guid)
        return self._by_pid(at, data.get(f"{prefix}ProcessId"), data.get(f"{prefix}Image"))

    def _by_pid(self, at: float, pid: Any, image: Any) -> Key | None:
        image = "" if image in UNKNOWN else image
        return self.lives.alive(number(pid), at, image) if number(pid) else None


UNKNOWN = (None, "", "-", "?", "<unknown process>", "< unknown process> ")
"""Values that senders write for an unknown image."""

ACCESS_IDS = (4656, 4663)

SERVICES_IMAGE = "c:\\windows\\system32\\services.exe"
"""Who writes the key of a service (4697, 7045)."""

CONNECTION_OF_SECURITY = 5156

PAIR_S = 5.0
"""Between two records of one connection, at most."""

_PID_AND_IMAGE = (
    ("ProcessId", "Image"),
    ("ParentProcessId", "ParentImage"),
    ("ProcessId", "ParentProcessName"),
    ("ProcessId", "ProcessName"),
    ("ProcessId", "Application"),
    ("ProcessID", "Application"),
)
"""Fields that name a process by pid and image: of Sysmon, 4688, 4689 and 4663, 5156."""

_ROLES = [
    (prefix, suffix) for prefix in ("", "Parent", "Source", "Target") for suffix in ("Guid", "GUID")
]
_SOURCES = ("ProcessGuid", "SourceProcessGuid", "SourceProcessGUID")


def _access(data: dict[str, Any], event_id: int) -> tuple[Effect, ...]:
    mask, kind = number(data.get("AccessMask")), data["ObjectType"]
    if event_id == 4656 and kind != "Process":
        return ()
    return tuple((name, OWN) for bits, name in ACCESS.get(kind, ()) if mask & bits)


def _ends(data: dict[str, Any]) -> tuple[Any, ...]:
    """Protocol, direction and both ends of a connection, of which either log names the first the
    source; it is not decided here which of them is the host."""
    is_outbound = str(data.get("Initiated")).lower() == "true" or data.get("Direction") == OUTBOUND
    protocol = str(data.get("Protocol")).lower()
    source = (data.get("SourceIp") or data.get("SourceAddress"), number(data.get("SourcePort")))
    target = (
        data.get("DestinationIp") or data.get("DestAddress"),
        number(data.get("DestinationPort") or data.get("DestPort")),
    )
    return PROTOCOLS.get(protocol, protocol), is_outbound, frozenset((_end(*source), _end(*target)))


OUTBOUND = "%%14593"
PROTOCOLS = {"6": "tcp", "17": "udp"}


def _end(address: Any, port: int) -> tuple[str, int]:
    try:
        return ip_address(str(address)).exploded, port
    except ValueError:
        return str(address), port


def _pairs(ours: list[float], theirs: list[float]) -> int:
    """Each of ours takes the earliest of theirs that is near enough and free."""
    free = sorted(theirs)
    for at in sorted(ours):
        near = next((other for other in free if abs(other - at) <= PAIR_S), None)
        if near is not None:
            free.remove(near)
    return len(theirs) - len(free)


def guid_of(value: Any) -> str | None:
    """A ProcessGuid without braces, lower case; None for none and for the zero one."""
    text = str(value or "").strip("{}").lower()
    return text if len(text) == 36 and text.strip("0-") else None


def number(value: Any) -> int:
    """A pid or a mask, decimal or hexadecimal; 0 for none."""
    text = str(value or "0")
    return int(text, 16 if text.startswith("0x") else 10)


def _is_sysmon(record: Raw) -> bool:
    return "sysmon" in record.channel.lower()


def _is(record: Raw, channel: str, event_id: int) -> bool:
    return record.event_id == event_id and record.channel.lower() == channel


def _syscall(record: Raw) -> str:
    """ "execve yes", "execve no" or "" for records that are no audit events."""
    if record.channel not in {"auoms", "auditd"}:
        return ""
    call = record.data["syscall"]
    return f"{'execve' if call == '59' else call} {record.data['success']}"
