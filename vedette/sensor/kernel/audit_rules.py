"""The sensor's audit rules in the kernel's binary form (`struct audit_rule_data`).

All carry the sensor's key, which distinguishes them from an operator's rules. `rules` returns the
rules for system calls and the kernel's filters: an event dropped in the kernel costs the sensor
nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from .syscalls import Machine

KEY = b"vedette-sensor"

_EXIT, _EXCLUDE = 4, 5
_NEVER, _ALWAYS = 0, 2
_EQUAL, _NOT_EQUAL, _ANY_BIT = 0x40000000, 0x30000000, 0x08000000
_PID, _UID, _ARCH, _MESSAGE = 0, 1, 11, 12
_SUCCESS, _WATCH, _EXE, _FAMILY, _KEY = 104, 105, 112, 113, 210
_ARGUMENT = 200
_PROCTITLE = 1327
_FIXED = struct.Struct("=III")
_WORDS = 64

_WRITE_FLAGS = 0o103  # O_WRONLY, O_RDWR, O_CREAT
_INET, _INET6 = 2, 10
_PTRACE_OPENS = (4, 5, 16, 0x4206)  # POKETEXT, POKEDATA, ATTACH, SEIZE
_CHANGES = (
    "unlink",
    "unlinkat",
    "rmdir",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "truncate",
    "creat",
)


@dataclass(frozen=True)
class Field:
    """A condition of a rule. Texts are in the rule's buffer."""

    name: int
    value: int
    operator: int = _EQUAL
    text: bytes = b""


@dataclass(frozen=True)
class Scope:
    """Processes that the rules apply to: all except the sensor, or a single user (tests). File
    operations of `quiet_programs` are not recorded."""

    own_pid: int
    uid: int | None = None
    quiet_programs: tuple[str, ...] = ()

    def fields(self) -> tuple[Field, ...]:
        if self.uid is not None:
            return (Field(_UID, self.uid),)
        return (Field(_PID, self.own_pid, _NOT_EQUAL),)


def _encode(action: int, numbers: Iterable[int], fields: tuple[Field, ...], where: int) -> bytes:
    mask = [0] * _WORDS
    for number in numbers:
        mask[number // 32] |= 1 << (number % 32)
    names, values, operators = [0] * _WORDS, [0] * _WORDS, [0] * _WORDS
    for at, field in enumerate(fields):
        names[at], operators[at] = field.name, field.operator
        values[at] = len(field.text) if field.text else field.value
    texts = b"".join(field.text for field in fields)
    arrays = struct.pack(f"={4 * _WORDS}I", *mask, *names, *values, *operators)
    return _FIXED.pack(where, action, len(fields)) + arrays + struct.pack("=I", len(texts)) + texts


def _call(machine: Machine, names: tuple[str, ...], fields: tuple[Field, ...]) -> list[bytes]:
    numbers = [machine.numbers[name] for name in names if name in machine.numbers]
    if not numbers:
        return []
    arch = Field(_ARCH, machine.arch)
    return [_encode(_ALWAYS, numbers, (arch, *fields, Field(_KEY, 0, text=KEY)), _EXIT)]


def machine_rules(machine: Machine, scope: Scope, *, with_ends: bool) -> list[bytes]:
    """Returns the rules for a calling convention. `with_ends` adds process exits, for hosts where
    the proc connector is unavailable."""
    who, done = scope.fields(), Field(_SUCCESS, 1)
    made = _call(machine, ("execve", "execveat"), (done, *who))
    made += _call(machine, _CHANGES, (done, *who))
    made += _call(machine, ("openat2", "init_module", "finit_module"), (done, *who))
    flags_at = {"open": 1, "openat": 2}
    for name, at in flags_at.items():
        made += _call(machine, (name,), (done, Field(_ARGUMENT + at, _WRITE_FLAGS, _ANY_BIT), *who))
    for family in (_INET, _INET6):  # a connection in progress has not succeeded yet
        made += _call(machine, ("connect", "accept", "accept4"), (Field(_FAMILY, family), *who))
    for request in _PTRACE_OPENS:
        made += _call(machine, ("ptrace",), (done, Field(_ARGUMENT, request), *who))
    made += _call(machine, ("process_vm_writev",), (done, *who))
    if with_ends:
        made += _call(machine, ("exit_group",), who)
    return made


def quiet_rules() -> list[bytes]:
    """Returns exclusions: writes to /dev/null, and records that repeat a command line. They come
    first, because the first matching rule decides."""
    null = b"/dev/null"
    return [
        _encode(
            _NEVER,
            range(_WORDS * 32),
            (Field(_WATCH, 0, text=null), Field(_KEY, 0, text=KEY)),
            _EXIT,
        ),
        _encode(_ALWAYS, (), (Field(_MESSAGE, _PROCTITLE),), _EXCLUDE),
    ]


def _quiet_program_rules(machine: Machine, program: str) -> list[bytes]:
    """Excludes the file operations of a program. Its starts and connections are still recorded."""
    names = ("open", "openat", "openat2", *_CHANGES)
    numbers = [machine.numbers[name] for name in names if name in machine.numbers]
    exe = Field(_EXE, 0, text=program.encode("utf-8", "surrogateescape"))
    fields = (Field(_ARCH, machine.arch), exe, Field(_KEY, 0, text=KEY))
    return [_encode(_NEVER, numbers, fields, _EXIT)]


def rules(machines: Iterable[Machine], scope: Scope, *, with_ends: bool) -> list[bytes]:
    """Returns all rules, in the order in which they must be added."""
    made = quiet_rules()
    for machine in machines:
        for program in scope.quiet_programs:
            made += _quiet_program_rules(machine, program)
    for machine in machines:
        made += machine_rules(machine, scope, with_ends=with_ends)
    return made


def is_ours(rule: bytes) -> bool:
    """Whether a rule listed by the kernel carries the sensor's key."""
    names = struct.unpack_from(f"={_WORDS}I", rule, _FIXED.size + 4 * _WORDS)
    count = _FIXED.unpack_from(rule)[2]
    return _KEY in names[:count] and rule.rstrip(b"\0").endswith(KEY)
