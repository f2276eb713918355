"""System call numbers used in the audit rules, by machine.

On other machines the sensor adds no audit rules.
"""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """A calling convention: `arch` of its audit records, and the call numbers by name."""

    arch: int
    numbers: dict[str, int]


_X86_64 = {
    "open": 2,
    "connect": 42,
    "accept": 43,
    "execve": 59,
    "truncate": 76,
    "rename": 82,
    "rmdir": 84,
    "creat": 85,
    "link": 86,
    "unlink": 87,
    "symlink": 88,
    "ptrace": 101,
    "init_module": 175,
    "exit_group": 231,
    "openat": 257,
    "unlinkat": 263,
    "renameat": 264,
    "linkat": 265,
    "symlinkat": 266,
    "accept4": 288,
    "process_vm_writev": 311,
    "finit_module": 313,
    "renameat2": 316,
    "execveat": 322,
    "openat2": 437,
}
_I386 = {
    "open": 5,
    "creat": 8,
    "link": 9,
    "unlink": 10,
    "execve": 11,
    "ptrace": 26,
    "rename": 38,
    "rmdir": 40,
    "symlink": 83,
    "truncate": 92,
    "init_module": 128,
    "exit_group": 252,
    "openat": 295,
    "unlinkat": 301,
    "renameat": 302,
    "linkat": 303,
    "symlinkat": 304,
    "process_vm_writev": 348,
    "finit_module": 350,
    "renameat2": 353,
    "execveat": 358,
    "connect": 362,
    "accept4": 364,
    "openat2": 437,
}
_AARCH64 = {
    "unlinkat": 35,
    "symlinkat": 36,
    "linkat": 37,
    "renameat": 38,
    "truncate": 45,
    "openat": 56,
    "exit_group": 94,
    "init_module": 105,
    "ptrace": 117,
    "accept": 202,
    "connect": 203,
    "execve": 221,
    "accept4": 242,
    "process_vm_writev": 271,
    "finit_module": 273,
    "renameat2": 276,
    "execveat": 281,
    "openat2": 437,
}

MACHINES: dict[str, tuple[Machine, ...]] = {
    "x86_64": (Machine(0xC000003E, _X86_64), Machine(0x40000003, _I386)),
    "aarch64": (Machine(0xC00000B7, _AARCH64),),
}
"""Calling conventions by `uname -m`, the native convention first."""

NAMES: dict[bytes, dict[int, str]] = {
    f"{machine.arch:x}".encode(): {number: name for name, number in machine.numbers.items()}
    for machines in MACHINES.values()
    for machine in machines
}
"""Maps `arch` of a record to {call number: name}."""
