"""Generated segments, and queries that have a chance to meet them."""

import random
from typing import Any

from vedette.model.address import pack_address
from vedette.model.event import (
    Childproc,
    Crossproc,
    Dnsquery,
    Filemod,
    Modload,
    Netconn,
    Pipe,
    Processblock,
    ProcessEvent,
    Regmod,
    Scriptblock,
)
from vedette.model.findings.tag import SegmentKey, Tag
from vedette.model.host import UTC_CLOCK
from vedette.model.tokens import cmdline_tokens

NOW_US = 1_700_000_000_000_000
DAY_US = 24 * 3600 * 1_000_000

PATHS = (
    r"C:\Windows\System32\cmd.exe",
    r"c:\windows\syswow64\WindowsPowerShell\v1.0\powershell.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\\Users//bob\AppData\Local\Temp\a.tar.gz",
    r"\\server\share$\tools\PsExec.exe",
    "/usr/bin/ls",
    "/tmp/.hidden/evil.sh",
    r"C:\Straße\KeKs\ſtore.dll",
    r"c:\t\bot_serv[1].dat",
    "notepad.exe",
    r"C:\a\\\b.c.d",
    "",
)
REGISTRY = (
    r"\registry\machine\system\ControlSet001\services\xkzc",
    r"\REGISTRY\MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Run\Evil",
    r"\registry\user\s-1-5-21\software\controlset002",
    r"\registry\user\S-1-5-21_Classes\ms-settings",
    r"\registry\machine\software\classes\ms-settings",
)
HIVES = (
    r"HKLM\system\CurrentControlSet\services\xkzc",
    r"HKCU\software\controlset001",
    r"HKCU\Software\Classes\ms-settings",
    r"HKCR\ms-settings",
    r"HKEY_USERS\s-1-5-21\software",
)
"""Values of `REGISTRY` in the notation of users."""

CMDLINES = (
    r'"C:\Windows\system32\rundll32.exe" /d srrstr.dll,ExecuteScheduledSPPCreation',
    "/bin/ls /tmp/somefile",
    "curl http://foo.com/x --data a=b",
    r"net use x: \\srv\s /user:acme\bob",
    "powershell.exe -NoP -Enc AAAA key:val c:/x",
    "cscript.exe //E:jscript //nologo / x.js",
    "Straße.EXE ÜBER a..b .hidden",
    '"',
    "",
)
DOMAINS = ("foo.com", "www.Foo.com.au", "a.level.io", "level.io", "com", "bücher.example.", "")
IPS = ("10.0.0.1", "10.0.1.255", "192.168.7.7", "fe80::1", "2001:db8::5", "::1", "")
NAMES = ("cmd.exe", "PowerShell.exe", "ls", "svchost.exe", "")
USERS = (r"CORP\bob", "root", r"NT AUTHORITY\SYSTEM", r"corp\Bob Jones", "")
MD5S = ("aa" * 16, "ab" * 16, "")
TEXTS = (
    "Invoke-Mimikatz -DumpCreds; $x = 'a_b c'",
    "Microsoft Visual Studio 2010",
    "İstanbul über_Straße 7.0.170.2",
    "DWORD (0x00000001)",
    "",
)


def _events(draw: random.Random, process_id: str) -> list[ProcessEvent]:
    one = draw.choice
    makers = (
        lambda: Filemod(process_id, 1, one((1, 2, 4, 8)), one(PATHS), one(MD5S)),
        lambda: Modload(process_id, 1, one(PATHS), one(MD5S), digsig_result=one(("Signed", ""))),
        lambda: Regmod(process_id, 1, 1, one(REGISTRY), one(TEXTS)),
        lambda: Netconn(
            process_id,
            1,
            one((0, 1)),
            6,
            pack_address("10.0.0.9"),
            one((3389, 50_000)),
            pack_address(one(IPS)),
            one((80, 443)),
            one(DOMAINS),
        ),
        lambda: Childproc(process_id, 1, 1, 0, "x", one(PATHS), 7, one(MD5S)),
        lambda: Crossproc(process_id, 1, one((1, 2)), "x", one(PATHS), is_target=one((0, 1))),
        lambda: Processblock(process_id, 1, 1, block_result=one((0, 6)), md5=one(MD5S)),
        lambda: Dnsquery(process_id, 1, one(DOMAINS), answers=one(TEXTS)),
        lambda: Pipe(process_id, 1, 1, one((r"\msagent_12", r"\PIPE\evil"))),
        lambda: Scriptblock(process_id, 1, "b", 1, 1, one(TEXTS)),
    )
    return [one(makers)() for _ in range(draw.randrange(5))]


def metadata(draw: random.Random) -> dict[str, Any]:
    """Returns metadata of a process. Omits unknown values, as `normalise` does."""
    one = draw.choice
    cmdline = one(CMDLINES)
    values: dict[str, Any] = {
        "path": one(PATHS),
        "process_name": one(NAMES),
        "parent_name": one(NAMES),
        "parent_path": one(PATHS),
        "cmdline": cmdline,
        "cmdline_tokens": cmdline_tokens(cmdline),
        "username": one(USERS),
        "hostname": one(("WS-1.corp.example", "host2")),
        "group": "Default Group",
        "os_type": one(("windows", "linux")),
        "host_type": one(("", "server")),
        "process_md5": one(MD5S),
        "process_pid": one((0, 4, 4242)),
        "start": one((0, NOW_US - DAY_US // 2, NOW_US - 9 * DAY_US)),
        "terminated": one((0, 1)),
        "original_filename": one(TEXTS),
        "interface_ip": pack_address(one(IPS)),
        "host_clock": one((0, UTC_CLOCK, UTC_CLOCK - 300, UTC_CLOCK + 840)),
    }
    return {name: value for name, value in values.items() if value not in ("", 0)}


def tags(draw: random.Random, document: SegmentKey | str) -> list[Tag]:
    """Returns tags of watchlists and feeds for a document, some of them duplicates."""
    found = []
    for _ in range(draw.choice((0, 0, 1, 2, 4))):
        at_us = NOW_US - draw.choice((0, DAY_US // 2, 3 * DAY_US))
        if draw.random() < 0.5:
            name = draw.choice(("4", "5"))
            found.append(Tag(document=document, family="watchlist", name=name, time_us=at_us))
            continue
        found.append(
            Tag(
                document=document,
                family="alliance",
                name=draw.choice(("srs", "other")),
                time_us=at_us,
                score=draw.choice((-100, 0, 5, 50, 100)),
                report=draw.choice(("r1", "R2", "x")),
                ioc=draw.choice(("evil.com", "10.0.0.1")),
                link=draw.choice(("", "https://a.example/")),
            )
        )
    return found


def life(draw: random.Random, process_id: str) -> tuple[dict[str, Any], list[ProcessEvent]]:
    return metadata(draw), _events(draw, process_id)


_VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("path", "filemod", "modload", "crossproc_start_module", "pipe"), PATHS),
    "regmod": (*REGISTRY, *HIVES),
    **dict.fromkeys(("process_name", "parent_name"), (*NAMES, *PATHS)),
    **dict.fromkeys(("childproc_name", "crossproc_name"), PATHS),
    "cmdline": CMDLINES,
    **dict.fromkeys(("domain", "dns"), (*DOMAINS, ".com.", "foo.", ".au", "..", "level.i.")),
    "username": USERS,
    **dict.fromkeys(("md5", "process_md5", "modload_md5"), MD5S),
    **dict.fromkeys(("filewrite_md5", "filewrite_sha256"), MD5S),
    **dict.fromkeys(("original_filename", "scriptblock", "regmod_value", "dns_answer"), TEXTS),
    "hostname": ("ws-1.corp.example", "HOST2", "ws-1", "WS-1.corp"),
    "host_type": ("workstation", "server"),
    "group": ("default group",),
}
_FIXED = (
    "ipaddr:10.0.0.0/16",
    "ipaddr:[10.0.0.2 TO *]",
    "ipaddr:*",
    "ipv6addr:*",
    "ipv6addr:fe80::/10",
    "ipaddr:10.0.*",
    "interface_ip:*",
    "ipport:[400 TO 500]",
    "ipport:3389",
    "filemod_count:[2 TO *]",
    "netconn_count:0",
    "modload_count:*",
    "start:-24h",
    "start:*",
    "start:[* TO 2023-11-06]",
    "hour_of_day:[0 TO 12]",
    "hour_of_day:[5 TO *]",
    "filewrite_md5:*",
    "process_pid:[* TO 5000]",
    "day_of_week:*",
    "terminated:true",
    "terminated:false",
    "crossproc_type:remotethread",
    "crossproc_type:process*",
    "blocked_status:g-*",
    "process_pid:4",
    "process_pid:[4 TO 5000}",
    "sensor_id:1",
    "tampered:false",
    "has_emet_event:true",
    "modload_signature:signed",
    "watchlist_4:*",
    "watchlist_5:-24h",
    "watchlist_5:[* TO 2023-11-12]",
    "alliance_score_srs:[10 TO *]",
    "alliance_score_srs:*",
    "alliance_score_srs:[* TO 0]",
    "alliance_data_srs:r*",
    "alliance_data_srs:R1",
    "alliance_link_srs:*",
    "alliance_updated_srs:-24h",
    "alliance_score_other:50",
)


def _mangled(draw: random.Random, value: str) -> str:
    """A part of a value, with other case and wildcards here and there."""
    if draw.random() < 0.6 and len(value) > 3:
        first = draw.randrange(len(value) - 1)
        last = draw.randrange(first + 1, len(value) + 1)
        value = value[first:last]
    if draw.random() < 0.4:
        place = draw.randrange(len(value) + 1)
        gone = draw.choice((0, 1, 3))
        value = value[:place] + draw.choice(("*", "?")) + value[place + gone :]
    if draw.random() < 0.2:
        value = "*" + value
    if draw.random() < 0.2:
        value += "*"
    return value.upper() if draw.random() < 0.2 else value


def leaf(draw: random.Random) -> str:
    if draw.random() < 0.2:
        return draw.choice(_FIXED)
    field = draw.choice(list(_VALUES))
    value = _mangled(draw, draw.choice(_VALUES[field]))
    value = value.replace('"', "").rstrip("\\") or "*"
    prefix = "" if draw.random() < 0.15 else field + ":"
    return f'{prefix}"{value}"'


def query(draw: random.Random, depth: int = 2) -> str:
    """A random query that parses."""
    if depth == 0 or draw.random() < 0.3:
        return leaf(draw)
    parts = [query(draw, depth - 1) for _ in range(draw.randrange(1, 6))]
    joined = draw.choice((" ", " OR ")).join(parts)
    return ("-" if draw.random() < 0.25 else "") + f"({joined})"
