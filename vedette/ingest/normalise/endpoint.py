"""Normaliser of endpoint agents whose decoders yield a common shape (`decode/endpoint.py`): Elastic
Defend, Auditbeat, Microsoft Defender, Wazuh.

A process is identified by its pid and start, by the agent's own key, or by pid and image alone.
Details of a wrong type yield no event: the record is then stored if `Keep` selects it.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.file_types import file_type_of
from vedette.ingest.hashes import Hashes, hashes_of
from vedette.ingest.normalise.network import netconn, protocol_number
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    WRONG_TYPE,
    child,
    end_facts,
    kept_or_not,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import free_text, known_text, number, registry_path
from vedette.ingest.record import Record
from vedette.limits import ENDPOINT_ADDRESSES_MAX
from vedette.model.address import pack_address
from vedette.model.event import (
    UNKNOWN_IP,
    ChildKind,
    Dnsquery,
    Facts,
    Filemod,
    FileOperation,
    Modload,
    Outcome,
    RegistryOperation,
    Regmod,
)
from vedette.model.metadata_rank import Rank

_STARTS = frozenset({"start", "seen", "fork"})


def learn(record: Record, ctx: HostContext) -> None:
    """Adds processes, images, addresses and names to the host context."""
    if record.adapters:
        ctx.adapters = record.adapters
    try:
        _learn(record, ctx)
    except WRONG_TYPE:
        return


def _learn(record: Record, ctx: HostContext) -> None:
    data, time_us = record.data, record.time_us
    for address in (data.get("addresses") or [])[:ENDPOINT_ADDRESSES_MAX]:
        packed = pack_address(address)
        if packed != UNKNOWN_IP:
            ctx.learn_local(packed)
    kind, process, parent = data["kind"], data["process"], data.get("parent") or {}
    if number(parent.get("pid")):
        _learn_process(parent, ctx, time_us)
    if number(process.get("pid")):
        known = _learn_process(process, ctx, time_us, begins=kind in _STARTS)
        if kind in _STARTS and kind != "fork":
            _learn_start(known, process, parent, data, ctx, time_us)
        elif kind == "end":
            ctx.learn_end(known.pid, time_us)
    if kind == "dns":
        query = data["dns"]
        for answer in known_text(query.get("answers")).split(";")[:ENDPOINT_ADDRESSES_MAX]:
            packed = pack_address(answer) if answer else UNKNOWN_IP
            if packed != UNKNOWN_IP:
                ctx.learn_answer(packed, known_text(query.get("name")), time_us)
    if kind == "module":
        _learn_image(data["module"], ctx, time_us)


def _learn_process(
    part: Any, ctx: HostContext, time_us: int, *, begins: bool = False
) -> ProcessState:
    """Registers a process as identified by an event."""
    pid, path = number(part.get("pid")), known_text(part.get("path"))
    known = _named(part, ctx, time_us if begins else 0)
    if known is None:
        known = ctx.find(pid, time_us, 0) or ctx.mention(pid, path)
        key = known_text(part.get("key"))
        if key and known.start_us:
            ctx.rename(key, known)
    rank = Rank.OTHER_CREATION if begins and known.keyed else Rank.OWN
    if path:
        ctx.learn_path(known, path, Rank.CREATION if begins and not known.keyed else rank)
    known.learn(username=known_text(part.get("user")), rank=rank)
    return known


def _named(part: Any, ctx: HostContext, begins_us: int) -> ProcessState | None:
    """Returns the process by its key, or by its pid and start. `begins_us` is the time of an event
    that is its start, else 0."""
    pid, key = number(part.get("pid")), known_text(part.get("key"))
    start_us = number(part.get("start_us"), 1 << 62) or begins_us
    if not start_us:
        known = ctx.named(key) if key else None
        return None if known is None else known.same_as or known
    return ctx.by_key(key, pid, start_us) if key else ctx.started(pid, start_us)


def _learn_start(
    known: ProcessState, process: Any, parent: Any, data: Any, ctx: HostContext, time_us: int
) -> None:
    hashes = hashes_of(known_text(process.get("hashes")))
    known.learn(md5=hashes.md5, sha256=hashes.sha256)
    known.learn_parent(number(parent.get("pid")), known_text(parent.get("path")))
    if data["kind"] == "start":
        known.created = known.created or not known.keyed
    _learn_image(process, ctx, time_us)


def _learn_image(part: Any, ctx: HostContext, time_us: int) -> Hashes:
    written, path = known_text(part.get("hashes")), known_text(part.get("path"))
    if not written or not path:
        return hashes_of(written)
    image = ctx.learn_image(path, written, time_us)
    image.learn(_image_values(part))
    return image.hashes


_IMAGE_COLUMNS = (
    ("file_version", "file_version"),
    ("file_desc", "description"),
    ("product_name", "product"),
    ("company_name", "company"),
    ("original_filename", "original_name"),
    ("digsig_publisher", "publisher"),
    ("digsig_result", "signature"),
    ("imphash", "imphash"),
)


def _image_values(part: Any) -> dict[str, str]:
    values = {column: known_text(part.get(name)) for column, name in _IMAGE_COLUMNS}
    values["is_executable_image"] = "1"
    return {column: value for column, value in values.items() if value}


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record; [] if the record is not kept."""
    data = record.data
    try:
        make = _MAKE.get(data["kind"])
        if make is not None:
            known = _process(data["process"], data["kind"], ctx, record.time_us)
            made = None if known is None else make(known, data, ctx, record.time_us)
            if made:
                return made
    except WRONG_TYPE:
        pass
    return kept_or_not(record, data.get("fields") or data, keep)


def _process(part: Any, kind: str, ctx: HostContext, time_us: int) -> ProcessState | None:
    pid = number(part.get("pid"))
    if not pid:
        return None
    known = _named(part, ctx, time_us if kind in _STARTS else 0)
    return known or ctx.of_image(pid, time_us, known_text(part.get("path")))


def _parent(data: Any, ctx: HostContext, time_us: int) -> ProcessState | None:
    part = data.get("parent") or {}
    return _process(part, "", ctx, time_us)


def _start(known: ProcessState, data: Any, ctx: HostContext, time_us: int) -> list[Outcome]:
    process, parent_part = data["process"], data.get("parent") or {}
    parent = _parent(data, ctx, time_us)
    hashes = hashes_of(known_text(process.get("hashes")))
    cmdline, parent_pid = known_text(process.get("cmdline")), number(parent_part.get("pid"))
    extra = {
        "uid": known_text(process.get("uid")),
        "current_directory": known_text(process.get("cwd")),
        "integrity_level": known_text(process.get("integrity")),
        "logon_id": known_text(process.get("logon_id")).lower(),
        "original_filename": known_text(process.get("original_name")),
        "parent_cmdline": known_text(parent_part.get("cmdline")),
    }
    facts = start_facts(
        known,
        time_us,
        cmdline=cmdline,
        parent=parent,
        parent_pid=parent_pid,
        hashes=hashes,
        extra=extra,
    )
    if data["kind"] == "seen":
        del facts.values["creation_observed"]
        out = with_metadata(facts, of=(known, *((parent,) if parent else ())))
    else:
        out = _started(known, facts, parent, data["os"] == "windows", ctx, time_us)
    _report_image(process, ctx, time_us, out)
    return out


def _started(
    known: ProcessState,
    facts: Facts,
    parent: ProcessState | None,
    is_windows: bool,
    ctx: HostContext,
    time_us: int,
) -> list[Outcome]:
    """Returns the facts of a new process, and its start as an event of its parent or of the process
    that it replaces."""
    values = facts.values
    hashes = Hashes(str(values.get("process_md5", "")), str(values.get("process_sha256", "")))
    cmdline = str(values.get("cmdline", ""))
    known.is_reported = True  # reported by the facts
    out: list[Outcome] = [facts]
    before = None if is_windows else ctx.find(known.pid, time_us - 1, 0)
    if before is not None and before is not known and before.created:
        kind = ChildKind.EXEC
        out.append(child(before, known, time_us, kind, cmdline=cmdline, hashes=hashes))
        out.append(end_facts(before, time_us))
    elif parent is not None and not known.keyed:  # otherwise Sysmon reported the start
        kind = ChildKind.OTHER if is_windows else ChildKind.OTHER_EXEC
        out.append(child(parent, known, time_us, kind, cmdline=cmdline, hashes=hashes))
    if parent is not None:
        parent.report(out)
    return out


def _report_image(part: Any, ctx: HostContext, time_us: int, out: list[Outcome]) -> None:
    written, path = known_text(part.get("hashes")), known_text(part.get("path"))
    if written and path:
        ctx.learn_image(path, written, time_us).report(out)


def _fork(known: ProcessState, data: Any, ctx: HostContext, time_us: int) -> list[Outcome]:
    parent = _parent(data, ctx, time_us)
    if parent is None:
        return with_metadata(of=(known,))
    return with_metadata(child(parent, known, time_us, ChildKind.FORK), of=(parent, known))


def _end(known: ProcessState, data: Any, ctx: HostContext, time_us: int) -> list[Outcome]:
    out: list[Outcome] = [end_facts(known, time_us, known_text(data["process"].get("exit_code")))]
    parent = _parent(data, ctx, time_us)
    if parent is not None:
        kind = ChildKind.OTHER if data["os"] == "windows" else ChildKind.OTHER_EXEC
        out.append(child(parent, known, time_us, kind, started=False))
        parent.report(out)
    return with_metadata(*out, of=(known,))


def _file(known: ProcessState, data: Any, ctx: HostContext, time_us: int) -> list[Outcome]:
    part = data["file"]
    path, old_path = free_text(part.get("path")), free_text(part.get("old_path"))
    hashes = hashes_of(known_text(part.get("hashes")))
    out: list[Outcome] = []
    if old_path:
        kind = file_type_of(old_path)
        deleted = FileOperation.DELETED
        out.append(Filemod(known.id, time_us, deleted, old_path, file_type=kind))
    if path:
        out.append(
            Filemod(
                known.id,
                time_us,
                FileOperation(part["operation"]),
                path,
                hashes.md5 or ctx.md5_of(hashes.sha256),
                hashes.sha256,
                hashes.sha1,
                file_type_of(path),
            )
        )
    return with_metadata(*out, of=(known,)) if out else []


def _registry(known: ProcessState, data: Any, _ctx: HostContext, time_us: int) -> list[Outcome]:
    part = data["registry"]
    path, old_path = free_text(part.get("path")), free_text(part.get("old_path"))
    operation = RegistryOperation(part["operation"])
    value = free_text(part.get("value"))
    out: list[Outcome] = []
    if old_path:
        deleted = RegistryOperation.DELETED_KEY
        out.append(Regmod(known.id, time_us, deleted, registry_path(old_path)))
    if path:
        out.append(Regmod(known.id, time_us, operation, registry_path(path), value))
    return with_metadata(*out, of=(known,)) if out else []


def _module(known: ProcessState, data: Any, ctx: HostContext, time_us: int) -> list[Outcome]:
    part = data["module"]
    path = known_text(part.get("path"))
    if not path:
        return []
    hashes = hashes_of(known_text(part.get("hashes")))
    event = Modload(
        known.id,
        time_us,
        path,
        hashes.md5 or ctx.md5_of(hashes.sha256),
        hashes.sha256,
        hashes.sha1,
        known_text(part.get("signature")),
        known_text(part.get("publisher")),
    )
    out = with_metadata(event, of=(known,))
    _report_image(part, ctx, time_us, out)
    return out


def _connection(known: ProcessState, data: Any, ctx: HostContext, time_us: int) -> list[Outcome]:
    part = data["connection"]
    event = netconn(
        ctx,
        known.id,
        time_us,
        part.get("outbound") is True,
        protocol_number(known_text(part.get("protocol"))),
        (pack_address(known_text(part.get("source_ip"))), _port(part.get("source_port"))),
        (pack_address(known_text(part.get("destination_ip"))), _port(part.get("destination_port"))),
        known_text(part.get("source_name")),
        known_text(part.get("destination_name")),
    )
    return with_metadata(event, of=(known,))


def _port(value: Any) -> int:
    return number(value, 1 << 16)


def _query(known: ProcessState, data: Any, _ctx: HostContext, time_us: int) -> list[Outcome]:
    part = data["dns"]
    name = free_text(part.get("name"))
    event = Dnsquery(
        known.id, time_us, name, number(part.get("status")), known_text(part.get("answers"))
    )
    return with_metadata(event, of=(known,)) if name else []


_Make = Callable[[ProcessState, Any, HostContext, int], list[Outcome]]

_MAKE: dict[str, _Make] = {
    "start": _start,
    "seen": _start,
    "fork": _fork,
    "end": _end,
    "file": _file,
    "registry": _registry,
    "module": _module,
    "connection": _connection,
    "dns": _query,
}

NORMALISER = Normaliser(learn, normalise)
