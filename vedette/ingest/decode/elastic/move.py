"""Restores event data that the modules of Winlogbeat 7 and the ingest pipelines of version 8 moved
out of `winlog.event_data`.

The Security, Sysmon and PowerShell modules move some members to ECS fields, rewrite others and
leave the rest. `restore` looks for each member in its original place first, then in the places of
the modules, and writes it with the event's own name and spelling. `_members` lists the places by
channel and event id.
"""

from functools import lru_cache
from typing import Any

from vedette.ingest.channels import (
    POWERSHELL,
    POWERSHELL_CLASSIC,
    POWERSHELL_CORE,
    SECURITY,
    SYSMON,
)
from vedette.ingest.decode.elastic import powershell, security, sysmon
from vedette.ingest.decode.elastic.member import Members, Read
from vedette.ingest.decode.eventlog import text
from vedette.limits import MODULE_LIST_ITEMS_MAX, Limit

MODULE_MEMBERS_CACHED_MAX: Limit[int] = 512
"""Maximum events (channel and id) whose module members are cached. Modules support about 120."""


def is_moved(channel: str, data: dict[str, Any]) -> bool:
    """Whether a module processed a Sysmon event: every module moves its time."""
    return channel == SYSMON and "UtcTime" not in data


def restore(obj: dict[str, Any], channel: str, event_id: int, data: dict[str, Any]) -> None:
    """Adds the members that a module moved to `data`. Keeps members that `data` already has."""
    for name, reads in _members(channel, event_id):
        if name in data:
            continue
        for read in reads:
            value = read(obj)
            if value not in (None, ""):
                data[name] = value
                break


def unsplit(named: Any) -> Any:
    """Returns `winlog.event_data` without descriptions that modules add, and with lists that
    modules made of texts joined again."""
    if not isinstance(named, dict):
        return named
    return {
        name: _text_of_list(name, value) if isinstance(value, list) else value
        for name, value in named.items()
        if name not in _ADDED
    }


def _text_of_list(name: str, value: list[Any]) -> Any:
    if name == "Data" or not all(isinstance(item, str | int) for item in value):
        return value
    items = [text(item) for item in value[:MODULE_LIST_ITEMS_MAX]]
    if name in _CODES:
        return "".join(f"\n\t\t%%{item}" for item in items)
    return ("\n\t\t\t" if name == "PrivilegeList" else " ").join(items)


_ADDED = frozenset(
    {"NewUACList", "OldUACList", "AuditPolicyChangesDescription", "SubCategory"}
    | {"TicketOptionsDescription", "TicketEncryptionTypeDescription", "StatusDescription"}
    | {"AccessMaskDescription", "AccessListDescription", "SidListDesc"}
)
"""Members of event data that Windows events never have."""

_CODES = frozenset({"UserAccountControl", "AccessMask", "AccessList"})
"""Members that are lists of message codes (`%%2080`). Modules omit the `%%`."""


@lru_cache(MODULE_MEMBERS_CACHED_MAX)
def _members(channel: str, event_id: int) -> tuple[tuple[str, tuple[Read, ...]], ...]:
    return tuple(_all_members(channel, event_id).items())


def _all_members(channel: str, event_id: int) -> Members:
    if channel == SECURITY:
        return security.members(event_id)
    if channel == SYSMON:
        return sysmon.members(event_id)
    if channel in (POWERSHELL, POWERSHELL_CORE):
        return powershell.operational(event_id)
    return powershell.classic(event_id) if channel == POWERSHELL_CLASSIC else {}
