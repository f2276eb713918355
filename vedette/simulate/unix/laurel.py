"""Audit events in laurel's format: one JSON object per event
(docs/telemetry-linux-audit.md)."""

from functools import lru_cache

from vedette.simulate.machine import Process
from vedette.simulate.unix.text import arguments, inode_of, quoted, split_line

_CALLS: dict[str, tuple[int, bytes]] = {
    "execve": (59, b"exec"),
    "clone": (56, b"exec"),
    "exit_group": (231, b"exit"),
    "connect": (42, b"net"),
    "accept4": (288, b"net"),
    "openat": (257, b"file"),
    "unlink": (87, b"file"),
}
"""Maps system call to (its number, key of the audit rule)."""

_AROUND: dict[str, tuple[bytes, bytes]] = {
    name: (
        b'","SYSCALL":{"arch":"0xc000003e","syscall":%d,"success":"' % number,
        b',"key":"%b","SYSCALL":"%b"}' % (key, name.encode()),
    )
    for name, (number, key) in _CALLS.items()
}
"""Maps system call to the constant parts of its events: after the event's id, and at the end of
SYSCALL."""


def _escaped(text: str) -> str:
    """Escapes `%` and `+` as %xx like laurel, which also escapes characters that do not occur
    here."""
    return text.replace("%", "%25").replace("+", "%2b")


def subject(key: bytes, pid: int, path: str, user: str, uid: int, parent: Process | None) -> bytes:
    """Returns the members of SYSCALL that are the same for all events of a process."""
    origin = b'"ppid":1,'
    if parent is not None:
        ppid, program = b"%d" % parent.pid, _program(parent.path)
        origin = b'"ppid":%b,"PPID":{"EVENT_ID":"%b",%b},' % (ppid, parent.key, program)
    members = _credentials(path, user, uid)
    return b'%b"pid":%d,%b,"PID":{"EVENT_ID":"%b"}' % (origin, pid, members, key)


@lru_cache(maxsize=4096)
def _credentials(path: str, user: str, uid: int) -> bytes:
    terminal, session = ("(none)", 4294967295) if uid < 1000 else ("pts0", 7)
    return (
        b'"auid":%d,"uid":%d,"gid":%d,"euid":%d,"suid":%d,"fsuid":%d,"egid":%d,'
        b'"tty":"%b","ses":%d,%b,"subj":"unconfined","ARCH":"x86_64",'
        b'"AUID":%b,"UID":%b,"GID":%b,"EUID":%b'
        % (
            uid if uid >= 1000 else 4294967295,
            uid,
            uid,
            uid,
            uid,
            uid,
            uid,
            terminal.encode(),
            session,
            _program(path),
            quoted(user if uid >= 1000 else "unset"),
            *(quoted(user),) * 3,
        )
    )


@lru_cache(maxsize=4096)
def _program(path: str) -> bytes:
    return b'"comm":%b,"exe":%b' % (quoted(_escaped(file_name(path))), quoted(_escaped(path)))


def file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def syscall(process: Process, event_id: bytes, name: str, result: int) -> bytes:
    """Returns ID and SYSCALL of an event that succeeded (or, for connect, is in progress)."""
    head, tail = _AROUND[name]
    outcome = b'yes","exit":' if result >= 0 else b'no","exit":'
    code = b'%d,"items":0,' % result
    return b"".join((b'"ID":"', event_id, head, outcome, code, process.subject, tail))


def execution(process: Process, folder: str) -> bytes:
    """Returns an execve event; its id becomes the key of the process."""
    line = process.command_line
    return b"".join(
        (
            syscall(process, process.key, "execve", 0),
            b',"EXECVE":{"argc":%d,"ARGV":%b}' % (len(split_line(line)), _arguments(line)),
            b',"CWD":{"cwd":%b},"PATH":[' % quoted(folder),
            path_item(0, process.path, b"NORMAL", b"0o100755"),
            b",",
            path_item(1, "/lib64/ld-linux-x86-64.so.2", b"NORMAL", b"0o100755"),
            b"]",
            process.tail,
        )
    )


def _arguments(line: str) -> bytes:
    return arguments(_escaped(line))


def title(command_line: str) -> bytes:
    """Returns PROCTITLE, the last member of every event."""
    return b',"PROCTITLE":{"ARGV":%b}' % _arguments(command_line)


@lru_cache(maxsize=4096)
def path_item(item: int, path: str, kind: bytes, mode: bytes) -> bytes:
    return (
        b'{"item":%d,"name":%b,"inode":%d,"dev":"fe:01","mode":"%b","ouid":0,"ogid":0,'
        b'"rdev":"00:00","nametype":"%b","cap_fp":"0x0","cap_fi":"0x0","cap_fe":0,"cap_fver":"0x0",'
        b'"cap_frootid":"0","OUID":"root","OGID":"root"}'
        % (item, quoted(_escaped(path)), inode_of(path), mode, kind)
    )


def socket_address(address: str, port: int) -> bytes:
    return b',"SOCKADDR":[{"SADDR":{"saddr_fam":"inet","addr":"%b","port":%d}}]' % (
        address.encode(),
        port,
    )


def file_paths(folder: str, path: str, kind: bytes) -> bytes:
    """Returns PATH of an openat or unlink: the folder, then the file."""
    return b',"CWD":{"cwd":%b},"PATH":[%b,%b]' % (
        quoted(folder),
        path_item(0, folder, b"PARENT", b"0o040755"),
        path_item(1, path, kind, b"0o100644"),
    )
