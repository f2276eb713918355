"""Fields of an event's process and its parent that rules can test in addition to the event's own.

A Sigma selection applies to a single event. If a sender reports the command line only at process
start, `CommandLine` is still available for later events of the process. Fields that identify the
event's *file* (hashes, the original file name) are the event's own, except in the event of the
process start.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from vedette.detect.views.event import Lookup, text_of

Facts = Callable[[str], Mapping[str, Any]]
"""Returns the metadata columns of a process by its id; {} if nothing is known."""

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
OF_CREATION: Final = {
    **_COLUMNS,
    "OriginalFileName": "original_filename",
    "md5": "process_md5",
    "sha256": "process_sha256",
    "sha1": "process_sha1",
}
"""Maps fields to metadata columns of the acting process, for the event of its start. Fields in
`_COLUMNS` are available for all its events."""

_GRANDPARENT: Final = {
    "GrandParentImage": "parent_path",
    "GrandParentCommandLine": "parent_cmdline",
}
_TARGET: Final = {
    "TargetCommandLine": "cmdline",
    "TargetParentImage": "parent_path",
    "TargetParentProcessId": "parent_pid",
}
"""Metadata columns of the process that is acted on."""

FIELDS: Final = frozenset({*OF_CREATION, *_GRANDPARENT, *_TARGET})
"""Every field that this module provides."""


def nobody() -> str:
    """Default for events without a target process."""
    return ""


def process_lookup(
    process_id: Callable[[], str],
    facts: Facts,
    *,
    is_creation: bool,
    target_id: Callable[[], str] = nobody,
) -> Lookup:
    """Returns a lookup for a single event. `process_id` is called at most once, when a rule tests a
    field that the event lacks; it returns "" if the process is unknown. `target_id` returns the
    process that is acted on."""
    columns = OF_CREATION if is_creation else _COLUMNS
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
