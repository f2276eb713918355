"""Places of the members of Security events in documents of Winlogbeat's Security module."""

from typing import Any

from vedette.ingest.decode.elastic.member import Members, at, hexadecimal_at, member
from vedette.ingest.decode.eventlog import text

_START = 4688
_WITH_PROCESS = frozenset(
    {4616, 4624, 4625, 4648, 4656, 4657, 4658, 4660, 4661, 4663, 4670, 4673, 4674, 4689, 4696}
    | {4703, 4904, 4905, 4907, 4911, 4913, 4985}
)
"""Events with the members ProcessId and ProcessName."""

_TICKETS = frozenset({4768, 4769, 4770, 4771})
_WITH_ADDRESS = _TICKETS | {4624, 4625, 4648, 5140, 5145}
_WITH_WORKSTATION = frozenset({4624, 4625})
_SESSIONS = frozenset({4778, 4779})
_OF_TARGET = _TICKETS | {4624, 4625, 4634, 4647, 4648, 4776, 4964}
"""Events for which `user` in version 7 is the target of the event; for others it is the subject."""

_LOGONS = frozenset({4624, 4634, 4647, 4964})
"""Events for which `winlog.logon.id` in version 7 belongs to the target."""

_LOGON_TYPES = {
    "Interactive": "2",
    "Network": "3",
    "Batch": "4",
    "Service": "5",
    "Unlock": "7",
    "NetworkCleartext": "8",
    "NewCredentials": "9",
    "RemoteInteractive": "10",
    "CachedInteractive": "11",
    "CachedRemoteInteractive": "12",
    "CachedUnlock": "13",
}


def members(event_id: int) -> Members:
    """Returns the places of the members of an event, by name."""
    found: Members = {}
    if event_id == _START:
        found |= {
            "NewProcessId": (hexadecimal_at("process", "pid"),),
            "NewProcessName": (at("process", "executable"),),
            "ProcessId": (hexadecimal_at("process", "parent", "pid"),),
            "ParentProcessName": (at("process", "parent", "executable"),),
            "CommandLine": (at("process", "command_line"),),
        }
    if event_id in _WITH_PROCESS:
        found["ProcessId"] = (hexadecimal_at("process", "pid"),)
        found["ProcessName"] = (at("process", "executable"),)
    if event_id in _WITH_ADDRESS:
        found["IpAddress"] = (_mapped_ip if event_id in _TICKETS else at("source", "ip"),)
        found["IpPort"] = (at("source", "port"),)
    if event_id in _WITH_WORKSTATION:
        found["WorkstationName"] = (at("source", "domain"),)
        found["LogonType"] = (_logon_type,)
    if event_id in _SESSIONS:
        return found | {
            "AccountName": (at("user", "name"),),
            "AccountDomain": (at("user", "domain"),),
            "ClientAddress": (at("source", "ip"),),
            "ClientName": (at("source", "domain"),),
            "LogonID": (at("winlog", "logon", "id"),),
        }
    return found | _accounts(event_id)


def _accounts(event_id: int) -> Members:
    """Returns the places of account members. Modules copy accounts and keep the originals; the
    copies are needed if a later pipeline removed the originals."""
    found: Members = {}
    members = (("UserSid", "id"), ("UserName", "name"), ("DomainName", "domain"))
    for name, ecs in members:
        if event_id in _OF_TARGET:
            found[f"Target{name}"] = (at("user", "target", ecs), at("user", ecs))
        else:
            effective = ("user", "effective" if event_id == _START else "target", ecs)
            found[f"Subject{name}"] = (at("user", ecs),)
            found[f"Target{name}"] = (at(*effective),)
    whose = "Target" if event_id in _LOGONS else "Subject"
    found[f"{whose}LogonId"] = (at("winlog", "logon", "id"),)
    return found


def _mapped_ip(obj: Any) -> str:
    """Returns the address of a ticket request, which writes IPv4 as an IPv6 address."""
    address = text(member(obj, ("source", "ip")))
    return f"::ffff:{address}" if "." in address and ":" not in address else address


def _logon_type(obj: Any) -> str:
    return _LOGON_TYPES.get(text(member(obj, ("winlog", "logon", "type"))), "")
