"""Events of senders that do not use Sysmon's names: Linux audit, osquery, Tetragon, Santa, Endpoint
Security and our own sensor. They are made of what normalising made of a record, so every sender of
a kind of event shares the same view.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from vedette.detect.views.event import Event, Lookup, no_lookup, text_of
from vedette.ingest.decode.audit_tables import call_name
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
)

Known = Callable[[str], Lookup]
"""What is known of a process, by its id."""

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
"""Sysmon's names of the metadata of a new process."""


def nothing_known(_process_id: str) -> Lookup:
    """For events whose processes are not looked up."""
    return no_lookup


def events_of_outcomes(
    record: Record, outcomes: Iterable[Outcome], product: str, known: Known = nothing_known
) -> Iterator[Event]:
    """The events of one record. `product` is `linux`, `macos` or `windows`."""
    for outcome in outcomes:
        made = event_data(outcome)
        if made is None:
            continue
        category, process_id, data = made
        sources = (f"{product}/{category}", f"{product}//")
        yield Event(sources, data, outcome.time_us, process_id, known(process_id))
    if record.vedette_record == "auditd":
        yield from _audit_events(record)


def event_data(outcome: Outcome) -> tuple[str, str, Mapping[str, Any]] | None:
    """Category, acting process and values of one outcome; None for what rules do not ask about."""
    match outcome:
        case Facts(process_id=actor, values=values) if values.get("creation_observed"):
            data = {name: values[column] for name, column in _CREATION.items() if column in values}
            return "process_creation", actor, data
        case Filemod(process_id=actor, operation=FileOperation.DELETED, path=path):
            return "file_delete", actor, {"TargetFilename": path}
        case Filemod(process_id=actor, path=path):
            # Sysmon reports a file that is created or overwritten; so is one that is written to.
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
    """A connection with the side that began it as source."""
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
    """One event for each audit record of an event: rules ask for their type and raw members."""
    for kind, members in record.data.items():
        for one in members if isinstance(members, list) else (members,):
            if isinstance(one, dict):
                data = {"type": kind, **_flat(one)}
                yield Event(("linux//auditd", "linux//"), data, record.time_us)


def _flat(members: Mapping[str, Any]) -> dict[str, Any]:
    """Members of an audit record; the arguments of EXECVE as `a0`, `a1` and so on."""
    arguments = members.get("ARGV")
    flat = {name: value for name, value in members.items() if name != "ARGV"}
    if isinstance(arguments, list):
        flat |= {f"a{place}": value for place, value in enumerate(arguments)}
    number = members.get("syscall")
    if number is not None and "SYSCALL" not in flat:
        flat["SYSCALL"] = _call(text_of(number), text_of(members.get("arch", "")))
    return flat


def _call(number: str, architecture: str) -> str:
    """Name of a system call, which the kernel writes as a number."""
    return call_name(number, architecture) or _MORE_CALLS.get(number, "")


_MORE_CALLS: Final = {
    **{"41": "socket", "50": "listen", "90": "chmod", "92": "chown", "99": "sysinfo"},
    **{"103": "syslog", "105": "setuid", "135": "personality", "165": "mount"},
    **{"268": "fchmodat", "272": "unshare", "308": "setns", "319": "memfd_create", "321": "bpf"},
}
"""System calls of x86-64 that rules ask for and normalising does not."""
