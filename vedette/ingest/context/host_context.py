"""Bounded context of one host, from which its records are completed.

The pipeline holds one `HostContext` a sensor, and calls `learn` for a whole batch before
`normalise`. It only completes records: an evicted entry costs a repeated fact or an unknown name.
`Processes` (the base class) looks processes up.
"""

from vedette.ingest.context.image_cache import Image
from vedette.ingest.context.process_index import Processes
from vedette.ingest.context.process_state import ProcessState, interned
from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.hashes import hashes_of
from vedette.ingest.paths import file_name, split_device
from vedette.ingest.record import Record
from vedette.limits import (
    CLOCK_OFFSET_HOURS_MAX,
    DEVICE_PATHS_MAX,
    DNS_ANSWER_LASTS_US,
    DNS_ANSWER_LATE_US,
    DNS_ANSWERS_PER_ADDRESS_MAX,
    HOST_DEVICES_MAX,
    HOST_IMAGES_MAX,
    HOST_LOCAL_ADDRESSES_MAX,
    HOST_LOGONS_MAX,
    HOST_NAMES_MAX,
    LOGON_PROCESSES_MAX,
)
from vedette.model.event import UNKNOWN_IP
from vedette.model.metadata_rank import Rank

HOUR_US = 3600 * 1_000_000

_LOOPBACK_4 = bytes(10) + b"\xff\xff\x7f"
_NOBODY = (UNKNOWN_IP, bytes(10) + b"\xff\xff" + bytes(4), bytes(15) + b"\x01")
"""No address, the IPv4 one of no host, and IPv6 loopback."""


class HostContext(Processes):
    """The learned context of one host."""

    __slots__ = (
        "_answers",
        "_device_tails",
        "_drives",
        "_images",
        "_logon_processes",
        "_md5s",
        "_offset_votes",
        "_tails",
        "adapters",
        "clock_offset_us",
        "computer_sid",
        "host_type",
        "local",
        "logon_types",
        "waiting",
    )

    def __init__(self, sensor_id: int) -> None:
        super().__init__(sensor_id)
        self.clock_offset_us = 0
        """Envelope time minus true time of this host's records, whole hours (fact 5)."""
        self.computer_sid = ""
        """SID of the host, "" until an account of its own showed it."""
        self.adapters = ""
        """Its network adapters, "" until a shipper reports them (`ingest/adapters.py`)."""
        self.host_type = ""
        """domain_controller once a record said so; "" until then."""
        self.local: set[bytes] = set()
        """The host's own addresses, packed."""
        self.logon_types: GenerationCache[str, int] = GenerationCache(HOST_LOGONS_MAX)
        """Logon type (4624) by logon id ("0x3e7")."""
        self.waiting: list[Record] = []
        """Records to learn from once the clock offset and all ProcessGuids of a batch are known."""
        self._answers: GenerationCache[bytes, list[tuple[int, str]]] = GenerationCache(
            HOST_NAMES_MAX
        )
        self._images: GenerationCache[tuple[str, str], Image] = GenerationCache(HOST_IMAGES_MAX)
        self._md5s: GenerationCache[str, str] = GenerationCache(HOST_IMAGES_MAX)
        self._offset_votes: dict[int, int] = {}
        self._logon_processes: GenerationCache[str, list[ProcessState]] = GenerationCache(
            HOST_LOGONS_MAX
        )
        self._drives: dict[str, str] = {}
        self._device_tails: dict[str, set[str]] = {}
        self._tails: GenerationCache[str, str] = GenerationCache(HOST_IMAGES_MAX)

    def divide_capacity(self, divisor: int) -> None:
        super().divide_capacity(divisor)
        self._answers.resize(HOST_NAMES_MAX // divisor)
        for files in (self._images, self._md5s, self._tails):
            files.resize(HOST_IMAGES_MAX // divisor)
        for logons in (self.logon_types, self._logon_processes):
            logons.resize(HOST_LOGONS_MAX // divisor)

    def mark_unreported(self) -> None:
        """Marks everything as not reported; call it after a failed commit."""
        super().mark_unreported()
        for image in self._images.values():
            image.is_reported = not image.hashes.any_known()

    # --- names and addresses -----------------------------------------------------------

    def learn_answer(self, address: bytes, name: str, time_us: int) -> None:
        """Adds an address from a DNS answer for a name."""
        answers = self._answers.get(address)
        if answers is None:
            self._answers[address] = [(time_us, name)]
        elif (time_us, name) not in answers:
            answers.append((time_us, name))
            answers.sort()
            del answers[:-DNS_ANSWERS_PER_ADDRESS_MAX]

    def name_of(self, address: bytes, time_us: int) -> str:
        """The name whose DNS answer held this address before `time_us`; "" when there is none."""
        answers = self._answers.get(address)
        if answers is None:
            return ""
        for answered_us, name in reversed(answers):
            if answered_us <= time_us + DNS_ANSWER_LATE_US:
                return name if time_us - answered_us <= DNS_ANSWER_LASTS_US else ""
        return ""

    def learn_local(self, address: bytes) -> None:
        """Adds an address of the host; loopback and unspecified ones are ignored."""
        if (
            len(self.local) < HOST_LOCAL_ADDRESSES_MAX
            and address not in _NOBODY
            and not address.startswith(_LOOPBACK_4)
        ):
            self.local.add(address)

    # --- files -------------------------------------------------------------------------

    def learn_image(self, path: str, hashes: str, time_us: int) -> Image:
        """Caches a file that was executed or loaded; `hashes` as Sysmon writes them."""
        image = self._images.young.get((path, hashes)) or self._images.get((path, hashes))
        if image is None:
            path, hashes = interned(path), interned(hashes)
            image = Image(path, hashes_of(hashes), time_us)
            self._images[path, hashes] = image
            self.learn_hashes(image.hashes.md5, image.hashes.sha256)
        elif time_us < image.first_us:
            image.seen(time_us)
        return image

    def learn_hashes(self, md5: str, sha256: str) -> None:
        if md5 and sha256:
            self._md5s[sha256] = md5

    def md5_of(self, sha256: str) -> str:
        """The md5 of a file with this sha256, "" when it was never seen with both."""
        return (self._md5s.get(sha256) or "") if sha256 else ""

    def md5_of_process(self, known: ProcessState) -> str:
        """The md5 of a process's image, looked up by sha256 where the record lacks it."""
        return known.md5 or self.md5_of(known.sha256)

    def learn_path(self, known: ProcessState, path: str, rank: int = Rank.OWN) -> None:
        """The path of a process."""
        known.learn(path, rank=rank)
        self.learn_file_name(known)
        self.learn_drive(path)

    def learn_drive(self, path: str) -> None:
        """A path of some image; one with a drive may show which drive an NT device is."""
        if path[1:3] == ":\\":
            self._tails[path[2:].lower()] = path[:2].upper()

    def resolve_device_paths(self) -> None:
        """Replaces NT device paths of processes by drive paths, where the drive is known."""
        for known in self.device_paths:
            known.path = self.drive_path(known.path)
        self.device_paths.clear()

    def learn_device_path(self, path: str) -> None:
        r"""A path that begins with an NT device (`\device\harddiskvolume2\x`)."""
        device, tail = split_device(path)
        if not device or len(self._device_tails) >= HOST_DEVICES_MAX:
            return
        tails = self._device_tails.setdefault(device, set())
        if len(tails) < DEVICE_PATHS_MAX:
            tails.add(tail)

    def drive_path(self, path: str) -> str:
        """A path with its NT device replaced by the drive, where that is known."""
        device, tail = split_device(path)
        if not device:
            return path
        drive = self._drives.get(device) or self._drive_of(device)
        return drive + path[len(path) - len(tail) :] if drive else path

    def _drive_of(self, device: str) -> str:
        votes: dict[str, int] = {}
        for tail in self._device_tails.get(device, ()):
            drive = self._tails.get(tail)
            if drive:
                votes[drive] = votes.get(drive, 0) + 1
        if not votes:
            return ""
        self._drives[device] = min(votes, key=lambda drive: (-votes[drive], drive))
        return self._drives[device]

    def of_image(self, pid: int, time_us: int, path: str) -> ProcessState:
        """`alive`, for a record that names the image as well: a process with another one is not
        meant. It had the pid before, and the start of the one that has it now is still to come."""
        known = self.alive(pid, time_us, path)
        return known if self._may_be_image(known, path) else self.mention(pid, path)

    def parent_id_of(self, known: ProcessState) -> str:
        """Id of the parent by the creation records; "" when unknown."""
        if known.parent_id or not known.parent_pid:
            return known.parent_id
        return self.of_image(known.parent_pid, known.start_us, known.parent_path).id

    def _may_be_image(self, known: ProcessState, path: str) -> bool:
        """Short names (`PROGRA~1`) can be any; a device whose drive is not known can be a volume
        that is mounted in a folder, so that only the name of the file is compared. Texts without
        a folder are no paths: Sysmon sometimes writes garbage. A process of Unix changes its
        image."""
        if "\\" not in path or "\\" not in known.path or "~" in path + known.path:
            return True
        paths = self.drive_path(path).lower(), self.drive_path(known.path).lower()
        if all(one[1:3] == ":\\" for one in paths):
            return paths[0] == paths[1]
        return file_name(paths[0]) == file_name(paths[1])

    # --- clock and logons --------------------------------------------------------------

    def learn_clock(self, envelope_us: int, event_us: int) -> None:
        """Adds a sample of the clock offset; the most frequent offset is used."""
        hours = (envelope_us - event_us + HOUR_US // 2) // HOUR_US
        votes = self._offset_votes
        if hours in votes:
            votes[hours] += 1
        elif -CLOCK_OFFSET_HOURS_MAX <= hours <= CLOCK_OFFSET_HOURS_MAX:
            votes[hours] = 1
        else:
            return
        if hours * HOUR_US != self.clock_offset_us:
            best = max(votes, key=lambda some: (votes[some], -abs(some), some))
            self.clock_offset_us = best * HOUR_US

    def learn_logon(self, logon_id: str, logon_type: int) -> None:
        """Sets the type of a logon session, for earlier and later processes."""
        self.logon_types[logon_id] = max(logon_type, self.logon_types.get(logon_id) or 0)
        for known in self.logon_processes(logon_id):
            known.learn(logon_type=logon_type)

    def learn_logon_process(self, logon_id: str, known: ProcessState) -> None:
        """Adds a process to a logon session."""
        known.learn(logon_type=self.logon_types.get(logon_id) or 0)
        processes = self._logon_processes.get(logon_id)
        if processes is None:
            self._logon_processes[logon_id] = [known]
        elif len(processes) < LOGON_PROCESSES_MAX and known not in processes:
            processes.append(known)

    def logon_processes(self, logon_id: str) -> list[ProcessState]:
        return self._logon_processes.get(logon_id) or []
