"""Audit events as laurel writes them: one JSON object an event (telemetry.md 3c)."""

from vedette.simulate.machine import Process
from vedette.simulate.unix import arguments, inode_of, quoted, split_line

SYSCALLS = {"execve": 59, "exit_group": 231, "connect": 42, "accept4": 288, "openat": 257}
SYSCALLS |= {"unlink": 87, "clone": 56}


def _escaped(text: str) -> str:
    """laurel writes `%` and `+` as %xx, among others that do not occur here."""
    return text.replace("%", "%25").replace("+", "%2b")


def subject(pid: int, path: str, user: str, uid: int, parent: Process | None) -> bytes:
    """The members of SYSCALL that stay the same for all events of a process."""
    terminal, session = ("(none)", 4294967295) if uid < 1000 else ("pts0", 7)
    origin = b'"ppid":%d,' % (parent.pid if parent else 1)
    if parent is not None:
        origin = b'"ppid":%d,"PPID":{"EVENT_ID":"%b","comm":%b,"exe":%b},' % (
            parent.pid,
            parent.key,
            quoted(file_name(parent.path)),
            quoted(parent.path),
        )
    return origin + (
        b'"pid":%d,"auid":%d,"uid":%d,"gid":%d,"euid":%d,"suid":%d,"fsuid":%d,"egid":%d,'
        b'"tty":"%b","ses":%d,"comm":%b,"exe":%b,"subj":"unconfined","ARCH":"x86_64",'
        b'"AUID":%b,"UID":%b,"GID":%b,"EUID":%b'
        % (
            pid,
            *(uid if uid >= 1000 else 4294967295, uid, uid, uid, uid, uid, uid),
            *(terminal.encode(), session, quoted(file_name(path)), quoted(_escaped(path))),
            *(quoted(user if uid >= 1000 else "unset"), *(quoted(user),) * 3),
        )
    )


def file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def syscall(process: Process, event_id: bytes, name: str, result: int, key: bytes) -> bytes:
    """ID and SYSCALL of an event that succeeded (or, for connect, is in progress)."""
    return (
        b'"ID":"%b","SYSCALL":{"arch":"0xc000003e","syscall":%d,"success":"%b","exit":%d,'
        b'"items":0,%b,"PID":{"EVENT_ID":"%b"},"key":"%b","SYSCALL":"%b"}'
        % (
            event_id,
            SYSCALLS[name],
            b"yes" if result >= 0 else b"no",
            result,
            process.subject,
            process.key,
            key,
            name.encode(),
        )
    )


def execution(process: Process, folder: str) -> bytes:
    """An execve: the process's own key is the id of this event."""
    line = process.command_line
    return b"%b%b%b%b%b" % (
        syscall(process, process.key, "execve", 0, b"exec"),
        b',"EXECVE":{"argc":%d,"ARGV":%b}' % (len(split_line(line)), _arguments(line)),
        b',"CWD":{"cwd":%b}' % quoted(folder),
        b',"PATH":[%b,%b]'
        % (
            path_item(0, process.path, b"NORMAL", b"0o100755"),
            path_item(1, "/lib64/ld-linux-x86-64.so.2", b"NORMAL", b"0o100755"),
        ),
        title(process),
    )


def _arguments(line: str) -> bytes:
    return arguments(_escaped(line))


def title(process: Process) -> bytes:
    """PROCTITLE, which ends every event."""
    return b',"PROCTITLE":{"ARGV":%b}' % _arguments(process.command_line)


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
    """PATH of an openat or unlink: the folder, then the file."""
    return b',"CWD":{"cwd":%b},"PATH":[%b,%b]' % (
        quoted(folder),
        path_item(0, folder, b"PARENT", b"0o040755"),
        path_item(1, path, kind, b"0o100644"),
    )
