"""Decoder of Elastic Defend: documents with `event.module` "endpoint", or that `agent.type`.

`event.category`, `event.action` and `event.type` decide the kind of an event. Alerts, API events
and logons have no kind in the model.
"""

from typing import Any

from vedette.ingest.decode import shipper
from vedette.ingest.decode.elastic import document
from vedette.ingest.decode.elastic.document import texts_at
from vedette.ingest.decode.elastic.member import member
from vedette.ingest.decode.endpoint import Kind, Part, make_record, record_id_of
from vedette.ingest.record import Record

CHANNEL = "elastic_endpoint"

_MODULE = "endpoint"
_CONNECTIONS = {"connection_attempted": True, "connection_accepted": False}
"""Actions that start a connection, and whether this host initiated it."""


def recognises(obj: dict[str, Any]) -> bool:
    event = obj.get("event")
    if not isinstance(event, dict) or "winlog" in obj:
        return False
    if event.get("module") == _MODULE:
        return True
    return "module" not in event and member(obj, ("agent", "type")) == _MODULE


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, bad_process."""
    kind, details = _kind(obj)
    holder = member(obj, ("process",))
    record = make_record(
        document.host_of(obj) or shipper.host_of(obj),
        member(obj, ("@timestamp",)) or member(obj, ("event", "created")),
        CHANNEL,
        document.system_of(obj),
        kind,
        document.process_of(holder, member(obj, ("user",))),
        parent=document.process_of(member(holder, ("parent",))),
        record_id=record_id_of(member(obj, ("event", "id"))),
        **details,
    )
    return [document.add_host(record, obj)]


def _kind(obj: dict[str, Any]) -> tuple[Kind, Part]:
    """Returns the kind of the event and its details."""
    categories, actions = texts_at(obj, "event", "category"), texts_at(obj, "event", "action")
    if "alert" in texts_at(obj, "event", "kind"):
        return "", {}
    if "process" in categories:
        kind = process_kind(actions, texts_at(obj, "event", "type"))
        if kind:
            return kind, {}
    if "file" in categories and (file := document.file_of(obj, actions)):
        return "file", {"file": file}
    if "registry" in categories and (key := document.registry_of(obj, actions)):
        return "registry", {"registry": key}
    if categories & {"library", "driver"} and "load" in actions:
        module = document.module_of(member(obj, ("dll",)) or member(obj, ("file",)))
        if module:
            return "module", {"module": module}
    if categories & {"network", "dns"}:
        return _network_kind(obj, actions)
    return "", {}


def process_kind(actions: frozenset[str], types: frozenset[str]) -> Kind:
    if "fork" in actions:
        return "fork"
    if actions & {"already_running", "existing_process"}:
        return "seen"
    if "start" in types or actions & {"start", "exec", "process_started"}:
        return "start"
    return "end" if "end" in types or actions & {"end", "process_stopped"} else ""


def _network_kind(obj: dict[str, Any], actions: frozenset[str]) -> tuple[Kind, Part]:
    """Returns kind and details of a network event. Counts a connection once, at its start; a query
    when it is answered."""
    for action, outbound in _CONNECTIONS.items():
        if action in actions and (made := document.connection_of(obj, outbound=outbound)):
            return "connection", {"connection": made}
    if "lookup_result" in actions and (query := document.query_of(obj)):
        return "dns", {"dns": query}
    return "", {}
