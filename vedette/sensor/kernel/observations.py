"""Observations of the sources, before attribution to a process.

Times are microseconds of the wall clock. Pids belong to the sensor's pid namespace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass
class Executed:
    """A process executed a program."""

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
    """False if read from /proc afterwards, so that it may be a later program of the process."""


@dataclass
class Forked:
    """A process created a child process."""

    time_us: int
    parent: int
    pid: int
    start_us: int


@dataclass
class Ended:
    """A process exited. `exit_code` is as in a shell (128 + signal)."""

    time_us: int
    pid: int
    exit_code: int | None


@dataclass
class FileChanged:
    """A file changed. `action` is create, write, last_write, delete, or rename (with `to`)."""

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
    """An outgoing or accepted connection. `exit_code` is the result of the system call."""

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
    """A process accessed the memory of another process."""

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
    """The start of a banned program was denied."""

    time_us: int
    pid: int
    path: str
    md5: str
    sha256: str


Observation = Union[  # noqa: UP007 - evaluated at runtime, by Python 3.9 too
    Executed, Forked, Ended, FileChanged, Connected, Accessed, Loaded, Blocked
]
