"""What rules may ask of an event's process, and of its parent, besides the event itself.

A selection holds within one event: a sender that writes the command line only when a process
starts still answers `CommandLine` for each of its later events. What names the *file* of the event
(hashes, the original file name) is the event's own, except where the event is the start of the
process.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from vedette.detect.views.event import Lookup, text_of

Facts = Callable[[str], Mapping[str, Any]]
"""Metadata columns of a process by its id; {} where nothing is known."""

_COLUMNS: Final = {
    "Image": "path",
    "CommandLine": "cmdline",
    "User": "username",
    "CurrentDirectory": "current_directory",
    "IntegrityLevel": "integrity_level",
    "LogonId": "logon_id",
    "ProcessId": "process_pid",
    "ProcessGuid": "process_guid",
    "ParentImage": "parent_path",
    "ParentCommandLine": "parent_cmdline",
    "ParentUser": "parent_username",
    "ParentProcessId": "parent_pid",
}
_OF_CREATION: Final = {
    **_COLUMNS,
    "OriginalFileName": "original_filename",
    "md5": "process_md5",
    "sha256": "process_sha256",
    "sha1": "process_sha1",
}
_GRANDPARENT: Final = {
    "GrandParentImage": "parent_path",
    "GrandParentCommandLine": "parent_cmdline",
}
_TARGET: Final = {
    "TargetCommandLine": "cmdline",
    "TargetParentImage": "parent_path",
    "TargetParentProcessId": "parent_pid",
}
"""Of the process that is acted on."""

FIELDS: Final = frozenset({*_OF_CREATION, *_GRANDPARENT, *_TARGET})
"""Every field that is answered here."""


def nobody() -> str:
    """For events in which no process is acted on."""
    return ""


def process_lookup(
    process_id: Callable[[], str],
    facts: Facts,
    *,
    is_creation: bool,
    target_id: Callable[[], str] = nobody,
) -> Lookup:
    """Answers for one event. `process_id` is asked once, when a rule asks for a field that the
    event lacks; "" for an event without a known process. `target_id` is the process acted on."""
    columns = _OF_CREATION if is_creation else _COLUMNS
    known: Mapping[str, Any] | None = None

    def lookup(field: str) -> str:
        nonlocal known
        if field not in FIELDS:
            return ""
        of_target = _TARGET.get(field)
        if of_target is not None:
            target = target_id()
            return text_of(facts(target).get(of_target)) if target else ""
        if known is None:
            actor = process_id()
            known = facts(actor) if actor else {}
        column = columns.get(field)
        if column is not None:
            return text_of(known.get(column))
        above = _GRANDPARENT.get(field)
        parent = known.get("parent_id")
        return text_of(facts(parent).get(above)) if above and parent else ""

    return lookup
