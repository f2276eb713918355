"""Evaluation of queries on one segment; the shared vectors contain further cases."""

from typing import Any

import pytest

from vedette.model.address import pack_address
from vedette.model.host import UTC_CLOCK
from vedette.model.tokens import cmdline_tokens
from vedette.query import check, match_segment, parse

NOW_US = 1_700_000_000_000_000


def matches(text: str, **segment: Any) -> bool:
    if "cmdline" in segment:
        segment["cmdline_tokens"] = cmdline_tokens(segment["cmdline"])
    return match_segment(check(parse(text), now_us=NOW_US), segment)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("path:programdata\\*", True),
        ("path:programdata\\*\\*", False),
        ("path:a.tar.gz", True),
        ("path:.tar.gz", True),
        ("path:.gz", True),
        ("path:?gz", True),
        ("path:.t*", True),
        ("path:gz", False),
        ("path:c:\\programdata", True),
        ("path:c:\\program", False),
        ("path:programdata", False),
        ("path:/programdata/a.tar.gz", True),
        ("path::\\programdata\\a.tar.gz", True),
        ("path:*a.tar*", True),
    ],
)
def test_paths(text: str, expected: bool) -> None:
    assert matches(text, path="C:\\ProgramData\\a.tar.gz") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cmdline:/bin/sh", True),
        ("cmdline:bin/sh", True),
        ("cmdline:/usr", False),
        ("cmdline:user:", True),
        ("cmdline:user", True),
        ('cmdline:"sh user: bob"', True),
        ('cmdline:"sh user bob"', True),
        ('cmdline:"sh * bob"', True),
        ('cmdline:"* user *"', True),
        ("cmdline:.exe", True),
        ('cmdline:"evil.exe x"', True),
        ('cmdline:".exe x"', True),
        ("cmdline:evil", False),
        ("cmdline:ev*", True),
        ("cmdline:?vil.exe", True),
        ("cmdline:?exe", True),
        ("cmdline:user?", True),
        ("cmdline:use?", True),
        ('cmdline:"bob evil"', False),
        ('cmdline:"bob ev*"', True),
        ('cmdline:"*ob evil.exe"', True),
    ],
)
def test_command_lines(text: str, expected: bool) -> None:
    assert matches(text, cmdline="/bin/sh user:bob evil.exe x") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("childproc_name:cmd.exe", True),
        ("childproc_name:cm*", True),
        ("childproc_name:cmd", False),
        ("childproc_name:\\system32\\cmd.exe", True),
        ("childproc_name:system*", False),
        ("childproc_name:*", True),
    ],
)
def test_names_of_other_processes_are_the_last_part_of_their_path(
    text: str, expected: bool
) -> None:
    assert matches(text, childproc_path=["C:\\Windows\\System32\\cmd.exe"]) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("username:bob", True),
        ("username:corp\\bob", True),
        ("username:b*", True),
        ("username:corp", False),
        ("username:co*", True),
        ('username:"*\\bob"', True),
    ],
)
def test_users(text: str, expected: bool) -> None:
    assert matches(text, username="CORP\\Bob") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scriptblock:invoke", True),
        ('scriptblock:"invoke mimi*"', True),
        ("scriptblock:mimi", False),
        ('scriptblock:"mimikatz invoke"', False),
        ("scriptblock:a_b", True),
        ("scriptblock:!!!", False),
    ],
)
def test_texts(text: str, expected: bool) -> None:
    assert matches(text, scriptblock_text=["Invoke-Mimikatz $a_b"]) is expected


def test_the_port_of_a_connection_is_that_of_its_destination() -> None:
    sides = {"netconn_remote_port": [443, 50_000], "netconn_local_port": [50_001, 3389]}
    found = [matches(f"ipport:{port}", netconn_outbound=[1, 0], **sides) for port in (443, 3389)]
    assert found == [True, True]
    assert not matches("ipport:50000", netconn_outbound=[1, 0], **sides)


def test_queried_names_are_domains() -> None:
    assert matches("domain:evil.com", dnsquery_name=["www.evil.com"])
    assert not matches("dns:evil.com", netconn_domain=["evil.com"])


def test_an_unknown_address_is_no_address() -> None:
    assert not matches("ipv6addr:*", netconn_remote_ip=[bytes(16)])
    assert matches("ipv6addr:*", netconn_remote_ip=[pack_address("::1")])


def test_a_host_without_a_type_is_a_workstation() -> None:
    assert matches("host_type:workstation", host_type="")
    assert not matches("host_type:workstation", host_type="server")


def test_hours_and_days_are_those_of_the_start() -> None:
    assert matches("hour_of_day:22 day_of_week:2", start=NOW_US)  # Tuesday, 22:13:20
    assert not matches("hour_of_day:*", start=0)


def test_hours_and_days_are_those_of_the_hosts_clock() -> None:
    ahead = UTC_CLOCK + 120
    assert matches("hour_of_day:0 day_of_week:3", start=NOW_US, host_clock=ahead)
    assert not matches("hour_of_day:22", start=NOW_US, host_clock=ahead)
    assert matches("hour_of_day:22", start=NOW_US, host_clock=UTC_CLOCK)


def test_case_folds_beyond_ascii() -> None:
    assert matches("path:STRASSE.exe", path="c:\\straße.exe")
    assert matches("hostname:ΣΑΣ", hostname="σας")


def test_not_holds_for_what_is_unknown() -> None:
    assert matches("-filemod:a.exe -username:bob")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("domain:co?.", ["com"]),
        ("domain:bin?.", ["bing.com"]),
        ("domain:*ing.", ["bing.com", "www.bing.com"]),
        ("domain:.bi*.", ["www.bing.com"]),
        ("domain:.co?", ["bing.com", "www.bing.com", "com"]),
        ("domain:*.", ["bing.com", "www.bing.com", "com"]),
        ("domain:.*.", ["www.bing.com"]),
        ("domain:..", []),
        ("domain:.", []),
    ],
)
def test_dots_around_a_pattern_say_where_in_a_domain_it_stands(
    text: str, expected: list[str]
) -> None:
    names = ("bing.com", "www.bing.com", "com", "")
    assert [name for name in names if matches(text, netconn_domain=[name])] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cmdline:/", True),
        ('cmdline:"jscript /"', True),
        ('cmdline:"cscript.exe /"', True),
        ('cmdline:"x.js /"', False),
        ("cmdline://e:", True),
        ("cmdline:/e:", True),
        ("cmdline:/e:jscript", True),
        ("cmdline:/nologo", True),
        ("cmdline://nologo", True),
        ('cmdline:"/nologo x.js"', False),
        ("cmdline:/x.js", True),
        ("cmdline://evil.example", True),
        ("cmdline:script.exe", False),
        ("cmdline:*script.exe", True),
        ('cmdline:"*script.exe //e:jscript"', True),
    ],
)
def test_a_slash_at_the_edge_of_a_value(text: str, expected: bool) -> None:
    line = "cscript.exe //E:jscript //nologo / x.js http://evil.example"
    assert matches(text, cmdline=line) is expected


def test_a_path_begins_inside_a_segment_by_a_wildcard_only() -> None:
    path = r"c:\temp\evil.exe"
    assert not matches(r"path:emp\evil.exe", path=path)
    assert matches(r"path:*emp\evil.exe", path=path)


MACHINE = r"\registry\machine\SOFTWARE\Evil"
USER = r"\registry\user\S-1-5-21-7\Software\Evil"
USER_CLASS = r"\registry\user\S-1-5-21-7_Classes\ms-settings\shell"
CLASS = r"\registry\machine\software\classes\ms-settings\shell"
SERVICE = r"\registry\machine\system\ControlSet001\services\x"
AS_SENT = r"HKCU\Software\Evil"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"regmod:HKLM\software\evil", [MACHINE]),
        (r"regmod:HKEY_LOCAL_MACHINE\software\*", [MACHINE, CLASS]),
        (r"regmod:hklm:\software\evil", [MACHINE]),
        (r"regmod:\HKLM\software\evil", [MACHINE]),
        (r"regmod:HKLM\system\currentcontrolset\services\x", [SERVICE]),
        (r"regmod:HKLM\software", []),
        (r"regmod:HKCU\software\evil", [USER, AS_SENT]),
        (r"regmod:HKCU\software\e*", [USER, AS_SENT]),
        (r"regmod:HKCU\evil", []),
        (r"regmod:HKCU\software\classes\ms-settings\*", [USER_CLASS]),
        (r"regmod:HKCR\ms-settings\shell", [USER_CLASS, CLASS]),
        (r"regmod:HKCR\ms-settings", []),
        ("regmod:HKCR\\ms-settings\\", [USER_CLASS, CLASS]),
        (r"regmod:HKU\s-1-5-21-7\software\evil", [USER]),
        (r"regmod:HKU\*", [USER, USER_CLASS]),
        (r"regmod:HKXX\software\evil", []),
    ],
)
def test_hives_by_the_names_people_use(text: str, expected: list[str]) -> None:
    stored = (MACHINE, USER, USER_CLASS, CLASS, SERVICE, AS_SENT)
    assert [one for one in stored if matches(text, regmod_path=[one])] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hostname:workstation5", ["WORKSTATION5.theshire.local", "workstation5"]),
        ("hostname:WORKSTATION5.theshire.local", ["WORKSTATION5.theshire.local"]),
        ("hostname:work*n5", ["WORKSTATION5.theshire.local", "workstation5"]),
        ("hostname:workstation?", ["WORKSTATION5.theshire.local", "workstation5"]),
        ("hostname:theshire", []),
        ("hostname:workstation5.theshire", []),
        ("hostname:workstation", []),
    ],
)
def test_a_host_is_found_by_its_name_or_its_first_label(text: str, expected: list[str]) -> None:
    hosts = ("WORKSTATION5.theshire.local", "workstation5", "workstation55.theshire.local", "")
    assert [one for one in hosts if matches(text, hostname=one)] == expected


@pytest.mark.parametrize("field", ["filewrite_md5", "md5"])
def test_a_deleted_file_was_not_written(field: str) -> None:
    md5 = "ab" * 16
    for operation, expected in ((1, True), (2, True), (4, False), (8, True)):
        segment = {"filemod_md5": ["", md5], "filemod_operation": [8, operation]}
        assert matches(f"{field}:{md5}", **segment) is expected
        assert matches(f"filewrite_md5:{md5[:6]}*", **segment) is expected
        assert matches("filewrite_md5:*", **segment) is expected


@pytest.mark.parametrize(
    "text",
    [
        "start:[* TO 2030-01-01]",
        "start:[* TO *]",
        "start:*",
        "hour_of_day:[0 TO *]",
        "hour_of_day:[* TO 23]",
        "day_of_week:*",
        "process_pid:[* TO 10]",
        "process_pid:*",
    ],
)
def test_what_is_not_known_is_in_no_range(text: str) -> None:
    assert not matches(text)
    assert matches(text, start=NOW_US, process_pid=4, host_clock=UTC_CLOCK)
