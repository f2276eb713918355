"""Syslog over UDP, TCP and TLS to real receivers: the bytes of RFC 5424, and what is lost."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.receivers import (
    collector,
    make_certificate,
    server_context,
    tcp_receiver,
)
from tests.support.served import wait_for
from vedette.notify import syslog
from vedette.notify.delivery import Envelope, TargetError
from vedette.notify.event_formats import cef
from vedette.notify.notice import Notice
from vedette.notify.syslog import SyslogSender, SyslogServer, line

NOW_US = 1_700_000_000_123_456
RSYSLOG = shutil.which("rsyslogd", path="/usr/sbin:/sbin:/usr/bin:/bin")
BOM = b"\xef\xbb\xbf"


def notice(number: int = 1, title: str = "Encoded PowerShell") -> Notice:
    return Notice(id=str(number), title=title, severity=95, created_us=NOW_US, hostname="pc")


def envelopes(count: int, title: str = "x") -> list[Envelope]:
    return [Envelope(n, f"k{n}", notice(n, f"{title} {n}")) for n in range(count)]


def sender(port: int, transport: str, format_: str = "cef", ca: Path | None = None) -> SyslogSender:
    return SyslogSender(SyslogServer("localhost", port, transport, format_, ca), "edr.example")


def test_the_bytes_are_those_of_rfc_5424() -> None:
    # RFC 5424 6: <PRI>VERSION TIMESTAMP HOSTNAME APP-NAME PROCID MSGID SD MSG, with a BOM before
    # UTF-8; PRI is facility 13 (log audit) times 8 plus severity 1 (alert).
    assert line(notice(), "edr.example", "text é") == (
        b"<105>1 2023-11-14T22:13:20.123456Z edr.example vedette "
        + str(os.getpid()).encode()
        + b" detection - "
        + BOM
        + "text é".encode()
    )


@pytest.mark.parametrize("hostname", ["", "é", "a b\nc"])
def test_a_host_name_is_printable_ascii_or_nil(hostname: str) -> None:
    field = line(notice(), hostname, "").split(b" ")[2]
    assert field == {"": b"-", "é": b"-", "a b\nc": b"abc"}[hostname]


def test_a_stream_counts_octets() -> None:
    received: list[bytes] = []
    with tcp_receiver(collector(received)) as port:
        assert sender(port, "tcp").send(envelopes(2, "é")) == 2
    first, second = (line(one.notice, "edr.example", cef(one.notice)) for one in envelopes(2, "é"))
    assert received == [b"%d %b%d %b" % (len(first), first, len(second), second)]


def test_tls_checks_the_receiver_and_encrypts(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    received: list[bytes] = []
    with tcp_receiver(collector(received), server_context(certificate)) as port:
        with pytest.raises(TargetError, match="certificate"):
            sender(port, "tls").send(envelopes(1))
        assert sender(port, "tls", "json", certificate).send(envelopes(3)) == 3
    assert received[-1].count(b" vedette ") == 3


def test_a_datagram_is_one_message_and_is_cut_to_what_receivers_take() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        server = SyslogServer("127.0.0.1", port, "udp", "json")
        long = Envelope(9, "k9", notice(9, "é" * 1_900))
        assert SyslogSender(server, "h").send([*envelopes(1), long]) == 2
        receiver.settimeout(5)
        first, second = receiver.recv(65_536), receiver.recv(65_536)
    assert first.startswith(b"<105>1 2023-11-14T22:13:20.123456Z h vedette ")
    assert len(second) <= 2_048
    assert second.decode()


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_a_receiver_that_is_not_there_is_noticed(transport: str) -> None:
    server = SyslogServer("127.0.0.1", free_port(), transport, "cef")
    with pytest.raises(TargetError, match="refused"):
        SyslogSender(server).send(envelopes(1))


def test_a_receiver_that_dies_while_it_reads_is_noticed() -> None:
    def die(connection: socket.socket) -> None:
        connection.recv(10)
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    with tcp_receiver(die) as port, pytest.raises(TargetError):
        sender(port, "tcp").send(envelopes(200, "x" * 1_000))


def test_a_receiver_that_stops_reading_is_left_and_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(syslog, "SYSLOG_CONNECT_S", 0.5)
    monkeypatch.setattr(syslog, "SYSLOG_DRAIN_S", 0.5)
    monkeypatch.setattr(syslog, "SYSLOG_TOTAL_S", 1.0)
    import threading

    ends = threading.Event()

    def stuck(_: socket.socket) -> None:
        ends.wait(20)

    long = [Envelope(n, "k", notice(n, "y" * 2_000)) for n in range(5_000)]
    with tcp_receiver(stuck) as port:
        with pytest.raises(TargetError):
            sender(port, "tcp", "json").send(long)
        ends.set()


@pytest.mark.skipif(RSYSLOG is None, reason="rsyslogd is missing")
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_rsyslog_reads_what_is_sent(tmp_path: Path, transport: str) -> None:
    assert RSYSLOG is not None
    port, log = free_port(), tmp_path / "out.log"
    config = tmp_path / "rsyslog.conf"
    config.write_text(f"""
global(workDirectory="{tmp_path}")
module(load="im{transport}")
template(name="t" type="string"
         string="%pri%|%timestamp:::date-rfc3339%|%hostname%|%app-name%|%msgid%|%msg%\\n")
input(type="im{transport}" port="{port}" address="127.0.0.1" ruleset="out")
ruleset(name="out") {{ action(type="omfile" file="{log}" template="t") }}
""")
    command = [RSYSLOG, "-n", "-f", str(config), "-i", str(tmp_path / "pid")]
    with (tmp_path / "rsyslog.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        server = SyslogServer("127.0.0.1", port, transport, "cef")

        def sent() -> bool:
            try:
                return SyslogSender(server, "edr.example").send(envelopes(3, "a|b=c\n")) == 3
            except TargetError:
                return False

        assert wait_for(sent, True)
        wait_for(lambda: log.exists() and log.read_text().count("\n") >= 3, True)
        lines = log.read_text().splitlines()
    finally:
        process.terminate()
        process.wait(20)
    fields = lines[0].split("|", 5)
    assert fields[:5] == [
        "105",
        "2023-11-14T22:13:20.123456Z",
        "edr.example",
        "vedette",
        "detection",
    ]
    assert fields[5].lstrip("\ufeff") == cef(notice(0, "a|b=c\n 0"))
