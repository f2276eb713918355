"""The forms of single events, as docs/api-objects.md#process-events and docs/clients.md#event-lists
give them."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.model.address import pack_address
from vedette.model.event import (
    UNKNOWN_IP,
    Childproc,
    Crossproc,
    Filemod,
    Modload,
    Netconn,
    Processblock,
    Regmod,
)
from vedette.web.json.wire_values import event_time, instant, pipe_original, pipe_safe
from vedette.web.processes.analysis.event_lists_json import EVENT_LISTS

SELF = "00000001-0000-0e48-01d2-c2a397f4cfe0"
OTHER = "00000001-0000-0123-01d2-c2a397f4cfe1"
NOON = 1_500_000_000_123_456
TEXT_NOON = "2017-07-14 02:40:00.123456"
JSON_NOON = "2017-07-14T02:40:00.123456Z"
MD5 = "a" * 32


def netconn(outbound: int, **changes: Any) -> Netconn:
    values = {
        "process_id": SELF,
        "time_us": NOON,
        "outbound": outbound,
        "protocol": 6,
        "local_ip": pack_address("192.168.1.163"),
        "local_port": 1025,
        "remote_ip": pack_address("137.254.120.31"),
        "remote_port": 443,
        "domain": "a.example",
    }
    return Netconn(**(values | changes))


STRINGS = [
    (Filemod(SELF, NOON, 8, "c:\\a", md5=MD5, file_type=1), f"8|{TEXT_NOON}|c:\\a|{MD5}|1|false"),
    (Filemod(SELF, NOON, 1, "c:\\a", md5=MD5, tamper=1), f"1|{TEXT_NOON}|c:\\a|||true"),
    (Filemod(SELF, NOON, 4, "/a|b"), f"4|{TEXT_NOON}|/a%7Cb|||false"),
    (Modload(SELF, NOON, "c:\\b.dll", md5=MD5), f"{TEXT_NOON}|{MD5}|c:\\b.dll"),
    (Regmod(SELF, NOON, 2, "\\registry\\x|y"), f"2|{TEXT_NOON}|\\registry\\x%7Cy|false"),
    (
        Crossproc(SELF, NOON, 1, OTHER, path="c:\\t.exe", md5=MD5, access=3),
        f"RemoteThread|{TEXT_NOON}|{OTHER}-000000000001|{MD5}|c:\\t.exe|||false|false",
    ),
    (
        Crossproc(SELF, NOON, 2, OTHER, path="c:\\t.exe", access=0x1FFFFF, is_target=1),
        f"ProcessOpen|{TEXT_NOON}|{OTHER}-000000000001||c:\\t.exe|1|2097151|false|true",
    ),
    (netconn(1), f"{TEXT_NOON}|-1979811809|443|6|a.example|true"),
    (netconn(0), f"{TEXT_NOON}|-1062731357|1025|6|a.example|false"),
    (netconn(1, remote_ip=pack_address("2001:db8::1")), f"{TEXT_NOON}|0|443|6|a.example|true"),
    (
        Childproc(SELF, NOON, 1, 0, OTHER, path="c:\\c.exe", pid=291, md5=MD5),
        f"{TEXT_NOON}|{OTHER}-000000000001|{MD5}|c:\\c.exe|291|true|false",
    ),
    (
        Childproc(SELF, NOON, 0, 0, OTHER, path="c:\\c.exe", pid=291, tamper=1),
        f"{TEXT_NOON}|{OTHER}-000000000001||c:\\c.exe|291|false|true",
    ),
]


@pytest.mark.parametrize(("event", "text"), STRINGS)
def test_v1_writes_an_event_as_values_between_pipes(event: Any, text: str) -> None:
    assert EVENT_LISTS[1][type(event).__name__.lower()](event) == text


def test_v2_writes_connections_as_objects_with_signed_addresses() -> None:
    assert EVENT_LISTS[2]["netconn"](netconn(1)) == {
        "timestamp": JSON_NOON,
        "direction": "true",
        "proto": 6,
        "domain": "a.example",
        "local_ip": -1062731357,
        "local_port": 1025,
        "remote_ip": -1979811809,
        "remote_port": 443,
    }


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (pack_address("137.254.120.31"), "137.254.120.31"),
        (pack_address("2001:db8::1"), "2001:db8::1"),
        (UNKNOWN_IP, "0.0.0.0"),
    ],
)
def test_v4_writes_addresses_as_text(packed: bytes, text: str) -> None:
    assert EVENT_LISTS[4]["netconn"](netconn(0, remote_ip=packed))["remote_ip"] == text


@pytest.mark.parametrize("version", [3, 4])
def test_a_child_that_started_carries_its_start(version: Any) -> None:
    event = Childproc(SELF, NOON, 1, 0, OTHER, path="c:\\c|d.exe", pid=291, md5=MD5, username="u")
    assert EVENT_LISTS[version]["childproc"](event) == {
        "type": "start",
        "start": JSON_NOON,
        "end": None,
        "processId": OTHER,
        "md5": MD5,
        "path": "c:\\c|d.exe",
        "pid": 291,
        "is_suppressed": False,
        "is_tampered": False,
        "commandLine": "",
        "userName": "",
    }


def test_a_suppressed_child_reports_command_line_and_user() -> None:
    event = Childproc(SELF, NOON, 0, 0, OTHER, command_line="x -y", username="u", suppressed=1)
    body = EVENT_LISTS[4]["childproc"](event)
    assert (body["end"], body["start"]) == (JSON_NOON, None)
    assert (body["commandLine"], body["userName"]) == ("x -y", "u")


def test_a_block_is_a_json_object_in_a_string() -> None:
    event = Processblock(SELF, NOON, 1, block_event=2, path='c:\\"q".exe', md5=MD5)
    body = orjson.loads(EVENT_LISTS[1]["processblock"](event))
    assert (body["blocked_path"], body["timestamp"]) == ('c:\\"q".exe', JSON_NOON)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a|b", "a%7Cb"),
        ("a%7Cb", "a%257Cb"),
        ("a%257Cb", "a%25257Cb"),
        ("%TEMP%", "%TEMP%"),
        ("100%25", "100%25"),
        ("%7c", "%7c"),
        ("%|7C", "%%7C7C"),
    ],
)
def test_only_pipes_and_what_looks_like_an_escaped_one_change(value: str, text: str) -> None:
    assert (pipe_safe(value), pipe_original(text)) == (text, value)


@given(st.text(alphabet="%257C|a"))
def test_every_value_comes_back_from_an_event_string(value: str) -> None:
    assert "|" not in pipe_safe(value)
    assert pipe_original(pipe_safe(value)) == value


ANY_VERSION = (1, 2, 3, 4)
WITH_TEXT = [
    (lambda text: Filemod(SELF, NOON, 8, text, md5=MD5, file_type=1), ANY_VERSION, 2),
    (lambda text: Modload(SELF, NOON, text, md5=MD5), ANY_VERSION, 2),
    (lambda text: Regmod(SELF, NOON, 2, text), ANY_VERSION, 2),
    (lambda text: netconn(1, domain=text), (1,), 4),
    (lambda text: Childproc(SELF, NOON, 1, 0, OTHER, path=text, pid=1), (1, 2), 3),
    (lambda text: Crossproc(SELF, NOON, 2, OTHER, path=text, access=3), ANY_VERSION, 4),
]
"""Events that carry a text, the versions that write them as a string, and its place there."""


@pytest.mark.parametrize(
    ("make", "versions", "place"),
    WITH_TEXT,
    ids=("filemod", "modload", "regmod", "netconn", "childproc", "crossproc"),
)
@given(text=st.text(alphabet="%257C|a\\/") | st.text())
def test_a_text_comes_back_from_its_place_in_every_version(
    make: Any, versions: tuple[Any, ...], place: int, text: str
) -> None:
    for version in versions:
        write = EVENT_LISTS[version][type(make("")).__name__.lower()]
        values = write(make(text)).split("|")
        assert pipe_original(values.pop(place)) == text
        plain = write(make("")).split("|")
        assert plain.pop(place) == ""
        assert values == plain


@pytest.mark.parametrize(
    ("version", "kind", "member"),
    [
        (2, "netconn", "domain"),
        (3, "netconn", "domain"),
        (4, "netconn", "domain"),
        (3, "childproc", "path"),
        (4, "childproc", "path"),
    ],
)
@given(text=st.text(alphabet="%257C|a") | st.text())
def test_a_text_in_an_object_stays_as_it_is(
    version: Any, kind: str, member: str, text: str
) -> None:
    child = Childproc(SELF, NOON, 1, 0, OTHER, path=text)
    event = netconn(1, domain=text) if kind == "netconn" else child
    assert EVENT_LISTS[version][kind](event)[member] == text


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1_700_049_600_000_008, "2023-11-15T12:00:00.000008Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_instants_always_have_six_digits(time_us: int, text: str) -> None:
    assert instant(time_us) == text
    assert event_time(time_us) == text.replace("T", " ").removesuffix("Z")
