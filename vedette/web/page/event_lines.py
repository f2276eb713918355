"""Describes an event in a line, and suggests an ingress filter for it."""

from typing import Final

from vedette.limits import INGRESS_PATTERN_CHARS_MAX
from vedette.model.address import address_text
from vedette.model.event import (
    UNKNOWN_IP,
    Childproc,
    CrossKind,
    Crossproc,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    ProcessEvent,
    Regmod,
)

_PROTOCOLS: Final = {6: "tcp", 17: "udp", 1: "icmp"}


def event_line(event: ProcessEvent) -> tuple[str, str]:
    """Returns verb and object of an event. The object is untrusted text from telemetry."""
    match event:
        case Filemod():
            names = {one.value: one.name.lower().replace("_", " ") for one in FileOperation}
            return names.get(event.operation, "file"), event.path
        case Modload():
            return "load", event.path
        case Regmod():
            return "registry", event.path
        case Netconn():
            return _connection(event)
        case Childproc():
            verb = "start" if event.started else "end"
            return verb, event.command_line or event.path
        case Crossproc():
            is_thread = event.kind == CrossKind.REMOTE_THREAD
            return "thread into" if is_thread else "open", event.path
        case _:
            return type(event).__name__.lower(), getattr(event, "path", "") or ""


def filter_terms(event: ProcessEvent, program: str) -> dict[str, str]:
    """Returns the initial form values of a new ingress filter for an event: the program, the kind
    of event, the file, key, address, module or process concerned, and the command line. Omits empty
    and overlong values."""
    value = _remote(event) if isinstance(event, Netconn) else getattr(event, "path", "")
    line = event.command_line if isinstance(event, Childproc) else ""
    kind = type(event).__name__.lower()
    terms = {"program": program, "kind": kind, "value": value, "line": line}
    return {name: one for name, one in terms.items() if 0 < len(one) < INGRESS_PATTERN_CHARS_MAX}


def _remote(event: Netconn) -> str:
    if event.domain:
        return event.domain
    address = "" if event.remote_ip == UNKNOWN_IP else address_text(event.remote_ip)
    return address and f"{address}:{event.remote_port}"


def _connection(event: Netconn) -> tuple[str, str]:
    address = "" if event.remote_ip == UNKNOWN_IP else address_text(event.remote_ip)
    protocol = _PROTOCOLS.get(event.protocol, str(event.protocol))
    remote = f"{address}:{event.remote_port}" if address else f"port {event.remote_port}"
    named = f"{event.domain} {remote}" if event.domain else remote
    return "connect" if event.outbound else "accept", f"{named} {protocol}"
