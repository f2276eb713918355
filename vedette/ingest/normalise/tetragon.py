"""Normaliser of Tetragon.

`exec_id` identifies a process, and every event contains its pid and start time, so no event depends
on earlier ones. Kernel probes follow the user's policy: probes on connections, files and modules
yield process events, others records.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.decode.shipper import member
from vedette.ingest.hashes import Hashes, hashes_of
from vedette.ingest.normalise.network import TCP, UDP, protocol_number
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    WRONG_TYPE,
    child,
    end_facts,
    filemod,
    kept_or_not,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import number
from vedette.ingest.record import Record
from vedette.ingest.times import any_time_us
from vedette.model.address import pack_address
from vedette.model.event import (
    UNKNOWN_IP,
    BinarySeen,
    ChildKind,
    FileOperation,
    Modload,
    Netconn,
    Outcome,
)

_WRITE_MASK = 0x2
_EXECUTABLE_MAPPING = 0x4


def _known(holder: Any, ctx: HostContext) -> ProcessState | None:
    """Returns the process of an event; None if absent (parent of the first process)."""
    if not isinstance(holder, dict) or not holder.get("pid"):
        return None
    pid, start_us = number(holder["pid"]), any_time_us(holder.get("start_time"))
    exec_id = holder.get("exec_id")
    if not start_us:
        return ctx.named(str(exec_id)) or ctx.mention(pid, str(holder.get("binary") or ""))
    return ctx.by_key(str(exec_id), pid, start_us) if exec_id else ctx.started(pid, start_us)


def learn(record: Record, ctx: HostContext) -> None:
    """Adds names of processes and the host's addresses to the host context."""
    try:
        event = record.data["event"]
        for holder in (event.get("process"), event.get("parent")):
            known = _known(holder, ctx)
            if known is not None:
                known.learn(path=str(holder.get("binary") or ""))
    except WRONG_TYPE:
        return


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record; [] if the record is not kept."""
    try:
        event = record.data["event"]
        known = _known(event["process"], ctx)
        make = _MAKE.get(record.data["kind"])
        if make is not None and known is not None:
            made = make(event, known, ctx, record.time_us)
            if made is not None:
                return made
            about = _measured(event, known, record.time_us)
            return [*about, *kept_or_not(record, record.data, keep)]
    except WRONG_TYPE:
        pass
    return kept_or_not(record, record.data, keep)


def _cmdline(holder: Any) -> str:
    return f"{holder.get('binary') or ''} {holder.get('arguments') or ''}".strip()


def _exec(event: Any, known: ProcessState, ctx: HostContext, time_us: int) -> list[Outcome]:
    process, parent = event["process"], _known(event.get("parent"), ctx)
    flags = str(process.get("flags") or "")
    extra = {
        "uid": str(process.get("uid", "")),
        "current_directory": str(process.get("cwd") or ""),
        "parent_cmdline": _cmdline(event.get("parent") or {}),
    }
    cmdline = _cmdline(process)
    facts = start_facts(known, time_us, cmdline=cmdline, parent=parent, extra=extra)
    if "procFS" in flags:  # the process ran before Tetragon started
        del facts.values["creation_observed"]
        return with_metadata(facts, of=(known, *((parent,) if parent else ())))
    out: list[Outcome] = [facts]
    if parent is not None and parent.pid == known.pid:
        out.append(child(parent, known, time_us, ChildKind.EXEC, cmdline=cmdline))
        out.append(end_facts(parent, time_us))
    elif parent is not None:
        out.append(child(parent, known, time_us, ChildKind.OTHER_EXEC, cmdline=cmdline))
    known.is_reported = True
    return with_metadata(*out, of=(parent,) if parent else ())


def _exit(event: Any, known: ProcessState, ctx: HostContext, time_us: int) -> list[Outcome]:
    status = event.get("signal") or event.get("status")
    out: list[Outcome] = [end_facts(known, time_us, "" if status is None else str(status))]
    parent = _known(event.get("parent"), ctx)
    if parent is not None:
        out.append(child(parent, known, time_us, ChildKind.OTHER_EXEC, started=False))
        parent.report(out)
    return with_metadata(*out, of=(known,))


def _loader(
    event: Any, known: ProcessState, _ctx: HostContext, time_us: int
) -> list[Outcome] | None:
    path = event.get("path")
    return with_metadata(Modload(known.id, time_us, str(path)), of=(known,)) if path else None


def _probe(event: Any, known: ProcessState, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    """Returns events of a kernel probe; None if it maps to no event kind."""
    name = str(event.get("function_name") or "").removeprefix("bpf_lsm_")
    if name not in _PROBES:  # names of LSM hooks lack the prefix
        name = f"security_{name}"
    make = _PROBES.get(name)
    made = make(known, _arguments(event), ctx, time_us, name) if make else None
    hashes = _ima_hashes(event)
    for loaded in made or ():
        if isinstance(loaded, Modload):
            loaded.sha256, loaded.sha1 = hashes.sha256, hashes.sha1
    return made


def _arguments(event: Any) -> list[dict[str, Any]]:
    return [argument for argument in event.get("args") or [] if isinstance(argument, dict)]


_Arguments = list[dict[str, Any]]


def _ima_hashes(event: Any) -> Hashes:
    """Returns the hash of the file of an LSM hook with `imaHash`: `sha256:...` or `sha1:...`."""
    return hashes_of(str(event.get("ima_hash") or "").replace(":", "="))


def _measured(event: Any, known: ProcessState, time_us: int) -> list[Outcome]:
    """Returns the program that is about to be executed, if the policy has its hash measured."""
    hashes = _ima_hashes(event)
    file = _argument(_arguments(event), "linux_binprm_arg")
    path = member(file, ("path",))
    if not hashes.any_known() or not path:
        return []
    image = {"is_executable_image": "1"}
    seen = BinarySeen(time_us, hashes.md5, hashes.sha256, hashes.sha1, str(path), image)
    return with_metadata(seen, of=(known,))


def _argument(arguments: _Arguments, *names: str) -> Any:
    for argument in arguments:
        for name in names:
            if name in argument:
                return argument[name]
    return None


def _connection(
    known: ProcessState, arguments: _Arguments, ctx: HostContext, time_us: int, name: str
) -> list[Outcome] | None:
    sock = _argument(arguments, "sock_arg", "skb_arg", "sockaddr_arg")
    if not isinstance(sock, dict):
        return None
    outbound = "accept" not in name
    source = pack_address(str(sock.get("saddr") or "")), number(sock.get("sport"), 1 << 16)
    target = (
        pack_address(str(sock.get("daddr") or sock.get("addr") or "")),
        number(sock.get("dport") or sock.get("port"), 1 << 16),
    )
    if target[0] == UNKNOWN_IP:
        return None
    ctx.learn_local(source[0])
    protocol = protocol_number(str(sock.get("protocol") or "").removeprefix("IPPROTO_"))
    protocol = protocol or (UDP if "udp" in name else TCP)
    domain = ctx.name_of(target[0], time_us)
    event = Netconn(known.id, time_us, int(outbound), protocol, *source, *target, domain)
    return with_metadata(event, of=(known,))


def _file(
    known: ProcessState, arguments: _Arguments, _ctx: HostContext, time_us: int, name: str
) -> list[Outcome] | None:
    file = _argument(arguments, "file_arg", "path_arg")
    path = str(file.get("path") or "") if isinstance(file, dict) else ""
    path = path or str(_argument(arguments, "string_arg") or "")
    operation = _FILE_OPERATIONS.get(name, 0)
    if name == "security_file_permission":
        mask = number(_argument(arguments, "int_arg"))
        operation = FileOperation.FIRST_WRITE if mask & _WRITE_MASK else 0
    if name == "security_mmap_file":
        mask = number(_argument(arguments, "uint_arg", "int_arg"))
        executable = mask & _EXECUTABLE_MAPPING and path
        return with_metadata(Modload(known.id, time_us, path), of=(known,)) if executable else None
    if not path or not operation:
        return None
    return with_metadata(filemod(known, time_us, operation, path), of=(known,))


_FILE_OPERATIONS: dict[str, int] = {
    "security_path_truncate": FileOperation.FIRST_WRITE,
    "security_file_truncate": FileOperation.FIRST_WRITE,
    "security_path_unlink": FileOperation.DELETED,
    "security_inode_unlink": FileOperation.DELETED,
    "security_path_rmdir": FileOperation.DELETED,
    "security_path_mknod": FileOperation.CREATED,
    "security_path_mkdir": FileOperation.CREATED,
    "security_inode_create": FileOperation.CREATED,
}

_Probe = Callable[[ProcessState, _Arguments, HostContext, int, str], list[Outcome] | None]

_PROBES: dict[str, _Probe] = {
    **dict.fromkeys(
        ("tcp_connect", "tcp_v4_connect", "tcp_v6_connect", "security_socket_connect"), _connection
    ),
    **dict.fromkeys(("udp_sendmsg", "udpv6_sendmsg", "inet_csk_accept"), _connection),
    **dict.fromkeys(("security_file_permission", "security_mmap_file"), _file),
    **dict.fromkeys(_FILE_OPERATIONS, _file),
}

_Make = Callable[[Any, ProcessState, HostContext, int], list[Outcome] | None]

_MAKE: dict[str, _Make] = {
    "process_exec": _exec,
    "process_exit": _exit,
    "process_loader": _loader,
    "process_kprobe": _probe,
    "process_lsm": _probe,
}

NORMALISER = Normaliser(learn, normalise)
