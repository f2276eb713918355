"""Converts registry events of the model to Sysmon's form."""

from typing import Any, Final

from vedette.model.event import RegistryOperation, Regmod

_HIVES: Final = (("\\registry\\machine", "HKLM"), ("\\registry\\user", "HKU"))
_KEY_EVENTS: Final = {
    RegistryOperation.CREATED_KEY: ("CreateKey", 12, "registry_add"),
    RegistryOperation.WRITTEN: ("SetValue", 13, "registry_set"),
    RegistryOperation.DELETED_KEY: ("DeleteKey", 12, "registry_delete"),
    RegistryOperation.DELETED_VALUE: ("DeleteValue", 12, "registry_delete"),
}


def key_data(event: Regmod) -> tuple[tuple[str, ...], int, dict[str, Any]] | None:
    """Returns categories, Sysmon event id and values of a change; None for an unknown operation."""
    known = _KEY_EVENTS.get(RegistryOperation(event.operation))
    if known is None:
        return None
    verb, number, kind = known
    data = {"TargetObject": _hive(event.path), "EventType": verb, "Details": event.value}
    present = {name: value for name, value in data.items() if value}
    return ("registry_event", kind), number, present


def _hive(path: str) -> str:
    for kernel, name in _HIVES:
        if path.startswith(kernel):
            return name + path[len(kernel) :]
    return path
