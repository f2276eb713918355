"""Places of the members of Sysmon events in documents of Winlogbeat's Sysmon module."""

from typing import Any

from vedette.ingest.decode.elastic.member import Members, Read, account_at, at, flag_at, member
from vedette.ingest.decode.eventlog import integer, text
from vedette.limits import MODULE_LIST_ITEMS_MAX

_WITHOUT_PROCESS = frozenset({4, 6, 16, 19, 20, 21, 255})
_SUBJECT = ("ProcessGuid", "ProcessId", "Image")
_ACTOR: dict[int, tuple[str, str, str]] = {
    8: ("SourceProcessGuid", "SourceProcessId", "SourceImage"),
    10: ("SourceProcessGUID", "SourceProcessId", "SourceImage"),
}
"""Original names of `process.entity_id`, `.pid` and `.executable`."""

_FILE_PATHS: dict[int, str] = {
    6: "ImageLoaded",
    7: "ImageLoaded",
    9: "Device",
    **dict.fromkeys((2, 11, 15, 23, 26, 27, 28, 29), "TargetFilename"),
}
"""Original name of `file.path`."""

_OF_FILE = frozenset({6, 7, 15, 29})
"""Events whose hashes and version fields moved to `file`; for others they moved to `process`."""

_WITH_HASHES = frozenset({1, 6, 7, 23, 24, 25, 26, 29})
_DROPPED_HASHES = frozenset({27, 28})
"""Events whose hashes the version 8 pipeline keeps only in `related.hash`."""

_PE = {
    "FileVersion": "file_version",
    "Description": "description",
    "Product": "product",
    "Company": "company",
    "OriginalFileName": "original_file_name",
}
_PIPES = frozenset({17, 18})
_INITIATED = {"egress": "true", "outbound": "true", "ingress": "false", "inbound": "false"}
_ALGORITHMS = ("SHA1", "MD5", "SHA256", "IMPHASH")
"""In Sysmon's order."""


def members(event_id: int) -> Members:
    """Returns the places of the members of an event, by name."""
    found: Members = {"UtcTime": (_utc_time,), "RuleName": (at("rule", "name"),)}
    if event_id not in _WITHOUT_PROCESS:
        names = _ACTOR.get(event_id, _SUBJECT)
        for name, ecs in zip(names, ("entity_id", "pid", "executable"), strict=True):
            found[name] = (at("process", ecs),)
    found["User"] = (account_at("user"),)
    if event_id in _FILE_PATHS:
        found[_FILE_PATHS[event_id]] = (at("file", "path"),)
    if event_id in _WITH_HASHES:
        holders = ("file", "process") if event_id in _OF_FILE else ("process", "file")
        found["Hashes"] = tuple(_hashes(holder) for holder in holders)
    if event_id in _DROPPED_HASHES:
        found["Hashes"] = (_related_hashes,)
    return found | _of_id(event_id)


def _of_id(event_id: int) -> Members:
    match event_id:
        case 1:
            return _start()
        case 3:
            return _connection()
        case 6 | 7:
            return _image()
        case 8:
            return {"TargetProcessGuid": (at("winlog", "event_data", "TargetProcessGUID"),)}
        case 10:
            return {"SourceThreadId": (at("process", "thread", "id"),)}
        case 12 | 13 | 14:
            return {"TargetObject": (at("registry", "path"),), "Details": (_details,)}
        case 15:
            return {"Hash": (_hashes("file"), at("winlog", "event_data", "Hashes"))}
        case 17 | 18:
            return {"PipeName": (at("file", "name"),)}
        case 20:
            return {"Destination": (at("process", "executable"),)}
        case 22:
            return {
                "QueryName": (at("dns", "question", "name"),),
                "QueryStatus": (_query_status,),
                "QueryResults": (_query_results,),
            }
        case 23 | 24 | 26:
            return {
                "Archived": (flag_at("sysmon", "file", "archived"),),
                "IsExecutable": (flag_at("sysmon", "file", "is_executable"),),
            }
        case 25:
            return {"Type": (_one_line_message,)}
        case 27 | 28 | 29:
            return {"IsExecutable": (flag_at("sysmon", "file", "is_executable"),)}
        case 255:
            return {"ID": (at("error", "code"),)}
    return {}


def _start() -> Members:
    return {
        "CommandLine": (at("process", "command_line"),),
        "CurrentDirectory": (at("process", "working_directory"),),
        "ParentProcessGuid": (at("process", "parent", "entity_id"),),
        "ParentProcessId": (at("process", "parent", "pid"),),
        "ParentImage": (at("process", "parent", "executable"),),
        "ParentCommandLine": (at("process", "parent", "command_line"),),
        **{name: (at("process", "pe", ecs),) for name, ecs in _PE.items()},
    }


def _connection() -> Members:
    return {
        "Initiated": (_initiated,),
        "Protocol": (at("network", "transport"),),
        "SourceIsIpv6": (_is_ipv6,),
        "SourceIp": (at("source", "ip"),),
        "SourceHostname": (at("source", "domain"),),
        "SourcePort": (at("source", "port"),),
        "DestinationIsIpv6": (_is_ipv6,),
        "DestinationIp": (at("destination", "ip"),),
        "DestinationHostname": (at("destination", "domain"),),
        "DestinationPort": (at("destination", "port"),),
        "DestinationPortName": (_service,),
    }


def _image() -> Members:
    return {
        **{name: (at("file", "pe", ecs),) for name, ecs in _PE.items()},
        "Signed": (flag_at("file", "code_signature", "signed"),),
        "Signature": (at("file", "code_signature", "subject_name"),),
        "SignatureStatus": (at("file", "code_signature", "status"),),
    }


def _utc_time(obj: Any) -> str:
    """Returns the time of the event in Sysmon's notation. Modules write it to `@timestamp`."""
    written = text(member(obj, ("@timestamp",)))
    is_utc = written[10:11] == "T" and written.endswith("Z")
    return written[:10] + " " + written[11:-1] if is_utc else written


def _initiated(obj: Any) -> str:
    return _INITIATED.get(text(member(obj, ("network", "direction"))), "")


def _is_ipv6(obj: Any) -> str:
    return {"ipv6": "true", "ipv4": "false"}.get(text(member(obj, ("network", "type"))), "")


def _service(obj: Any) -> str:
    """Returns the name of the destination's port. The version 8 pipeline writes the name of the
    source's port to the same place if there is no other; for TCP only the destination's port has a
    name."""
    is_version_7 = member(obj, ("winlog", "event_data", "SourcePortName")) is not None
    is_tcp = text(member(obj, ("network", "transport"))) == "tcp"
    return text(member(obj, ("network", "protocol"))) if is_version_7 or is_tcp else ""


def _one_line_message(obj: Any) -> str:
    """Returns the type of tampering. The version 8 pipeline writes it in place of the rendered
    message, which has several lines."""
    message = text(member(obj, ("message",)))
    return "" if "\n" in message else message


def _hashes(holder: str) -> Read:
    def read(obj: Any) -> str:
        hashes = member(obj, (holder, "hash"))
        pairs = {
            str(name).upper(): text(value).upper()
            for name, value in (hashes.items() if isinstance(hashes, dict) else ())
        }
        pairs["IMPHASH"] = text(member(obj, (holder, "pe", "imphash"))).upper()
        return ",".join(f"{name}={pairs[name]}" for name in _ALGORITHMS if pairs.get(name))

    return read


def _related_hashes(obj: Any) -> str:
    """Returns hashes whose length identifies their algorithm. Hashes of 32 digits are ambiguous:
    MD5 or import hash."""
    found = member(obj, ("related", "hash"))
    values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    lengths = {40: "SHA1", 64: "SHA256"}
    pairs = {
        lengths[len(value)]: value.upper()
        for value in values[:MODULE_LIST_ITEMS_MAX]
        if isinstance(value, str) and len(value) in lengths
    }
    return ",".join(f"{name}={pairs[name]}" for name in _ALGORITHMS if name in pairs)


def _details(obj: Any) -> str:
    """Returns the data of a registry value in Sysmon's notation."""
    data = member(obj, ("registry", "data"))
    written = text(at("strings")(data))
    match text(member(data, ("type",))):
        case "SZ_DWORD" | "REG_DWORD":
            return f"DWORD (0x{integer(written) & 0xFFFFFFFF:08x})"
        case "SZ_QWORD" | "REG_QWORD":
            number = integer(written)
            return f"QWORD (0x{number >> 32 & 0xFFFFFFFF:08x}-0x{number & 0xFFFFFFFF:08x})"
    return written


# --- DNS -----------------------------------------------------------------------------------

_RECORD_TYPES = {
    **{"NS": 2, "MD": 3, "MF": 4, "CNAME": 5, "SOA": 6, "MB": 7, "MG": 8, "MR": 9, "NULL": 10},
    **{"WKS": 11, "PTR": 12, "HINFO": 13, "MINFO": 14, "MX": 15, "TXT": 16, "RP": 17},
    **{"AFSDB": 18, "X25": 19, "ISDN": 20, "RT": 21, "SIG": 24, "KEY": 25, "PX": 26, "LOC": 29},
    **{"NXT": 30, "SRV": 33, "NAPTR": 35, "KX": 36, "CERT": 37, "DNAME": 39, "OPT": 41, "DS": 43},
    **{"RRSIG": 46, "NSEC": 47, "DNSKEY": 48, "DHCID": 49, "TKEY": 249, "TSIG": 250, "ANY": 255},
    **{"WINS": 65281, "WINSR": 65282},
}
"""Types of DNS records that Sysmon writes as numbers: all except addresses."""

_ADDRESSES = frozenset({"A", "AAAA"})
_STATUSES = {
    "SUCCESS": 0,
    "ERROR_ACCESS_DENIED": 5,
    "ERROR_NOT_ENOUGH_MEMORY": 8,
    "ERROR_INVALID_DATA": 13,
    "ERROR_OUTOFMEMORY": 14,
    "ERROR_INVALID_NAME": 123,
    "ERROR_INVALID_NETNAME": 1214,
    "ERROR_CANCELLED": 1223,
    "ERROR_TIMEOUT": 1460,
    "ERROR_OBJECT_NOT_FOUND": 4312,
    **{
        f"DNS_ERROR_RCODE_{name}": 9001 + place
        for place, name in enumerate(
            (
                "FORMAT_ERROR",
                "SERVER_FAILURE",
                "NAME_ERROR",
                "NOT_IMPLEMENTED",
                "REFUSED",
                "YXDOMAIN",
                "YXRRSET",
                "NXRRSET",
                "NOTAUTH",
                "NOTZONE",
            )
        )
    },
    "DNS_ERROR_RCODE_BADSIG": 9016,
    "DNS_ERROR_RCODE_BADKEY": 9017,
    "DNS_ERROR_RCODE_BADTIME": 9018,
    "DNS_INFO_NO_RECORDS": 9501,
    "DNS_ERROR_BAD_PACKET": 9502,
    "DNS_ERROR_NO_PACKET": 9503,
    "DNS_ERROR_RCODE": 9504,
    "DNS_ERROR_UNSECURE_PACKET": 9505,
    "DNS_REQUEST_PENDING": 9506,
    "DNS_ERROR_INVALID_TYPE": 9551,
    "DNS_ERROR_INVALID_IP_ADDRESS": 9552,
    "DNS_ERROR_INVALID_PROPERTY": 9553,
    "DNS_ERROR_TRY_AGAIN_LATER": 9554,
    "DNS_ERROR_NOT_UNIQUE": 9555,
    "DNS_ERROR_NON_RFC_NAME": 9556,
    "DNS_STATUS_FQDN": 9557,
    "DNS_STATUS_DOTTED_NAME": 9558,
    "DNS_STATUS_SINGLE_PART_NAME": 9559,
    "DNS_ERROR_INVALID_NAME_CHAR": 9560,
    "DNS_ERROR_NUMERIC_NAME": 9561,
    "DNS_ERROR_RECORD_DOES_NOT_EXIST": 9701,
    "DNS_ERROR_NAME_DOES_NOT_EXIST": 9714,
    "DNS_STATUS_CONTINUE_NEEDED": 9801,
    "DNS_ERROR_NO_TCPIP": 9851,
    "DNS_ERROR_NO_DNS_SERVERS": 9852,
    "WSAECONNRESET": 10054,
    "WSAENOBUFS": 10055,
    "WSAETIMEDOUT": 10060,
}
"""Result codes of a query, by the names that modules write."""


def _query_status(obj: Any) -> str:
    status = text(member(obj, ("sysmon", "dns", "status")))
    return str(_STATUSES.get(status, status))


def _query_results(obj: Any) -> str:
    """Returns the answers in Sysmon's notation: `type:  5 name;::ffff:10.1.2.3;`."""
    answers = member(obj, ("dns", "answers"))
    if not isinstance(answers, list):
        addresses = member(obj, ("dns", "resolved_ip"))
        addresses = addresses if isinstance(addresses, list) else [addresses]
        answers = [{"type": "A", "data": one} for one in addresses]
    return "".join(map(_answer, answers[:MODULE_LIST_ITEMS_MAX]))


def _answer(answer: Any) -> str:
    kind, data = text(member(answer, ("type",))), text(member(answer, ("data",)))
    if kind in _ADDRESSES or not kind:
        mapped = f"::ffff:{data}" if "." in data and ":" not in data else data
        return f"{mapped};" if data else ""
    number = _RECORD_TYPES.get(kind)
    return "" if number is None else f"type:  {number} {data};"
