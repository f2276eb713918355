"""Normaliser of Linux audit events from audit.log, laurel and auoms.

`_MAKE` maps system calls to events. Failed calls yield no events, except a connection in progress
(EINPROGRESS). Events without a system call (logins, accounts, services) are stored as records if
the `keep` setting selects them.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.decode.audit_calls import architecture, call_of, hexadecimal
from vedette.ingest.decode.laurel import event_key
from vedette.ingest.normalise.network import TCP, UDP
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    WRONG_TYPE,
    child,
    end_facts,
    executed,
    filemod,
    joined,
    kept_or_not,
    learn_executed,
    mention,
    process_at,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import number
from vedette.ingest.record import Record
from vedette.model.address import pack_address
from vedette.model.event import (
    UNKNOWN_IP,
    ChildKind,
    CrossKind,
    Crossproc,
    FileOperation,
    Modload,
    Netconn,
    Outcome,
)

_STARTS = frozenset({"execve", "execveat"})
_IN_PROGRESS = frozenset({"-115", "EINPROGRESS", "EINPROGRESS(Operation now in progress)"})
_CLONE_THREAD = 0x10000
_STACK_FIRST = frozenset({"s390", "s390x"})
"""Architectures on which the second argument of clone contains the flags."""

_WRITE_FLAGS = 0x3 | 0x400 | 0x200  # O_WRONLY, O_RDWR, O_APPEND, O_TRUNC
_OTHER_WRITE_FLAGS = {
    **dict.fromkeys(("alpha", "sparc", "sparc64"), 0x3 | 0x8 | 0x400),
    **dict.fromkeys(("mips", "mipsel", "mips64", "mipsel64", "mips64n32", "mipsel64n32"), 0x20B),
    **dict.fromkeys(("parisc", "parisc64"), 0x3 | 0x8 | 0x200),
}
"""Write flags on architectures that number them differently."""

_UDP_PORTS = frozenset({0, 53, 67, 68, 123, 137, 138, 161, 500, 1900, 5353, 5355})
"""Remote ports taken as UDP if the record has no protocol. Port 0: the resolver library connects to
it to find a source address."""

_PTRACE_OPENS = frozenset({4, 5, 16, 0x4206})  # POKETEXT, POKEDATA, ATTACH, SEIZE
_VM_ACCESS = 0x38  # PROCESS_VM_OPERATION, PROCESS_VM_READ, PROCESS_VM_WRITE


class _Call:
    """A system call in the shape that all three senders share. Built twice per record, for learning
    and for normalizing, so members are read lazily."""

    __slots__ = ("arch", "data", "name", "pid", "syscall", "time_us")

    def __init__(self, record: Record) -> None:
        self.data = record.data
        self.time_us = record.time_us
        self.syscall: dict[str, Any] = self.data["SYSCALL"]
        self.pid = _pid(self.syscall.get("pid"))
        self.arch = architecture(self._text("ARCH") or self._text("arch"))
        self.name = self._call_name()

    def _text(self, name: str) -> str:
        value = self.syscall.get(name)
        return "" if value is None else str(value)

    def _call_name(self) -> str:
        written = self._text("SYSCALL") or self._text("syscall")
        has_execve = "EXECVE" in self.data
        return call_of(written, self._text("arch"), self.argument(0), has_execve=has_execve)

    def argument(self, position: int) -> int:
        """Returns one of the first four arguments; 0 if absent."""
        given = self.syscall.get("ARGV")
        if not isinstance(given, list):
            return hexadecimal(self._text(f"a{position}"))
        return hexadecimal(str(given[position])) if position < len(given) else 0

    @property
    def ppid(self) -> int:
        return _pid(self.syscall.get("ppid"))

    @property
    def path(self) -> str:
        return self._text("exe")

    @property
    def succeeded(self) -> bool:
        return self._text("success") in {"yes", "true", "1"}

    @property
    def uid(self) -> str:
        return self._text("uid")

    @property
    def username(self) -> str:
        name = self._text("UID")
        return "" if name == "unset" or name.startswith("unknown(") else name

    @property
    def exit(self) -> str:
        return self._text("exit")

    @property
    def cwd(self) -> str:
        holder = self.data.get("CWD")
        return str(holder.get("cwd") or "") if isinstance(holder, dict) else str(holder or "")

    @property
    def paths(self) -> list[dict[str, Any]]:
        found = self.data.get("PATH") or []
        return [path for path in found if isinstance(path, dict)]

    @property
    def cmdline(self) -> str:
        execve = self.data.get("EXECVE") or {}
        if execve.get("cmdline"):
            return str(execve["cmdline"])
        title = self.data.get("PROCTITLE") or {}
        argv = execve.get("ARGV") or title.get("ARGV") or []
        return " ".join(str(argument) for argument in argv)

    def process(self, ctx: HostContext) -> ProcessState:
        """Returns the calling process, by laurel's event id of its start, else by pid and time."""
        return _instance(ctx, self.syscall.get("PID"), self.pid) or process_at(
            ctx, self.pid, self.time_us, self.path
        )

    def parent(self, ctx: HostContext) -> ProcessState | None:
        if not self.ppid:
            return None
        return _instance(ctx, self.syscall.get("PPID"), self.ppid) or process_at(
            ctx, self.ppid, self.time_us, _member_text(self.syscall.get("PPID"), "exe")
        )


def _instance(ctx: HostContext, holder: Any, pid: int) -> ProcessState | None:
    start_us, _ = event_key(_member_text(holder, "EVENT_ID"))
    return ctx.started(pid, start_us) if start_us else None


def _member_text(holder: Any, name: str) -> str:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


def _pid(value: Any) -> int:
    if type(value) is int and 0 <= value < 1 << 32:
        return value
    return 0 if value is None else number(str(value))


# --- learning ---------------------------------------------------------------------------


def learn(record: Record, ctx: HostContext) -> None:
    """Adds starts, ends, names and paths of processes to the host context."""
    if not isinstance(record.data.get("SYSCALL"), dict):
        return
    try:
        _learn(_Call(record), ctx)
    except WRONG_TYPE:
        return


def _learn(call: _Call, ctx: HostContext) -> None:
    _learn_named(call, ctx, "PPID", call.ppid, "")
    if call.name in _STARTS and call.succeeded:
        path = _image_path(call)
        learn_executed(ctx, call.pid, call.time_us, path, call.username, call.ppid)
        return
    _learn_named(call, ctx, "PID", call.pid, call.username)
    if _forks(call):
        started = ctx.started(number(call.exit), call.time_us)
        started.learn(path=call.path, username=call.username)
        started.learn_parent(call.pid, call.path)
    elif call.name == "exit_group":
        ctx.learn_end(call.pid, call.time_us)


def _learn_named(call: _Call, ctx: HostContext, name: str, pid: int, username: str) -> None:
    """Adds the process (`PID`) or its parent (`PPID`) to the context, by laurel's event id if
    present, else by pid."""
    if not pid:
        return
    holder = call.syscall.get(name)
    path = _member_text(holder, "exe") or (call.path if name == "PID" else "")
    known = _instance(ctx, holder, pid)
    if known is None:
        mention(ctx, pid, call.time_us, path, username)
    else:
        known.learn(path="" if known.path else path, username=username)


def _forks(call: _Call) -> bool:
    """Whether the call created a process. Excludes clone3: its flags are not in the arguments, and
    most of its calls create threads."""
    if call.name not in {"clone", "clone2", "fork", "vfork"}:
        return False
    if not call.succeeded or number(call.exit) == 0:
        return False
    flags = call.argument(1 if call.arch in _STACK_FIRST else 0)
    return not call.name.startswith("clone") or not flags & _CLONE_THREAD


def _image_path(call: _Call) -> str:
    """Returns the path of the executed image: `exe`, which is the interpreter if PATH names a
    script."""
    if call.path.startswith("/"):
        return call.path
    first = next((path for path in call.paths if path.get("nametype") == "NORMAL"), None)
    return joined(call.cwd, str(first.get("name") or "")) if first else call.path


# --- making -----------------------------------------------------------------------------


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record; [] if the record is not kept."""
    if isinstance(record.data.get("SYSCALL"), dict):
        try:
            call = _Call(record)
            make = _MAKE.get(call.name)
            if make is not None:
                return make(call, ctx)
        except WRONG_TYPE:
            pass
    return kept_or_not(record, record.data, keep)


def _exec(call: _Call, ctx: HostContext) -> list[Outcome]:
    if not call.succeeded:
        return []
    known = ctx.started(call.pid, call.time_us)
    parent = call.parent(ctx)
    extra = {"uid": call.uid, "current_directory": call.cwd}
    facts = start_facts(
        known, call.time_us, cmdline=call.cmdline, parent=parent, parent_pid=call.ppid, extra=extra
    )
    return executed(ctx, known, facts, call.time_us, parent=parent, parent_pid=call.ppid)


def _fork(call: _Call, ctx: HostContext) -> list[Outcome]:
    if not _forks(call):
        return []
    parent = call.process(ctx)
    forked = ctx.started(number(call.exit), call.time_us)
    return with_metadata(child(parent, forked, call.time_us, ChildKind.FORK), of=(parent,))


def _exit(call: _Call, ctx: HostContext) -> list[Outcome]:
    known = call.process(ctx)
    status = str(call.argument(0))
    out: list[Outcome] = [end_facts(known, call.time_us, status)]
    parent = call.parent(ctx)
    if parent is not None:
        kind = ChildKind.OTHER_EXEC if known.created else ChildKind.FORK
        out.append(child(parent, known, call.time_us, kind, started=False))
    return with_metadata(*out, of=(known,))


def _connection(call: _Call, ctx: HostContext) -> list[Outcome]:
    if not (call.succeeded or (call.name == "connect" and call.exit in _IN_PROGRESS)):
        return []
    address, port = _peer(call)
    if address == UNKNOWN_IP and port == 0:
        return []
    known = call.process(ctx)
    protocol = UDP if call.name.startswith("send") or port in _UDP_PORTS else TCP
    own, peer = (UNKNOWN_IP, 0), (address, port)
    if call.name == "bind":
        own, peer = peer, own
        ctx.learn_local(address)
    outbound = call.name in {"connect", "sendto", "sendmsg"}
    event = Netconn(known.id, call.time_us, int(outbound), protocol, *own, *peer)
    event.domain = ctx.name_of(event.remote_ip, call.time_us)
    return with_metadata(event, of=(known,))


def _peer(call: _Call) -> tuple[bytes, int]:
    """Returns address and port of the socket; UNKNOWN_IP for families other than inet and inet6."""
    sockets = call.data.get("SOCKADDR") or []
    for holder in [sockets] if isinstance(sockets, dict) else sockets:
        saddr = holder.get("SADDR")
        if isinstance(saddr, dict) and saddr.get("saddr_fam") in {"inet", "inet6"}:
            address = pack_address(str(saddr.get("addr") or ""))
            return address, number(str(saddr.get("port") or ""), 1 << 16)
    return UNKNOWN_IP, 0


def _files(call: _Call, ctx: HostContext) -> list[Outcome]:
    """Returns the file events of a call, from the name type that the kernel assigns to each path:
    created, deleted, or opened for writing."""
    if not call.succeeded:
        return []
    known = call.process(ctx)
    parents = [
        str(path.get("name") or "") for path in call.paths if path.get("nametype") == "PARENT"
    ]
    out: list[Outcome] = []
    for path in call.paths:
        operation = _file_operation(call, str(path.get("nametype") or ""))
        if operation:
            full = joined(_base(call.cwd, parents), str(path.get("name") or ""))
            out.append(filemod(known, call.time_us, operation, full))
    return with_metadata(*out, of=(known,)) if out else []


def _base(cwd: str, parents: list[str]) -> str:
    """Returns the base directory of relative paths: the absolute parent that calls with a directory
    handle name, else the working directory."""
    absolute = [parent for parent in parents if parent.startswith("/")]
    return absolute[0] if absolute else cwd


def _file_operation(call: _Call, nametype: str) -> int:
    if nametype == "CREATE":
        return FileOperation.CREATED
    if nametype == "DELETE":
        return FileOperation.DELETED
    if nametype == "NORMAL" and _writes(call):
        return FileOperation.FIRST_WRITE
    return 0


def _writes(call: _Call) -> bool:
    flags = _OTHER_WRITE_FLAGS.get(call.arch, _WRITE_FLAGS)
    match call.name:
        case "open":
            return bool(call.argument(1) & flags)
        case "openat" | "open_by_handle_at":
            return bool(call.argument(2) & flags)
        case "creat" | "truncate" | "truncate64" | "ftruncate" | "ftruncate64":
            return True
        case _:
            return False


def _memory(call: _Call, ctx: HostContext) -> list[Outcome]:
    """Converts a ptrace attach, or a write to the memory of another process."""
    if not call.succeeded:
        return []
    if call.name == "ptrace":
        if call.argument(0) not in _PTRACE_OPENS:
            return []
        target_pid = call.argument(1)
    else:
        target_pid = call.argument(0)
    known = call.process(ctx)
    target = process_at(ctx, target_pid & 0xFFFFFFFF, call.time_us)
    opened = Crossproc(
        known.id,
        call.time_us,
        CrossKind.PROCESS_OPEN,
        target.id,
        target.path,
        target.md5,
        target.sha256,
        subtype=1,
        access=_VM_ACCESS,
    )
    suffered = Crossproc(
        target.id,
        call.time_us,
        CrossKind.PROCESS_OPEN,
        known.id,
        known.path,
        known.md5,
        known.sha256,
        subtype=1,
        access=_VM_ACCESS,
        is_target=1,
    )
    return with_metadata(opened, suffered, of=(known, target))


def _module(call: _Call, ctx: HostContext) -> list[Outcome]:
    """Converts the load of a kernel module by a process."""
    if not call.succeeded:
        return []
    known = call.process(ctx)
    named = [str(path.get("name") or "") for path in call.paths if path.get("nametype") == "NORMAL"]
    path = joined(call.cwd, named[0]) if named else ""
    module = call.data.get("KERN_MODULE") or {}
    if isinstance(module, list):
        module = module[0]
    path = path or str(module.get("name") or "")
    return with_metadata(Modload(known.id, call.time_us, path), of=(known,)) if path else []


_Make = Callable[[_Call, HostContext], list[Outcome]]

_MAKE: dict[str, _Make] = {
    "execve": _exec,
    "execveat": _exec,
    "clone": _fork,
    "clone2": _fork,
    "fork": _fork,
    "vfork": _fork,
    "exit_group": _exit,
    **dict.fromkeys(("connect", "accept", "accept4", "bind", "sendto", "sendmsg"), _connection),
    **dict.fromkeys(("open", "openat", "openat2", "open_by_handle_at", "creat"), _files),
    **dict.fromkeys(("truncate", "ftruncate", "truncate64", "ftruncate64"), _files),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), _files),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat"), _files),
    **dict.fromkeys(("symlink", "symlinkat", "mkdir", "mkdirat", "mknod", "mknodat"), _files),
    "ptrace": _memory,
    "process_vm_writev": _memory,
    "finit_module": _module,
    "init_module": _module,
}
"""Function that creates the events of each system call
(docs/telemetry-events.md)."""

NORMALISER = Normaliser(learn, normalise)
