"""Bounded index of the processes of a host.

There are three kinds of lookup:

- `by_guid`: by Sysmon ProcessGuid in any spelling, which also contains the start;
- `by_key`, `started`: by pid and start, for senders that report both;
- `alive`: by pid at the time of an event, for senders that report nothing else. Call `mention` from
  `learn` for every such record; then results do not depend on the order within the batch.

A process identified by pid and start is merged with a process that has a ProcessGuid, the same pid
and a start within `SAME_START_US` (docs/telemetry-events.md, 4688).
"""

from collections.abc import Iterable
from typing import Protocol
from zlib import crc32

from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.paths import file_name, split_device, tail_of
from vedette.limits import Limit
from vedette.model.ids import guid_start_us, process_id_from_guid, process_id_from_start
from vedette.model.metadata_rank import Rank

HOST_PROCESSES_MAX: Limit[int] = 2_048
"""Maximum processes of a host that are cached to complete later records. The least recently used
are evicted first. An eviction costs a repeated fact, never an event."""

SAME_START_US: Limit[int] = 2_000_000
"""Maximum difference (us) between two reports of the start or the end of a process."""

ENDS_PER_PID_MAX: Limit[int] = 8
"""Maximum process ends that are cached per pid, the latest. Late records refer to recent
processes."""

PROCESSES_PER_FILE_MAX: Limit[int] = 8
"""Maximum processes that are cached per file name, those that started last."""

PIDS_PER_PROCESS_MAX: Limit[int] = 8
"""Maximum pids of a process. Some sources give all processes that they cannot identify the same
id."""


_UNIDENTIFIED = "-0000-000000000000"
_HEX = frozenset("0123456789abcdefABCDEF")


class StoredProcess(Protocol):
    """A stored process. Unknown text is "", unknown numbers are 0."""

    @property
    def process_id(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def start_us(self) -> int: ...
    @property
    def end_us(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def md5(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def username(self) -> str: ...
    @property
    def parent_id(self) -> str: ...


class Processes:
    """Looks up processes by the names in records, and creates new entries."""

    __slots__ = ("_ends", "_files", "_known", "_pids", "device_paths", "sensor_id")

    def __init__(self, sensor_id: int) -> None:
        self.sensor_id = sensor_id
        # A process has about two names: its id, and the ProcessGuid in its sender's spelling.
        self._known: GenerationCache[str, ProcessState] = GenerationCache(
            2 * HOST_PROCESSES_MAX, self._evict
        )
        self.device_paths: list[ProcessState] = []
        """Processes mentioned with an NT device path whose drive has not been looked up yet."""
        self._pids: dict[int, list[ProcessState]] = {}
        self._files: GenerationCache[str, list[ProcessState]] = GenerationCache(HOST_PROCESSES_MAX)
        self._ends: GenerationCache[int, list[int]] = GenerationCache(HOST_PROCESSES_MAX)

    def divide_capacity(self, divisor: int) -> None:
        """Sets the capacity to 1/`divisor` of the maximum per host, because fleets have many
        hosts."""
        self._known.resize(2 * HOST_PROCESSES_MAX // divisor)
        self._files.resize(HOST_PROCESSES_MAX // divisor)
        self._ends.resize(HOST_PROCESSES_MAX // divisor)

    def restore(self, rows: Iterable[StoredProcess]) -> None:
        """Adds processes read from the store."""
        for row in rows:
            known = self._add(row.process_id, row.pid, row.start_us)
            keyless = process_id_from_start(self.sensor_id, row.pid, row.start_us)
            known.keyed = row.process_id != keyless
            known.learn(
                path=row.path,
                username=row.username,
                md5=row.md5,
                sha256=row.sha256,
                parent_id=row.parent_id,
                end_us=row.end_us,
            )
            known.is_reported = True

    def mark_unreported(self) -> None:
        """Marks everything as not reported. Call after a failed commit."""
        for known in self._known.values():
            known.mark_unreported()

    def named(self, name: str) -> ProcessState | None:
        """Returns the process for exactly this spelling of a name. The fast path."""
        return self._known.young.get(name) or self._known.get(name)

    def by_guid(self, guid: str, pid: int = 0) -> ProcessState | None:
        """Returns the process of a ProcessGuid, with or without braces, in any letter case. Creates
        new processes.

        Returns None for text that is not a ProcessGuid, and for the zero GUID.
        """
        known = self.named(guid)
        if known is None:
            return self._new_guid(guid, pid)
        if pid and pid not in known.pids:
            self._add_pid(known, pid)
        return known

    def by_key(self, key: str, pid: int, start_us: int) -> ProcessState:
        """Returns the process for a sender's own key (exec_id, pid:pidversion). Creates new
        processes."""
        known = self._known.get(key)
        if known is None:
            known = self.started(pid, start_us)
            known.guid = known.guid or key
            self._name(key, known)
        return known.same_as or known

    def rename(self, key: str, known: ProcessState) -> None:
        """Assigns `key` to this process from now on: a sender's keys may repeat after a reboot."""
        before = self._known.get(key)
        if before is not known:
            if before is not None:
                before.names -= 1
            known.names += 1
            known.guid = known.guid or key
            self._known[key] = known

    def started(self, pid: int, start_us: int) -> ProcessState:
        """Returns the process with this pid that started at `start_us`. Creates new processes."""
        exact: ProcessState | None = None
        near: list[ProcessState] = []
        for known in self._pids.get(pid, ()):
            if not known.keyed:
                exact = known if known.start_us == start_us > 0 else exact
            elif abs(known.start_us - start_us) <= SAME_START_US:
                near.append(known)
        if near:
            # Sysmon may give a process two GUIDs; prefer the GUID of its creation record.
            return min(
                near,
                key=lambda some: (not some.created, abs(some.start_us - start_us), some.id),
            )
        # Computing an id is the most expensive step, and this process already has its id.
        process_id = exact.id if exact else process_id_from_start(self.sensor_id, pid, start_us)
        return self._known.get(process_id) or self._add(process_id, pid, start_us)

    def mention(self, pid: int, path: str = "") -> ProcessState:
        """Adds a process that a record refers to by pid without a start. Called from `learn`.

        The id of a process whose start is unknown is derived from pid and path.
        """
        made_of = crc32(tail_of(path).encode()) if path else 0
        process_id = process_id_from_start(self.sensor_id, pid, made_of)
        known = self._known.get(process_id) or self._add(process_id, pid, 0)
        if path != known.path:
            known.learn(path, rank=Rank.OTHERS)
            if known.path == path and split_device(path)[0]:
                self.device_paths.append(known)
        return known

    def alive(
        self, pid: int, time_us: int, path: str = "", tolerance_us: int = SAME_START_US
    ) -> ProcessState:
        """Returns the process that had this pid at that time, or a process of unknown start."""
        known = self.find(pid, time_us, tolerance_us)
        if known is None and not path:
            mentioned = [some for some in self._pids.get(pid, ()) if some.start_us == 0]
            known = max(mentioned, key=lambda some: (some.path, some.id), default=None)
        return known or self.mention(pid, path)

    def find(
        self, pid: int, time_us: int, tolerance_us: int = SAME_START_US
    ) -> ProcessState | None:
        """Returns the process with known start that had this pid at that time (0 means the latest).

        A start reported by another log may be up to `tolerance_us` later than the event. A start
        from the same log ends the previous process with the pid.
        """
        latest_us = time_us or 1 << 62
        keyed_us = latest_us + tolerance_us
        best: ProcessState | None = None
        for known in self._pids.get(pid, ()):
            limit_us = keyed_us if known.keyed else latest_us
            if 0 < known.start_us <= limit_us and (best is None or _age(known) > _age(best)):
                best = known
        late_us = 2 * SAME_START_US - tolerance_us
        if best is not None and time_us and self._end_us(best) + late_us < time_us:
            return None
        return best

    def learn_end(self, pid: int, time_us: int) -> None:
        """Adds the end of a process with this pid. The process itself is looked up later."""
        ends = self._ends.get(pid)
        if ends is None:
            self._ends[pid] = [time_us]
        elif time_us not in ends:
            ends.append(time_us)
            ends.sort()
            del ends[:-ENDS_PER_PID_MAX]

    def learn_file_name(self, known: ProcessState) -> None:
        """Indexes a process by the name of its image."""
        name = file_name(known.path).lower()
        others = self._files.get(name)
        if others is None:
            self._files[name] = [known]
        elif known not in others:
            others.append(known)
            others.sort(key=lambda some: (some.start_us, some.id))
            del others[:-PROCESSES_PER_FILE_MAX]

    def latest_of_file(self, name: str) -> ProcessState | None:
        """Returns the latest started process with this image name (lower case)."""
        processes = self._of_file(name)
        return processes[-1] if processes else None

    def only_of_file(self, name: str, time_us: int) -> ProcessState | None:
        """Returns the process with this image name if exactly one was running at that time."""
        running = [
            known
            for known in self._of_file(name)
            if known.start_us <= time_us + SAME_START_US and time_us <= self._end_us(known)
        ]
        return running[0] if len(running) == 1 else None

    def _of_file(self, name: str) -> list[ProcessState]:
        # A better path may have been learned after a process was indexed by name.
        processes = self._files.get(name) or ()
        return [known for known in processes if file_name(known.path).lower() == name]

    def _end_us(self, known: ProcessState) -> int:
        """Returns the end of a process (us), or a time in the far future if it is unknown."""
        if known.end_us:
            return known.end_us
        ends = (end_us for pid in known.pids for end_us in self._ends.get(pid) or ())
        return min((end_us for end_us in ends if end_us >= known.start_us), default=1 << 62)

    def _new_guid(self, guid: str, pid: int) -> ProcessState | None:
        bare = guid[1:-1] if guid[:1] == "{" else guid
        if not is_process_guid(bare):
            return None
        process_id = process_id_from_guid(self.sensor_id, bare)
        known = self._known.get(process_id)
        if known is None:
            known = self._add(process_id, 0, guid_start_us(bare))
            known.keyed = True
        if pid and pid not in known.pids:
            self._add_pid(known, pid)
        known.guid = bare.lower()
        self._name(guid, known)
        return known

    def _add(self, process_id: str, pid: int, start_us: int) -> ProcessState:
        known = ProcessState(process_id, start_us)
        self._name(process_id, known)
        if pid:
            self._add_pid(known, pid)
        return known

    def _name(self, name: str, known: ProcessState) -> None:
        if name not in self._known:
            known.names += 1
            self._known[name] = known

    def _add_pid(self, known: ProcessState, pid: int) -> None:
        if known.id.endswith(_UNIDENTIFIED) or len(known.pids) >= PIDS_PER_PROCESS_MAX:
            return  # Sysmon for Linux: all unidentified processes of a second share an id
        known.pids += (pid,)
        known.pid = max(known.pids)
        known.is_reported = False
        others = self._pids.setdefault(pid, [])
        if known.keyed:
            for other in others:
                if not other.keyed and abs(other.start_us - known.start_us) <= SAME_START_US:
                    other.same_as = known
            others[:] = [other for other in others if other.same_as is None]
        others.append(known)

    def _evict(self, dropped: list[ProcessState]) -> None:
        for known in dropped:
            known.names -= 1
            for pid in () if known.names else known.pids:
                others = [other for other in self._pids.get(pid, ()) if other is not known]
                if others:
                    self._pids[pid] = others
                else:
                    self._pids.pop(pid, None)


def _age(known: ProcessState) -> tuple[int, bool, bool, str]:
    """Sort key of processes with the same pid. Of two GUIDs for a process, the GUID that ends
    wins."""
    return known.start_us, known.ended, known.created, known.id


def is_process_guid(text: str) -> bool:
    """Whether the text is a GUID of 36 characters that identifies a process, so is not all zero."""
    return (
        len(text) == 36
        and text[8] == text[13] == text[18] == text[23] == "-"
        and _HEX.issuperset(text.replace("-", "", 4))
        and text[9:].strip("0-") != ""
    )
