"""A simulated host: operations common to all operating systems, and its running processes.

Activities and attack stories call these operations; the machine of each operating system renders
them as the events of its sensor. Times are epoch microseconds and may be later than the current
slice: `day.py` sorts events.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random

from vedette.simulate.fleet import Host
from vedette.simulate.stream import Event

SECOND_US = 1_000_000


@dataclass(slots=True, eq=False)
class Process:
    """A running process as its host's sensor identifies it."""

    pid: int
    path: str
    command_line: str
    user: str
    start_us: int
    key: bytes
    """Identifier of the process in its events: ProcessGuid, or the id of the audit event that
    started it."""
    subject: bytes
    """Rendered members at the beginning of every event of this process."""
    tail: bytes
    """Rendered members at the end of most of its events."""
    parent: "Process | None" = None


class Machine(ABC):
    """State of a host, and its logged events that `day.py` has not taken yet."""

    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        self.host = host
        self.rng = Random(f"{seed} {host.name}")
        self.out: list[Event] = []
        self.resident: dict[str, Process] = {}
        """Maps name in the day modules to long-running process."""
        self.logged_on = False
        self.start_us = start_us
        self.boot_us = start_us - int((6 + 90 * self.rng.random()) * 3600) * SECOND_US
        self._pids = self.rng.randrange(2_000, 9_000, 4)

    def next_pid(self) -> int:
        """Returns a new pid. Pids increase and wrap around as on a real host; they are reused, but
        never at the same time."""
        self._pids += 4 * (1 + int(self.rng.random() * 6))
        if self._pids > 64_000:
            self._pids = 2_000 + self._pids % 4
        return self._pids

    def nonce(self) -> str:
        """Returns eight hex digits for temporary names."""
        return f"{self.rng.getrandbits(32):08x}"

    def within(self, seconds: float) -> int:
        """Returns a random duration below `seconds`, in microseconds."""
        return int(self.rng.random() * seconds * SECOND_US)

    @abstractmethod
    def add_running(
        self, name: str, path: str, command_line: str, user: str, start_us: int
    ) -> Process:
        """Adds a process that started before the sensor: it has no creation event."""

    @abstractmethod
    def run(
        self, at_us: int, path: str, command_line: str, parent: Process, user: str = ""
    ) -> Process:
        """Starts a process; without `user`, as the parent's user."""

    @abstractmethod
    def exit(self, at_us: int, process: Process) -> None: ...

    @abstractmethod
    def connect(
        self,
        at_us: int,
        process: Process,
        address: str,
        port: int,
        name: str = "",
        *,
        udp: bool = False,
    ) -> None:
        """Logs an outgoing connection, preceded by a DNS query if a name is given."""

    @abstractmethod
    def accept(self, at_us: int, process: Process, address: str, port: int) -> None:
        """Logs an incoming connection to the local `port`."""

    @abstractmethod
    def write(self, at_us: int, process: Process, path: str) -> None:
        """Creates and writes a file."""

    @abstractmethod
    def delete(self, at_us: int, process: Process, path: str) -> None: ...

    def root(self) -> Process:
        """Returns the ancestor of daemons and of processes without a parent."""
        return self.resident["root"]
