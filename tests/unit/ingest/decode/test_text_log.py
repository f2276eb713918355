"""Lines of text logs: access and error logs of web servers, syslog of Linux daemons."""

import json
import time

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.record import Record, RecordError

NOON_US = 1_796_040_000_000_000
ISO = "2026-11-30T12:00:00Z"
COMBINED = (
    '203.0.113.7 - alice [30/Nov/2026:13:00:00 +0100] "GET /a/b?x=1 HTTP/1.1" 200 512 '
    '"https://e.example/" "curl/8 \\"quoted\\""'
)
IIS = (
    "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n"
    "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query cs(User-Agent) sc-status\n"
    "2026-11-30 12:00:00 10.0.0.1 POST /a.aspx id=1 Mozilla/5.0+(X) 200\n"
    "2026-11-30 12:00:00 10.0.0.1 GET /b - - 404\n"
)


def records_of(body: str, host: str = "web1") -> list[Record]:
    return [record for piece in split_body(body.encode(), host) for record in decode(piece)]


def reason_of(piece: bytes) -> str:
    with pytest.raises(RecordError) as refused:
        decode(piece)
    return refused.value.reason


def test_a_line_of_an_access_log_has_the_names_of_w3c() -> None:
    (record,) = records_of(COMBINED)
    assert (record.vedette_record, record.channel, record.host) == ("log", "web_access", "web1")
    assert record.time_us == NOON_US
    assert record.data == {
        "c-ip": "203.0.113.7",
        "cs-username": "alice",
        "cs-method": "GET",
        "cs-uri-stem": "/a/b",
        "cs-uri-query": "/a/b?x=1",
        "c-uri": "/a/b?x=1",
        "cs-version": "HTTP/1.1",
        "sc-status": "200",
        "sc-bytes": "512",
        "cs-referer": "https://e.example/",
        "cs-user-agent": 'curl/8 \\"quoted\\"',
        "c-useragent": 'curl/8 \\"quoted\\"',
    }


@pytest.mark.parametrize(
    ("line", "uri"),
    [
        (
            'shop.example:443 2001:db8::1 - - [30/Nov/2026:12:00:00 +0000] "GET /x HTTP/2.0" 200 1',
            "/x",
        ),
        (r'10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "\x16\x03\x01" 400 -', r"\x16\x03\x01"),
        (
            r'10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "GET /{\"a\":1} x" 200 0',
            r"GET /{\"a\":1} x",
        ),
    ],
)
def test_unusual_requests_keep_their_text(line: str, uri: str) -> None:
    (record,) = records_of(line)
    assert (record.time_us, record.data["cs-uri-query"]) == (NOON_US, uri)


def test_lines_of_iis_have_the_columns_of_their_header() -> None:
    first, second = records_of(IIS)
    assert (first.channel, first.time_us, first.host) == ("iis_access", NOON_US, "web1")
    assert first.data["cs-uri-query"] == "/a.aspx?id=1"
    assert first.data["cs-user-agent"] == "Mozilla/5.0 (X)"
    assert second.data["cs-uri-query"] == "/b"
    assert "cs-user-agent" not in second.data


def test_a_line_of_iis_with_other_columns_keeps_its_place_and_is_rejected() -> None:
    pieces = split_body((IIS + "2026-11-30 12:00:00 x\n").encode(), "web1")
    assert len(pieces) == 3
    assert reason_of(pieces[2]) == "not_json"


@pytest.mark.parametrize(
    ("line", "channel", "message"),
    [
        (
            "[Mon Nov 30 12:00:00.000000 2026] [mpm_event:notice] [pid 1:tid 2] AH1: child exit",
            "apache_error",
            "[mpm_event:notice] [pid 1:tid 2] AH1: child exit",
        ),
        ("2026/11/30 12:00:00 [alert] 12#12: worker exited", "nginx_error", "12#12: worker exited"),
        (f"{ISO} web1 sshd[12]: fatal: x", "sshd", "fatal: x"),
        (f'{ISO} h.b sudo: a : COMMAND=/x {{"a": 1}}', "sudo", 'a : COMMAND=/x {"a": 1}'),
        (f"<38>{ISO} web1 sshd-session[12]: x {{}}", "sshd", "x {}"),
        (f"<13>1 {ISO} web1 pkexec 77 - - a b", "auth", "a b"),
        (f'<13>1 {ISO} web1 clamd - - [a b="c"][d] x FOUND', "clamav", "x FOUND"),
        (f"{ISO} web1 CRON[5]: (root) CMD (x)", "cron", "(root) CMD (x)"),
        (f"{ISO} web1 named[5]: denied AXFR from", "syslog", "denied AXFR from"),
        (f"{ISO} web1 vsftpd: x", "vsftpd", "x"),
    ],
)
def test_a_line_of_a_daemon_has_its_channel(line: str, channel: str, message: str) -> None:
    (record,) = records_of(line)
    assert (record.channel, record.data["message"]) == (channel, message)
    assert record.time_us == NOON_US
    assert record.host in ("web1", "h.b")


def test_values_of_sudo_are_members_and_the_command_cannot_forge_them() -> None:
    line = f"{ISO} h sudo:  eve : TTY=pts/0 ; PWD=/ ; USER=#-1 ; COMMAND=/bin/x ; USER=root"
    (record,) = records_of(line)
    assert record.data["USER"] == "#-1"
    assert record.data["COMMAND"] == "/bin/x ; USER=root"


def test_a_time_without_year_is_that_of_the_shipper() -> None:
    line = "Dec 31 23:59:00 web1 sshd[1]: x"
    assert reason_of(split_body(line.encode(), "web1")[0]) == "no_time"
    sent = {"@timestamp": "2026-01-01T00:00:02Z", "host": {"name": "web1.example"}, "message": line}
    (record,) = decode(json.dumps(sent).encode())
    assert record.time_us == 1_767_225_540_000_000
    assert record.host == "web1.example"


def test_the_host_of_a_relayed_line_is_not_the_collector() -> None:
    sent = {"message": f"{ISO} db7 sshd[1]: x", "hostname": "collector.example"}
    (record,) = decode(json.dumps(sent).encode())
    assert record.host == "db7"


@pytest.mark.parametrize(
    "line",
    [
        '10.0.0.1 - - [30/Xyz/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1',
        '10.0.0.1 - - [99/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1',
    ],
)
def test_a_line_with_an_impossible_time_is_rejected(line: str) -> None:
    (piece,) = split_body(line.encode(), "web1")
    assert reason_of(piece) == "bad_time"


@pytest.mark.parametrize(
    "line",
    [
        '10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "' + "\\" * 200_000,
        '10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "' + 'a" ' * 70_000,
        f"<13>1 {ISO} h p - - " + "[a]" * 70_000,
        f"{ISO} h sudo: " + "TTY= ; " * 30_000,
        "a " * 100_000,
        "1" * 200_000,
    ],
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    began_s = time.process_time()
    for piece in split_body(line.encode(), "web1"):
        try:
            decode(piece)
        except RecordError:
            continue
    assert time.process_time() - began_s < 1.0
