"""Decodes JSON logs of applications that only rules and log search read: audit events of Kubernetes
and events of OpenCanary.

Nested members are flattened to dotted names, as rules write them (`objectRef.resource`).
"""

from typing import Any, Final

from vedette.ingest.decode import shipper
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us

AUDIT_MEMBER: Final = "auditID"
_AUDIT_API: Final = "audit.k8s.io/"
_CANARY: Final = frozenset({"dst_host", "logdata", "logtype", "node_id"})
_CANARY_TIMES: Final = ("utc_time", "local_time_adjusted", "local_time")
_ENVELOPE: Final = frozenset(
    {
        *(path[0] for path in shipper.HOST_MEMBERS),
        *("@timestamp", "kind", "apiVersion", "managedFields", "last-applied-configuration"),
    }
)
_SHORT: Final = {"objectRef.apiGroup": "apiGroup"}
_OF_OBJECTS: Final = ("hostPath", "capabilities")
"""Members of a requested object that rules name without their path."""


def recognises_audit(obj: dict[str, Any]) -> bool:
    version = obj.get("apiVersion")
    return isinstance(version, str) and version.startswith(_AUDIT_API) and AUDIT_MEMBER in obj


def decode_audit(obj: dict[str, Any]) -> list[Record]:
    """Returns the record of an audit event. Raises RecordError: no_host, no_time."""
    data = _flat(obj)
    data |= {short: data[name] for name, short in _SHORT.items() if name in data}
    for name in _OF_OBJECTS:
        found: list[str] = []
        _collect(obj.get("requestObject"), name, found)
        if found:
            data[name] = " ".join(found)
    times = (obj.get("requestReceivedTimestamp"), obj.get("stageTimestamp"))
    return [_record(obj, "kubernetes_audit", times, data)]


def recognises_canary(obj: dict[str, Any]) -> bool:
    return obj.keys() >= _CANARY


def decode_canary(obj: dict[str, Any]) -> list[Record]:
    """Returns the record of an event of OpenCanary. Raises RecordError: no_host, no_time."""
    data = _flat(obj)
    node = obj.get("node_id")
    host = {"hostname": node} if isinstance(node, str) and not shipper.host_of(obj) else {}
    return [_record(obj | host, "opencanary", tuple(obj.get(one) for one in _CANARY_TIMES), data)]


def _record(
    obj: dict[str, Any], channel: str, times: tuple[Any, ...], data: dict[str, str]
) -> Record:
    host = shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the event does not say which host it is from")
    time_us = next((found for one in times if (found := any_time_us(one))), shipper.time_of(obj))
    if not time_us:
        raise RecordError("no_time", "the event has no time")
    return Record("log", host, time_us, channel, data=dict(data))


def _flat(obj: dict[str, Any]) -> dict[str, str]:
    """Returns the values of an object by dotted name, lists joined by spaces."""
    texts: dict[str, list[str]] = {}
    _flatten(obj, "", texts)
    return {name: " ".join(some) for name, some in texts.items()}


def _flatten(value: Any, name: str, texts: dict[str, list[str]]) -> None:
    """Adds the values below a member. The nesting of records is limited before this."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if name or key not in _ENVELOPE:
                _flatten(inner, f"{name}.{key}" if name else str(key), texts)
    elif isinstance(value, list):
        for inner in value:
            _flatten(inner, name, texts)
    elif value is not None:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        texts.setdefault(name, []).append(text)


def _collect(value: Any, name: str, found: list[str]) -> None:
    """Adds the text of each member of this name below a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == name:
                below: dict[str, list[str]] = {}
                _flatten(inner, name, below)
                found.extend(" ".join(some) for some in below.values())
            else:
                _collect(inner, name, found)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, name, found)
