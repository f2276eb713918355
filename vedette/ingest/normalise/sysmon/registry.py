"""Registry events: Sysmon 12, 13, 14."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise.sysmon.subject import Data, subject_of, with_new_facts
from vedette.ingest.normalise.values import free_text, registry_path
from vedette.model.event import Outcome, RegistryOperation, Regmod

_REGISTRY_VERBS = {
    "CreateKey": RegistryOperation.CREATED_KEY,
    "DeleteKey": RegistryOperation.DELETED_KEY,
    "CreateValue": RegistryOperation.WRITTEN,
    "DeleteValue": RegistryOperation.DELETED_VALUE,
    "SetValue": RegistryOperation.WRITTEN,
}


_RECORDERS = ("\\services\\sysmon", "\\services\\eventlog\\")
"""Parts of the registry keys of services that record events: Sysmon, its driver with its rules, the
event log."""


def _tampers(path: str) -> int:
    """Returns 1 if a change of the key may be tampering with a service that records events, else
    0."""
    lower = path.lower()
    return int(any(part in lower for part in _RECORDERS))


def _registry_operation(data: Data, default: RegistryOperation) -> RegistryOperation:
    """Returns the operation of the event: from EventType, else from the message (NXLog), else the
    default of the event id (docs/telemetry-formats.md#real-world-data, fact 7)."""
    found = _REGISTRY_VERBS.get(data.get("EventType", ""))
    if found is not None:
        return found
    _, mark, rest = (data.get("Message") or "").partition("EventType: ")
    verb = rest[:32].split(None, 1)[:1] if mark else []
    return _REGISTRY_VERBS.get(verb[0], default) if verb else default


def key_changed(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    operation = _registry_operation(data, RegistryOperation.CREATED_KEY)
    path = registry_path(data.get("TargetObject") or "")
    event = Regmod(known.id, time_us, operation, path, tamper=_tampers(path))
    return with_new_facts(event, known)


def value_set(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    path = registry_path(data.get("TargetObject") or "")
    value = free_text(data.get("Details"))
    event = Regmod(known.id, time_us, RegistryOperation.WRITTEN, path, value, tamper=_tampers(path))
    return with_new_facts(event, known)


def key_renamed(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    old = registry_path(data.get("TargetObject") or "")
    new = registry_path(data.get("NewName") or "")
    out: list[Outcome] = [
        Regmod(known.id, time_us, RegistryOperation.DELETED_KEY, old, new, _tampers(old)),
        Regmod(known.id, time_us, RegistryOperation.CREATED_KEY, new, old, _tampers(new)),
    ]
    known.report(out)
    return out
