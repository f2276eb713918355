"""What the sources saw, before the assembling thread knows which process it was.

Times are microseconds of the wall clock; pids are those of the sensor's own pid namespace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass
class Executed:
    """A process began to run a program."""

    time_us: int
    pid: int
    ppid: int
    path: str
    cmdline: str
    cwd: str
    uid: int
    loginuid: int
    sid: int
    is_exact: bool = True
    """False when it was read from /proc afterwards and may be another, later program."""


@dataclass
class Forked:
    """A process made another."""

    time_us: int
    parent: int
    pid: int
    start_us: int


@dataclass
class Ended:
    """A process is no more; `exit_code` as a shell would say it (128 + signal)."""

    time_us: int
    pid: int
    exit_code: int | None


@dataclass
class FileChanged:
    """create, write, last_write, delete, rename (then `to`)."""

    time_us: int
    pid: int
    action: str
    path: str
    to: str = ""
    exe: str = ""
    uid: int = -1
    md5: str = ""
    sha256: str = ""
    file_type: int = 0


@dataclass
class Connected:
    """A connection made or taken; `exit_code` as the call returned it."""

    time_us: int
    pid: int
    is_outbound: bool
    remote_ip: str
    remote_port: int
    exit_code: int
    exe: str = ""
    uid: int = -1
    protocol: int = 0
    local_ip: str = ""
    local_port: int = 0
    socket_inode: int = 0


@dataclass
class Accessed:
    """A process reached into another."""

    time_us: int
    pid: int
    action: str
    target: int
    exe: str = ""
    uid: int = -1


@dataclass
class Loaded:
    """A kernel module was loaded."""

    time_us: int
    pid: int
    path: str
    exe: str = ""
    uid: int = -1


@dataclass
class Blocked:
    """A banned program was kept from starting."""

    time_us: int
    pid: int
    path: str
    md5: str
    sha256: str


Observation = Union[  # noqa: UP007 - a name for all of them
    Executed, Forked, Ended, FileChanged, Connected, Accessed, Loaded, Blocked
]
