"""A second evaluator of Sigma rules, to compare the product's with.

It walks the conditions that pySigma parses over the members of a record. It looks up no literals
and combines no rules or patterns; it only keeps what it has parsed and compiled, and sorts the
rules by channel. Log sources and fields are mapped by tables of its own.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any, Final

from sigma import conditions, types
from sigma.exceptions import SigmaError
from sigma.pipelines.common import windows_logsource_mapping
from sigma.rule import SigmaRule

from vedette.ingest.record import Record

_SYSMON: Final = "Microsoft-Windows-Sysmon/Operational"
_SECURITY: Final = "Security"
_POWERSHELL: Final = ("Microsoft-Windows-PowerShell/Operational", "PowerShellCore/Operational")

_CATEGORIES: Final[dict[str, tuple[tuple[str, frozenset[int]], ...]]] = {
    "process_creation": ((_SYSMON, frozenset({1})), (_SECURITY, frozenset({4688}))),
    "file_change": ((_SYSMON, frozenset({2})),),
    "network_connection": ((_SYSMON, frozenset({3})), (_SECURITY, frozenset({5156}))),
    "sysmon_status": ((_SYSMON, frozenset({4, 16})),),
    "driver_load": ((_SYSMON, frozenset({6})),),
    "image_load": ((_SYSMON, frozenset({7})),),
    "create_remote_thread": ((_SYSMON, frozenset({8})),),
    "raw_access_thread": ((_SYSMON, frozenset({9})),),
    "process_access": ((_SYSMON, frozenset({10})),),
    "file_event": ((_SYSMON, frozenset({11})),),
    "registry_event": ((_SYSMON, frozenset({12, 13, 14})), (_SECURITY, frozenset({4657}))),
    "registry_set": ((_SYSMON, frozenset({13})), (_SECURITY, frozenset({4657}))),
    "create_stream_hash": ((_SYSMON, frozenset({15})),),
    "pipe_created": ((_SYSMON, frozenset({17, 18})),),
    "wmi_event": ((_SYSMON, frozenset({19, 20, 21})),),
    "dns_query": ((_SYSMON, frozenset({22})),),
    "file_delete": ((_SYSMON, frozenset({23, 26})),),
    "file_delete_detected": ((_SYSMON, frozenset({26})),),
    "process_tampering": ((_SYSMON, frozenset({25})),),
    "file_block_executable": ((_SYSMON, frozenset({27})),),
    "file_executable_detected": ((_SYSMON, frozenset({29})),),
    "ps_module": tuple((one, frozenset({4103})) for one in _POWERSHELL),
    "ps_script": tuple((one, frozenset({4104})) for one in _POWERSHELL),
    "ps_classic_start": (("Windows PowerShell", frozenset({400})),),
    "ps_classic_provider_start": (("Windows PowerShell", frozenset({600})),),
    "ps_classic_script": (("Windows PowerShell", frozenset({800})),),
}

_LEVELS: Final = {"1": "critical", "2": "error", "3": "warning", "4": "information", "5": "verbose"}

Values = Callable[[str], str | None]
Places = tuple[tuple[str, frozenset[int] | None], ...]
"""Channels and their event ids; None for any id."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A rule with its conditions, any of which makes it fire."""

    rule_id: str
    conditions: tuple[Any, ...]
    ids: frozenset[int] | None
    """Event ids of its log source in one channel; None for any id."""


class Oracle:
    """Rules of one text each, which it can evaluate: those over Windows events with a category or
    service of its tables."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.rules: list[SigmaRule] = []
        self._by_channel: dict[str, list[_Parsed]] = defaultdict(list)
        for text in texts:
            try:
                rule = SigmaRule.from_yaml(text)
                parsed = tuple(one.parsed for one in rule.detection.parsed_condition)
            except (SigmaError, ValueError, KeyError, AttributeError, TypeError):
                continue  # the product lists it with a reason
            places = _places(rule)
            if places and not _is_timed(rule):
                self.rules.append(rule)
                for channel, ids in places:
                    entry = _Parsed(str(rule.id), parsed, ids)
                    self._by_channel[channel.lower()].append(entry)

    def firing(self, record: Record) -> set[str]:
        """Ids of the rules that fire on a record."""
        data, value = _members(record)
        return {
            entry.rule_id
            for entry in self._by_channel.get(record.channel.lower(), ())
            if entry.ids is None or record.event_id in entry.ids
            if any(_holds(node, value, data) for node in entry.conditions)
        }


def _places(rule: SigmaRule) -> Places:
    """Channels and event ids that the log source means."""
    source = rule.logsource
    if source.product != "windows":
        return ()
    if source.category is not None:
        return _CATEGORIES.get(source.category, ()) if source.service is None else ()
    named = windows_logsource_mapping.get(source.service or "", ())
    return tuple((one, None) for one in ([named] if isinstance(named, str) else named))


def _is_timed(rule: SigmaRule) -> bool:
    return "SigmaTimestampPart" in repr(rule.detection.detections)


def _members(record: Record) -> tuple[dict[str, str], Values]:
    """The members of a record as text, and the values of fields."""
    data = {str(name): _text(value) for name, value in record.data.items() if value is not None}
    made = {name.replace(" ", ""): value for name, value in data.items()} | data
    if record.channel == _SECURITY and record.event_id == 4688:
        made |= _process_start(data)
    envelope = {
        **{"EventID": str(record.event_id), "Channel": record.channel},
        **{"Provider_Name": record.provider, "Level": str(record.level)},
        **dict.fromkeys(("Computer", "ComputerName", "Hostname"), record.host),
        **{"Keywords": record.keywords, "Data": _positional(data), "Message": _positional(data)},
    }
    for pair in data.get("Hashes", data.get("Hash", "")).split(","):
        kind, _, digest = pair.partition("=")
        for name in (kind.strip().lower(), kind.strip().upper(), kind.strip().capitalize()):
            envelope[name] = digest
    return made, lambda field: made.get(field, envelope.get(field))


def _process_start(data: Mapping[str, str]) -> dict[str, str]:
    def pid(name: str) -> str:
        text = data.get(name, "")
        return str(int(text, 16)) if text.startswith("0x") else text

    who = "Subject" if data.get("TargetUserName", "-") in ("", "-") else "Target"
    session = data.get("TargetLogonId", "0x0")
    labels = {"4096": "Low", "8192": "Medium", "12288": "High", "16384": "System"}
    return {
        "Image": data.get("NewProcessName", ""),
        "CommandLine": data.get("CommandLine", ""),
        "ParentImage": data.get("ParentProcessName", ""),
        "ProcessId": pid("NewProcessId"),
        "ParentProcessId": pid("ProcessId"),
        "User": f"{data.get(who + 'DomainName', '')}\\{data.get(who + 'UserName', '')}",
        "LogonId": data.get("SubjectLogonId", "") if session in ("0x0", "", "-") else session,
        "IntegrityLevel": labels.get(data.get("MandatoryLabel", "").rpartition("-")[2], ""),
    }


def _positional(data: Mapping[str, str]) -> str:
    found = []
    while (name := f"param{len(found) + 1}") in data:
        found.append(data[name])
    return " ".join(found)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " ".join(map(_text, value))
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))
    return str(value)


def _holds(node: Any, value: Values, data: Mapping[str, str]) -> bool:
    match node:
        case conditions.ConditionAND():
            return all(_holds(one, value, data) for one in node.args)
        case conditions.ConditionOR():
            return any(_holds(one, value, data) for one in node.args)
        case conditions.ConditionNOT():
            return not _holds(node.args[0], value, data)
        case conditions.ConditionFieldEqualsValueExpression():
            return _test(node.field, node.value, value)
        case conditions.ConditionValueExpression():
            return _keyword(node.value, data)
    raise TypeError(f"unknown condition: {type(node).__name__}")


def _keyword(wanted: Any, data: Mapping[str, str]) -> bool:
    """Returns whether any value of the event contains the keyword."""
    if isinstance(wanted, types.SigmaExpansion):
        return any(_keyword(one, data) for one in wanted.values)
    if isinstance(wanted, types.SigmaRegularExpression):
        pattern = _regex(wanted)
    else:
        text = wanted if isinstance(wanted, types.SigmaString) else types.SigmaString(str(wanted))
        pattern = _compiled(_pattern(text), re.IGNORECASE | re.DOTALL)
    return any(pattern.search(text) for name, text in data.items() if name != "Message")


def _test(field: str, wanted: Any, value: Values) -> bool:
    text = value(field)
    known = text or ""
    match wanted:
        case types.SigmaExpansion():
            return any(_test(field, one, value) for one in wanted.values)
        case types.SigmaNull():
            return known == ""
        case types.SigmaExists():
            return (text is not None) is wanted.exists
        case types.SigmaString() if not len(wanted.s) or wanted.s == ("",):
            return known == ""
        case types.SigmaString() if wanted.s == (types.SpecialChars.WILDCARD_MULTI,):
            return text is not None
        case types.SigmaString():
            flags = re.DOTALL
            if not isinstance(wanted, types.SigmaCasedString):
                flags |= re.IGNORECASE
            return text is not None and bool(_compiled(_pattern(wanted), flags).fullmatch(text))
        case types.SigmaBool():
            return known.lower() == str(wanted.boolean).lower()
        case types.SigmaNumber():
            return known in (str(wanted.number), _LEVELS.get(str(wanted.number), ""))
        case types.SigmaRegularExpression():
            return bool(_regex(wanted).search(known))
        case types.SigmaCIDRExpression():
            return _is_within(known, str(wanted.cidr))
        case types.SigmaCompareExpression():
            return _compares(known, wanted)
        case types.SigmaFieldReference():
            return _refers(known, value(wanted.field), wanted) and text is not None
    raise TypeError(f"unknown value: {type(wanted).__name__}")


def _pattern(wanted: types.SigmaString) -> str:
    special = {
        types.SpecialChars.WILDCARD_MULTI: ".*",
        types.SpecialChars.WILDCARD_SINGLE: ".",
    }
    return "".join(re.escape(part) if isinstance(part, str) else special[part] for part in wanted.s)


def _regex(wanted: types.SigmaRegularExpression) -> re.Pattern[str]:
    flags = 0
    for flag in wanted.flags:
        flags |= getattr(re, types.SigmaRegularExpression.sigma_to_re_flag[flag].upper(), 0)
    return _compiled(str(wanted.regexp), flags)


@cache
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    """A compiled pattern. `re` keeps 512 of the tens of thousands that the rules have."""
    return re.compile(pattern, flags)


def _is_within(text: str, cidr: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    network = ip_network(cidr, strict=False)
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.version == network.version and mapped in network


def _compares(text: str, wanted: types.SigmaCompareExpression) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    other = float(wanted.number.number)
    return {
        "LT": number < other,
        "LTE": number <= other,
        "GT": number > other,
        "GTE": number >= other,
    }[wanted.op.name]


def _refers(text: str, other: str | None, wanted: types.SigmaFieldReference) -> bool:
    if other is None:
        return False
    text, other = text.lower(), other.lower()
    if wanted.starts_with and wanted.ends_with:
        return other in text
    if wanted.starts_with:
        return text.startswith(other)
    return text.endswith(other) if wanted.ends_with else text == other
