"""Bounded context of a host, used to complete its records.

The pipeline keeps a `HostContext` per sensor and calls `learn` for a whole batch before
`normalise`. The context only completes records: an evicted entry costs a repeated fact or an
unknown name. The base class `Processes` looks up processes.
"""

from vedette.ingest.context.image_cache import Image
from vedette.ingest.context.process_index import Processes
from vedette.ingest.context.process_state import ProcessState, interned
from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.hashes import hashes_of
from vedette.ingest.paths import file_name, split_device
from vedette.ingest.record import Record
from vedette.limits import CLOCK_OFFSET_HOURS_MAX, Limit
from vedette.model.event import UNKNOWN_IP
from vedette.model.metadata_rank import Rank

HOST_IMAGES_MAX: Limit[int] = 2_048
"""Maximum executed or loaded files of a host that are cached, so that each is reported once."""

HOST_NAMES_MAX: Limit[int] = 2_048
"""Maximum addresses of a host that are cached with their names from DNS answers."""

HOST_LOGONS_MAX: Limit[int] = 512
"""Maximum logon sessions of a host whose type is cached."""

HOST_LOCAL_ADDRESSES_MAX: Limit[int] = 64
"""Maximum addresses that are taken for the host's own."""

DNS_ANSWER_LATE_US: Limit[int] = 5_000_000
"""Maximum delay (us) between a connection and the later record of the DNS answer that it used."""

DNS_ANSWER_LASTS_US: Limit[int] = 24 * 3600 * 1_000_000
"""Time (us) for which a DNS answer names an address."""

DNS_ANSWERS_PER_ADDRESS_MAX: Limit[int] = 8
"""Maximum DNS answers that are cached for an address, the latest. Names of a shared address change
all the time."""

LOGON_PROCESSES_MAX: Limit[int] = 256
"""Maximum processes of a logon session that a later logon event completes with its type."""

HOST_DEVICES_MAX: Limit[int] = 32
"""Maximum volumes of a host whose device names are matched with drive letters. There are 26
letters, and a volume may get another number at a reboot. Paths of an unknown device are compared
with each."""

DEVICE_PATHS_MAX: Limit[int] = 64
"""Maximum paths of a volume that are cached to find its drive letter; a few suffice."""


HOUR_US = 3600 * 1_000_000

_LOOPBACK_4 = bytes(10) + b"\xff\xff\x7f"
_NOBODY = (UNKNOWN_IP, bytes(10) + b"\xff\xff" + bytes(4), bytes(15) + b"\x01")
"""Unspecified address, unspecified IPv4 address, and IPv6 loopback."""


class HostContext(Processes):
    """The learned context of a host."""

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
        "host_clock",
        "host_type",
        "local",
        "logon_types",
        "waiting",
    )

    def __init__(self, sensor_id: int) -> None:
        super().__init__(sensor_id)
        self.clock_offset_us = 0
        """Envelope time minus true time of this host's records, in whole hours
        (docs/telemetry-formats.md#real-world-data, fact 5)."""
        self.computer_sid = ""
        """SID of the host; "" until one of its own accounts revealed it."""
        self.adapters = ""
        """Network adapters; "" until a shipper reports them (`ingest/adapters.py`)."""
        self.host_clock = 0
        """Time zone; 0 until a shipper reports it (`ingest/host_clock.py`)."""
        self.host_type = ""
        """domain_controller if a record showed it, else ""."""
        self.local: set[bytes] = set()
        """Addresses of the host, packed."""
        self.logon_types: GenerationCache[str, int] = GenerationCache(HOST_LOGONS_MAX)
        """Logon type (event 4624) by logon id ("0x3e7")."""
        self.waiting: list[Record] = []
        """Records to learn from after the clock offset and all ProcessGuids of a batch are
        known."""
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
        """Marks everything as not reported. Call after a failed commit."""
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
        """Returns the name whose DNS answer contained this address before `time_us`; "" if there is
        none."""
        answers = self._answers.get(address)
        if answers is None:
            return ""
        for answered_us, name in reversed(answers):
            if answered_us <= time_us + DNS_ANSWER_LATE_US:
                return name if time_us - answered_us <= DNS_ANSWER_LASTS_US else ""
        return ""

    def learn_local(self, address: bytes) -> None:
        """Adds an address of the host. Ignores loopback and unspecified addresses."""
        if (
            len(self.local) < HOST_LOCAL_ADDRESSES_MAX
            and address not in _NOBODY
            and not address.startswith(_LOOPBACK_4)
        ):
            self.local.add(address)

    # --- files -------------------------------------------------------------------------

    def learn_image(self, path: str, hashes: str, time_us: int) -> Image:
        """Caches an executed or loaded file. `hashes` is in Sysmon's notation."""
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
        """Returns the MD5 of a file with this SHA-256; "" if no record had both."""
        return (self._md5s.get(sha256) or "") if sha256 else ""

    def md5_of_process(self, known: ProcessState) -> str:
        """Returns the MD5 of a process's image, looked up by SHA-256 if the record lacks it."""
        return known.md5 or self.md5_of(known.sha256)

    def learn_path(self, known: ProcessState, path: str, rank: int = Rank.OWN) -> None:
        """Sets the path of a process."""
        known.learn(path, rank=rank)
        self.learn_file_name(known)
        self.learn_drive(path)

    def learn_drive(self, path: str) -> None:
        """Adds the path of an image. A path with a drive letter may reveal the drive of an NT
        device."""
        if path[1:3] == ":\\":
            self._tails[path[2:].lower()] = path[:2].upper()

    def resolve_device_paths(self) -> None:
        """Replaces NT device paths of processes with drive paths, where the drive is known."""
        for known in self.device_paths:
            known.path = self.drive_path(known.path)
        self.device_paths.clear()

    def learn_device_path(self, path: str) -> None:
        r"""Adds a path that starts with an NT device (`\device\harddiskvolume2\x`)."""
        device, tail = split_device(path)
        if not device or len(self._device_tails) >= HOST_DEVICES_MAX:
            return
        tails = self._device_tails.setdefault(device, set())
        if len(tails) < DEVICE_PATHS_MAX:
            tails.add(tail)

    def drive_path(self, path: str) -> str:
        """Returns the path with its NT device replaced by the drive, if that is known."""
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
        """Like `alive`, for a record that also names the image. A process with another image is an
        earlier owner of the pid: the start of the current owner has not been read yet."""
        known = self.alive(pid, time_us, path)
        return known if self._may_be_image(known, path) else self.mention(pid, path)

    def parent_id_of(self, known: ProcessState) -> str:
        """Returns the id of the parent according to creation records; "" if unknown."""
        if known.parent_id or not known.parent_pid:
            return known.parent_id
        return self.of_image(known.parent_pid, known.start_us, known.parent_path).id

    def _may_be_image(self, known: ProcessState, path: str) -> bool:
        """Whether a process may have this image. Returns True for short names (`PROGRA~1`), which
        match anything, and for texts without a folder: Sysmon sometimes writes garbage, and a Unix
        process replaces its image. A device without a known drive may be a volume mounted in a
        folder, so only the file name is compared."""
        if "\\" not in path or "\\" not in known.path or "~" in path + known.path:
            return True
        paths = self.drive_path(path).lower(), self.drive_path(known.path).lower()
        if all(one[1:3] == ":\\" for one in paths):
            return paths[0] == paths[1]
        return file_name(paths[0]) == file_name(paths[1])

    # --- clock and logons --------------------------------------------------------------

    def learn_clock(self, envelope_us: int, event_us: int) -> None:
        """Adds a sample of the clock offset. The most frequent offset is used."""
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
