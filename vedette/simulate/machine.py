"""One host at work: what can happen on any operating system, and the processes that run.

The day's activities and the attack stories call these verbs; each operating system's machine
renders them as the events its sensor would send. Times are epoch microseconds and may lie in
the future of the slice being played: `day.py` puts events in order.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random

from vedette.simulate.fleet import Host
from vedette.simulate.stream import Event

SECOND_US = 1_000_000


@dataclass(slots=True, eq=False)
class Process:
    """A running process as its host's sensor names it."""

    pid: int
    path: str
    command_line: str
    user: str
    start_us: int
    key: bytes
    """What identifies it in its events: ProcessGuid, or the id of the audit event that began it."""
    subject: bytes
    """The members that every event of this process begins with, rendered."""
    tail: bytes
    """Those that most of its events end with."""
    parent: "Process | None" = None


class Machine(ABC):
    """State of a host and the events it has logged and not yet handed out."""

    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        self.host = host
        self.rng = Random(f"{seed} {host.name}")
        self.out: list[Event] = []
        self.resident: dict[str, Process] = {}
        """Long-running processes by their name in the catalogues of the day files."""
        self.logged_on = False
        self.start_us = start_us
        self.boot_us = start_us - int((6 + 90 * self.rng.random()) * 3600) * SECOND_US
        self._pids = self.rng.randrange(2_000, 9_000, 4)

    def next_pid(self) -> int:
        """Pids climb and wrap around as on a real host; they are reused, never at once."""
        self._pids += 4 * (1 + int(self.rng.random() * 6))
        if self._pids > 64_000:
            self._pids = 2_000 + self._pids % 4
        return self._pids

    def nonce(self) -> str:
        """Eight hex digits, as programs put into temporary names."""
        return f"{self.rng.getrandbits(32):08x}"

    def within(self, seconds: float) -> int:
        """A random span below `seconds`, in microseconds."""
        return int(self.rng.random() * seconds * SECOND_US)

    @abstractmethod
    def adopt(self, name: str, path: str, command_line: str, user: str, start_us: int) -> Process:
        """A process that started before the sensor did: it has no creation event."""

    @abstractmethod
    def run(
        self, at_us: int, path: str, command_line: str, parent: Process, user: str = ""
    ) -> Process:
        """A process start; the user is the parent's unless given."""

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
        """An outgoing connection, with the DNS query before it when a name is given."""

    @abstractmethod
    def accept(self, at_us: int, process: Process, address: str, port: int) -> None:
        """An incoming connection to the local `port`."""

    @abstractmethod
    def write(self, at_us: int, process: Process, path: str) -> None:
        """A file is created and written."""

    @abstractmethod
    def delete(self, at_us: int, process: Process, path: str) -> None: ...

    def root(self) -> Process:
        """What daemons and stray processes descend from."""
        return self.resident["root"]
