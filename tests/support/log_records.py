"""Generated event records, queries that have a chance to meet them, and the columns of a record
computed in Python, with which the store's SQL has to agree."""

import random
import re
from typing import Any

from vedette.model.address import pack_address
from vedette.model.event import Kept
from vedette.model.log_fields import NO_VALUES, READINGS, Reading
from vedette.store.write.commit import RecordRow

NOW_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
DAY_US = 24 * 3600 * SECOND_US

SECURITY = "Security"
SERVICES = "Service Control Manager"
REMOTE = "Microsoft-Windows-TerminalServices-RemoteConnectionManager/Operational"
SESSIONS = "Microsoft-Windows-TerminalServices-LocalSessionManager/Operational"
CHANNELS = (SECURITY, "System", REMOTE, SESSIONS, "auditd", "Microsoft-Windows-Windows Defender/Op")
HOSTS = ("dc1.corp.example", "ws-7", "WS-7.corp.example", "bücher")
USERS = ("bob", "Bob Jones", "ADMINISTRATOR", r"CORP\bob", "svc$", "straße", "-", "")
DOMAINS = ("CORP", "-", "", "NT AUTHORITY")
ADDRESSES = (
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "192.168.7.7",
    "fe80::1%4",
    "::1",
    "-",
    "LOCAL",
    "",
    "10.0.0",
    "1.2.3.4.5",
)
TASKS = (r"\Microsoft\Windows\Defrag\ScheduledDefrag", r"\evil", "-", "")
WORDS = (
    "Invoke-Mimikatz -DumpCreds; $x = 'a_b c'",
    "Trojan:Win32/Emotet!ml",
    r"C:\Windows\System32\cmd.exe",
    "0xC000006D",
    "İstanbul über_Straße 7.0.170.2",
    "%%2313",
    "",
    "-",
    "' OR 1=1 --",
)
TYPES = ("2", "3", "10", "0", "x", "-", "+3", "12345678901")
MEMBERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("SubjectUserName", USERS),
    ("SubjectDomainName", DOMAINS),
    ("TargetUserName", USERS),
    ("TargetDomainName", DOMAINS),
    ("User", USERS),
    ("LogonType", TYPES),
    ("TargetLogonId", ("0x3E7", "0xabc", "-")),
    ("SubjectLogonId", ("0x3e7", "")),
    ("IpAddress", ADDRESSES),
    ("Address", ADDRESSES),
    ("Param1", USERS),
    ("Param2", DOMAINS),
    ("Param3", ADDRESSES),
    ("param1", ("Print Spooler", "WinDefend", "-")),
    ("WorkstationName", ("WS-7", "ws-9.corp.example", "-")),
    ("ServiceName", ("PSEXESVC", "Print Spooler", "")),
    ("TaskName", TASKS),
    ("Threat Name", WORDS),
    ("ThreatName", WORDS),
    ("Status", WORDS),
    ("status", WORDS),
    ("ScriptBlockText", WORDS),
    ("Größe ×", WORDS),
    ("a.b-c", WORDS),
)


def record(draw: random.Random, number: int) -> RecordRow:
    """A record of one of a few hosts, with some members of `MEMBERS`."""
    chosen = draw.sample(MEMBERS, draw.randrange(0, 12))
    fields = {name: draw.choice(values) for name, values in chosen}
    channel = draw.choice(CHANNELS)
    provider = draw.choice((SERVICES, "Microsoft-Windows-Security-Auditing", ""))
    kept = Kept(
        NOW_US - draw.randrange(3 * DAY_US) // SECOND_US * SECOND_US,
        channel,
        draw.choice((4624, 4625, 7045, 0)),
        draw.choice((0, number)),
        provider,
        fields,
        draw.choice(("", "error", "information")),
    )
    sensor = draw.randrange(1, len(HOSTS) + 1)
    return RecordRow(1_699_999_200_000, sensor, HOSTS[sensor - 1], kept, NOW_US, number, number + 1)


def columns_of(row: RecordRow) -> dict[str, Any]:
    """The record as the matcher takes it."""
    kept = row.kept
    return {
        "sensor_id": row.sensor_id,
        "hostname": row.hostname,
        "time": kept.time_us,
        "committed": row.committed_us,
        "channel": kept.channel,
        "event_id": kept.event_id,
        "record_id": kept.record_id,
        "provider": kept.provider,
        "level": kept.level,
        "fields": kept.fields,
        "data": list(kept.fields.values()),
        **{reading.name: _read(reading, kept) for reading in READINGS},
    }


def _read(reading: Reading, kept: Kept) -> Any:
    text = next((text for text in _texts(reading, kept) if text not in NO_VALUES), "")
    match reading.type:
        case "text":
            return text
        case "lower":
            return text.lower()
        case "number":
            return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
        case "address":
            return pack_address(text)


def _texts(reading: Reading, kept: Kept) -> list[str]:
    found = []
    for member in reading.members:
        name, domain = kept.fields.get(member.name, ""), kept.fields.get(member.domain, "")
        if member.channel not in ("", kept.channel) or member.provider not in ("", kept.provider):
            continue
        if name not in NO_VALUES and domain not in NO_VALUES and "\\" not in name:
            name = f"{domain}\\{name}"
        found.append(name)
    return found


_FIELDS = {
    "hostname": HOSTS,
    "host": ("ws-7", "dc1", "*.corp.example", "bücher"),
    "user": (*USERS, "corp\\bob", "bo*"),
    "SubjectUserName": ("bob", "straSSe"),
    "target_user": (*USERS, "*"),
    "user.target.name": USERS,
    "workstation": ("ws-9", "WS-7"),
    "service": ("psexesvc", '"print spooler"', "P*"),
    "task": (r"\evil", "defrag\\*", "ScheduledDefrag"),
    "threat": ("emotet", "Trojan*", "win32 emotet"),
    "channel": (*(f'"{name}"' for name in CHANNELS), "sec*"),
    "winlog.channel": ("security",),
    "provider": ('"service control manager"', "*"),
    "level": ("Error", "*"),
    "logon_id": ("0x3E7", "0xABC"),
    "data.Status": ("0xc000006d", "mimikatz", "*", '"a_b c"', "%%2313"),
    "data.Threat_Name": ("emotet", "trojan win32"),
    "data.scriptblocktext": ("invoke*", "dumpcreds", "cmd.exe"),
    "data.gr__e__": ("*", "istanbul"),
    "data.a.b-c": ("*", "über_straße"),
    "data.nothing": ("*", "x"),
    "data": ("mimikatz", "windows system32", "*"),
}
_PLAIN = (
    "event_id:4624",
    "EventID:[4624 TO 4625]",
    "event.code:7045",
    "logon_type:3",
    "logon_type:[2 TO 10]",
    "src_ip:10.0.0.0/8",
    "source.ip:10.0.0.1",
    "src_ip:fe80::/16",
    "src_ip:*",
    "time:[2023-11-13T00:00:00 TO 2023-11-14T00:00:00]",
    "sensor_id:2",
    "record_id:[1 TO *]",
    "emotet",
    "ws-7",
    "bob",
    "mimikatz",
    "stra*",
    "*:*",
)


def query(draw: random.Random, depth: int = 2) -> str:
    """A random query that parses."""
    if depth == 0 or draw.random() < 0.4:
        return _leaf(draw)
    parts = [query(draw, depth - 1) for _ in range(draw.randrange(1, 4))]
    joined = draw.choice((" ", " OR ")).join(parts)
    return ("-" if draw.random() < 0.25 else "") + f"({joined})"


def _leaf(draw: random.Random) -> str:
    if draw.random() < 0.3:
        return draw.choice(_PLAIN)
    name = draw.choice(list(_FIELDS))
    value = draw.choice(_FIELDS[name]) or "*"
    quoted = value if value.startswith('"') or " " not in value else f'"{value}"'
    return f"{name}:{quoted}"
