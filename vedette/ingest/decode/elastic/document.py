"""Converts ECS objects to parts of an endpoint event.

Members may be scalars or lists of scalars: pipelines and exports write both.
"""

import binascii
import re
from base64 import b64decode
from typing import Any

from vedette.ingest.adapters import adapters_of
from vedette.ingest.decode import shipper
from vedette.ingest.decode.elastic.member import member, value_at
from vedette.ingest.decode.endpoint import (
    INTEGRITY_LEVELS,
    Part,
    System,
    hashes_text,
    make_process,
)
from vedette.ingest.decode.eventlog import integer, text
from vedette.ingest.record import Record
from vedette.limits import ENDPOINT_ADDRESSES_MAX, ENDPOINT_ARGUMENTS_MAX, ENDPOINT_KEY_CHARS_MAX
from vedette.model.event import FileOperation, RegistryOperation
from vedette.model.ids import FILETIME_EPOCH_US

_SYSTEMS: dict[str, System] = {
    "windows": "windows",
    "linux": "linux",
    "macos": "osx",
    "darwin": "osx",
}
_ENTITY = re.compile(r"[0-9a-f-]{36}-(\d{1,10})-(\d{11})\.(\d{6})\d{0,3}")
"""Agent, pid, and start in seconds since 1601."""


def texts_at(obj: Any, *path: str) -> frozenset[str]:
    """Returns the texts at a path, from a scalar or a list, in lower case."""
    value = member(obj, path)
    values = value[:ENDPOINT_ARGUMENTS_MAX] if isinstance(value, list) else [value]
    return frozenset(one.lower() for one in values if isinstance(one, str))


def list_at(obj: Any, *path: str) -> list[str]:
    """Returns the scalars at a path as texts, from a scalar or a list."""
    value = member(obj, path)
    values = value[:ENDPOINT_ARGUMENTS_MAX] if isinstance(value, list) else [value]
    return [written for one in values if (written := text(one))]


def system_of(obj: Any) -> System:
    for name in ("type", "family", "platform"):
        found = _SYSTEMS.get(text(value_at(obj, "host", "os", name)).lower())
        if found:
            return found
    # Auditbeat names the distribution: `platform: ubuntu`.
    return "linux" if text(value_at(obj, "host", "os", "kernel")) else ""


def account_of(user: Any) -> str:
    r"""Returns `DOMAIN\name`, or the name alone."""
    name, domain = text(value_at(user, "name")), text(value_at(user, "domain"))
    return f"{domain}\\{name}" if domain and name else name


def process_of(holder: Any, user: Any = None) -> Part:
    """Converts a process object. `user` is the object of its account if that is separate."""
    pid, key = value_at(holder, "pid"), text(value_at(holder, "entity_id"))
    arguments = list_at(holder, "args")
    level = text(value_at(holder, "Ext", "token", "integrity_level_name")).lower()
    owner = user if user is not None else member(holder, ("user",))
    return make_process(
        pid,
        value_at(holder, "executable"),
        value_at(holder, "command_line") or " ".join(arguments),
        key=key,
        start=value_at(holder, "start") or start_of_entity(key, integer(pid)) or None,
        cwd=text(value_at(holder, "working_directory")),
        user=account_of(owner),
        uid=text(value_at(owner, "id")),
        hashes=hashes_text(_scalars(member(holder, ("hash",)))),
        integrity=INTEGRITY_LEVELS.get(level, ""),
        logon_id=text(value_at(holder, "Ext", "authentication_id")),
        exit_code=_number_text(value_at(holder, "exit_code")),
        **image_of(holder),
    )


def image_of(holder: Any) -> Part:
    """Returns version and signature of the file of a process or module."""
    return {
        "original_name": text(value_at(holder, "pe", "original_file_name")),
        "file_version": text(value_at(holder, "pe", "file_version")),
        "company": text(value_at(holder, "pe", "company")),
        "product": text(value_at(holder, "pe", "product")),
        "description": text(value_at(holder, "pe", "description")),
        "imphash": text(value_at(holder, "pe", "imphash")),
        "signature": _signature(member(holder, ("code_signature",))),
        "publisher": text(value_at(holder, "code_signature", "subject_name")),
    }


def _scalars(holder: Any) -> Any:
    return {name: value_at(holder, name) for name in holder} if isinstance(holder, dict) else None


def _number_text(value: Any) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _signature(signature: Any) -> str:
    """Returns the result of a signature check, one of `field.SIGN_RESULTS`; "" if there was
    none."""
    if isinstance(signature, list):
        signature = signature[0] if signature else None
    if not isinstance(signature, dict):
        return ""
    if signature.get("exists") is False:
        return "Unsigned"
    if signature.get("trusted") is True or signature.get("status") == "trusted":
        return "Signed"
    status = text(signature.get("status")).lower()
    if "expired" in status:
        return "Expired"
    if "revoked" in status:
        return "Explicit Distrust"
    return "Bad Signature" if status else ""


def start_of_entity(key: str, pid: int) -> int:
    """Returns the start (epoch microseconds) that Elastic Defend encodes in `entity_id`; 0 if the
    id has another form or another pid."""
    if not 0 < len(key) <= ENDPOINT_KEY_CHARS_MAX or len(key) % 4:
        return 0
    try:
        found = _ENTITY.fullmatch(b64decode(key, validate=True).decode("ascii"))
    except (binascii.Error, ValueError):
        return 0
    if found is None or int(found[1]) != pid:
        return 0
    return max(int(found[2]) * 1_000_000 + int(found[3]) - FILETIME_EPOCH_US, 0)


_FILE_ACTIONS: dict[str, int] = {
    **dict.fromkeys(("creation", "create", "created"), FileOperation.CREATED),
    **dict.fromkeys(
        ("modification", "overwrite", "write", "updated", "modified"), FileOperation.FIRST_WRITE
    ),
    **dict.fromkeys(("deletion", "delete", "deleted"), FileOperation.DELETED),
}
RENAMES = frozenset({"rename", "renamed", "moved"})


def file_operation(actions: frozenset[str]) -> int:
    """Returns the operation of a file event; 0 for accesses and attribute changes."""
    return max((_FILE_ACTIONS.get(action, 0) for action in actions), default=0)


def file_of(obj: Any, actions: frozenset[str]) -> Part:
    """Returns the details of a file event; {} if no content changes."""
    holder = member(obj, ("file",))
    old_path = text(value_at(holder, "Ext", "original", "path"))
    operation = file_operation(actions)
    path = text(value_at(holder, "path"))
    if not path or not (operation or (old_path and not RENAMES.isdisjoint(actions))):
        return {}
    hashes = member(holder, ("hash",)) or member(obj, ("hash",))
    return {
        "operation": operation or int(FileOperation.CREATED),
        "path": path,
        "old_path": "" if operation else old_path,
        "hashes": hashes_text(_scalars(hashes)),
    }


_KEY_ACTIONS: dict[str, int] = {
    "modification": RegistryOperation.WRITTEN,
    "creation": RegistryOperation.CREATED_KEY,
    "deletion": RegistryOperation.DELETED_KEY,
}


def registry_of(obj: Any, actions: frozenset[str]) -> Part:
    """Returns the details of a registry event; {} if nothing changes."""
    operation = max((_KEY_ACTIONS.get(action, 0) for action in actions), default=0)
    holder = member(obj, ("registry",))
    path = text(value_at(holder, "path"))
    if not operation or not path:
        return {}
    if operation == RegistryOperation.DELETED_KEY and text(value_at(holder, "value")):
        operation = RegistryOperation.DELETED_VALUE
    return {
        "operation": int(operation),
        "path": path,
        "value": "\n".join(list_at(holder, "data", "strings")),
    }


def module_of(holder: Any) -> Part:
    """Returns the details of a loaded library or driver; {} without a path."""
    path = text(value_at(holder, "path"))
    if not path:
        return {}
    hashes = hashes_text(_scalars(member(holder, ("hash",))))
    return {"path": path, "hashes": hashes, **image_of(holder)}


_OUTBOUND = frozenset({"egress", "outbound"})


def connection_of(obj: Any, *, outbound: bool) -> Part:
    """Returns the details of a connection; {} without a remote address."""
    source, destination = member(obj, ("source",)), member(obj, ("destination",))
    if not text(value_at(source, "ip")) or not text(value_at(destination, "ip")):
        return {}
    return {
        "outbound": outbound,
        "protocol": text(value_at(obj, "network", "transport")),
        "source_ip": text(value_at(source, "ip")),
        "source_port": integer(value_at(source, "port")),
        "source_name": text(value_at(source, "domain")),
        "destination_ip": text(value_at(destination, "ip")),
        "destination_port": integer(value_at(destination, "port")),
        "destination_name": text(value_at(destination, "domain")),
    }


def is_outbound(obj: Any) -> bool:
    return not _OUTBOUND.isdisjoint(texts_at(obj, "network", "direction"))


def query_of(obj: Any) -> Part:
    """Returns the details of a DNS query; {} without a name."""
    name = text(value_at(obj, "dns", "question", "name"))
    if not name:
        return {}
    answers = list_at(obj, "dns", "resolved_ip")
    if not answers:
        found = member(obj, ("dns", "answers"))
        answers = [
            text(member(answer, ("data",)))
            for answer in (found[:ENDPOINT_ADDRESSES_MAX] if isinstance(found, list) else [])
        ]
    status = integer(value_at(obj, "dns", "Ext", "status"))
    return {"name": name, "status": status, "answers": "".join(f"{one};" for one in answers if one)}


def host_of(obj: dict[str, Any]) -> str:
    return shipper.host_of({name: obj[name] for name in ("host", "agent") if name in obj})


def add_host(record: Record, obj: dict[str, Any]) -> Record:
    """Adds the addresses of the host to the record."""
    host = member(obj, ("host",))
    names = (member(host, ("name",)), member(host, ("hostname",)))
    record.adapters = adapters_of(record.host, names, member(host, ("ip",)), member(host, ("mac",)))
    record.data["addresses"] = list_at(host, "ip")[:ENDPOINT_ADDRESSES_MAX]
    return record
