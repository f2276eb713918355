"""What a query means for one segment; further cases come from the shared vectors."""

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
        ("scriptblock:!!!", True),
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
