"""Views of events from senders without Sysmon's field names: Linux audit, osquery, Tetragon, Santa,
Endpoint Security, endpoint agents (also on Windows) and the Vedette sensor. They are built from
normalized outcomes, so all senders of a kind of event share a view."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from vedette.detect.views.event import Event, Lookup, no_lookup, text_of
from vedette.detect.views.registry import key_data
from vedette.ingest.decode.audit_calls import call_of, hexadecimal
from vedette.ingest.record import Record
from vedette.model.address import address_text
from vedette.model.event import (
    UNKNOWN_IP,
    Dnsquery,
    Facts,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    Outcome,
    Regmod,
)

Known = Callable[[str], Lookup]
"""Returns the metadata lookup of a process by its id."""

_PROTOCOLS: Final = {6: "tcp", 17: "udp"}
_CREATION: Final = {
    "Image": "path",
    "CommandLine": "cmdline",
    "User": "username",
    "CurrentDirectory": "current_directory",
    "ParentImage": "parent_path",
    "ParentCommandLine": "parent_cmdline",
    "ProcessId": "process_pid",
    "ParentProcessId": "parent_pid",
    "md5": "process_md5",
    "sha256": "process_sha256",
}
"""Maps Sysmon's field names to metadata columns of a new process."""


def nothing_known(_process_id: str) -> Lookup:
    """Default for events whose processes are not looked up."""
    return no_lookup


def events_of_outcomes(
    record: Record, outcomes: Iterable[Outcome], product: str, known: Known = nothing_known
) -> Iterator[Event]:
    """Yields the events of a record. `product` is `linux`, `macos` or `windows`."""
    for outcome in outcomes:
        if product == "windows" and isinstance(outcome, Regmod):
            key = key_data(outcome)
            if key is not None:
                sources = (*(f"windows/{one}" for one in key[0]), "windows//")
                actor = outcome.process_id
                yield Event(sources, key[2], outcome.time_us, actor, known(actor))
            continue
        made = event_data(outcome)
        if made is None:
            continue
        category, process_id, data = made
        if product == "windows":
            data = {**data, **_windows_data(outcome)}
        sources = (f"{product}/{category}", f"{product}//")
        yield Event(sources, data, outcome.time_us, process_id, known(process_id))
    if record.vedette_record == "auditd":
        yield from _audit_events(record)


_WINDOWS_CREATION: Final = {
    "IntegrityLevel": "integrity_level",
    "LogonId": "logon_id",
    "OriginalFileName": "original_filename",
    "sha1": "process_sha1",
}
_SIGNATURES: Final = {"Signed": "Valid", "Expired": "Expired", "Explicit Distrust": "Revoked"}


def _windows_data(outcome: Outcome) -> dict[str, Any]:
    """Returns further values for Windows rules: hashes in Sysmon's notation, and the signature of a
    module."""
    match outcome:
        case Facts(values=values):
            found = {
                name: values[column]
                for name, column in _WINDOWS_CREATION.items()
                if column in values
            }
            return found | _hashes(
                *(str(values.get(f"process_{name}", "")) for name in ("md5", "sha256", "sha1"))
            )
        case Filemod(md5=md5, sha256=sha256, sha1=sha1):
            return _hashes(md5, sha256, sha1)
        case Modload(md5=md5, sha256=sha256, sha1=sha1, digsig_result=result):
            data: dict[str, Any] = _hashes(md5, sha256, sha1)
            if result:
                data["Signed"] = "false" if result == "Unsigned" else "true"
                data["SignatureStatus"] = _SIGNATURES.get(result, "Unavailable")
                data["Signature"] = outcome.digsig_publisher
            return data
    return {}


def _hashes(md5: str, sha256: str, sha1: str) -> dict[str, Any]:
    named = (("MD5", md5), ("SHA256", sha256), ("SHA1", sha1))
    written = ",".join(f"{name}={value.upper()}" for name, value in named if value)
    if not written:
        return {}
    single = {name.lower(): value for name, value in named if value}
    return {"Hashes": written, **single}


def event_data(outcome: Outcome) -> tuple[str, str, Mapping[str, Any]] | None:
    """Returns category, acting process and values of an outcome; None if rules cannot test it."""
    match outcome:
        case Facts(process_id=actor, values=values) if values.get("creation_observed"):
            data = {name: values[column] for name, column in _CREATION.items() if column in values}
            return "process_creation", actor, data
        case Filemod(process_id=actor, operation=FileOperation.DELETED, path=path):
            return "file_delete", actor, {"TargetFilename": path}
        case Filemod(process_id=actor, path=path):
            # Sysmon reports created and overwritten files as events. Treat every write like those.
            return "file_event", actor, {"TargetFilename": path}
        case Modload(process_id=actor, path=path):
            return "image_load", actor, {"ImageLoaded": path}
        case Dnsquery(process_id=actor, name=name, answers=answers):
            data = {"QueryName": name, "QueryResults": answers, "query": name, "answer": answers}
            return "dns_query", actor, data
        case Netconn(process_id=actor):
            return "network_connection", actor, connection_data(outcome)
    return None


def connection_data(made: Netconn) -> dict[str, str]:
    """Returns a connection. The source is the side that initiated it."""
    local = (made.local_ip, made.local_port)
    remote = (made.remote_ip, made.remote_port)
    source, destination = (local, remote) if made.outbound else (remote, local)
    return {
        "Initiated": "true" if made.outbound else "false",
        "Protocol": _PROTOCOLS.get(made.protocol, str(made.protocol)),
        "SourceIp": _address(source[0]),
        "SourcePort": str(source[1]),
        "DestinationIp": _address(destination[0]),
        "DestinationPort": str(destination[1]),
        "DestinationHostname": made.domain if made.outbound else "",
    }


def _address(packed: bytes) -> str:
    return "" if packed == UNKNOWN_IP else address_text(packed)


def _audit_events(record: Record) -> Iterator[Event]:
    """Yields an event for each audit record of an event: rules test its type and raw members."""
    for kind, members in record.data.items():
        for one in members if isinstance(members, list) else (members,):
            if isinstance(one, dict):
                data = {"type": kind, **_flat(one, has_execve="EXECVE" in record.data)}
                yield Event(("linux//auditd", "linux//"), data, record.time_us)


def _flat(members: Mapping[str, Any], *, has_execve: bool) -> dict[str, Any]:
    """Returns members of an audit record, with the arguments of EXECVE as `a0`, `a1` and so on."""
    arguments = members.get("ARGV")
    flat = {name: value for name, value in members.items() if name != "ARGV"}
    if isinstance(arguments, list):
        flat |= {f"a{place}": value for place, value in enumerate(arguments)}
    number = members.get("syscall")
    if number is not None and "SYSCALL" not in flat:
        first = hexadecimal(text_of(members.get("a0", "")))
        arch = text_of(members.get("arch", ""))
        flat["SYSCALL"] = call_of(text_of(number), arch, first, has_execve=has_execve)
    return flat
