"""Syslog: RFC 5424 messages over UDP (RFC 5426), TCP (RFC 6587, octet counting), TLS (RFC 5425).

Only TCP and TLS detect a loss: after the last message the sender shuts down its side, and the
receiver closes the connection after reading everything. So each batch has its own connection.
Syslog has no acknowledgement by the application: messages that a receiver reads and loses are lost.
"""

import os
import select
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from vedette.limits import Limit
from vedette.notify.delivery import Envelope, TargetError, time_bound
from vedette.notify.event_formats import FORMATS
from vedette.notify.notice import Notice
from vedette.settings import Settings

SYSLOG_ANSWER_BYTES: Limit[int] = 4_096
"""Bytes read at a time from a syslog receiver, which are discarded."""

SYSLOG_BATCH: Limit[int] = 200
"""Messages that share a connection to a syslog server."""

SYSLOG_CONNECT_S: Limit[int] = 10
"""Timeout (s) for connecting to a syslog server, and for one write."""

SYSLOG_TOTAL_S: Limit[int] = 30
"""Time limit (s) for a batch, for receivers that read one byte at a time."""

SYSLOG_DRAIN_S: Limit[int] = 5
"""Time (s) for a receiver to close the connection after reading everything."""

SYSLOG_ICMP_WAIT_S: Limit[float] = 0.05
"""Time (s) to wait for the ICMP error of a closed UDP port; there is no other sign."""

SYSLOG_UDP_BYTES_MAX: Limit[int] = 2_048
"""Bytes of a datagram, which receivers must accept according to RFC 5426."""


_FACILITY: Final = 13  # log audit
_APP_NAME: Final = "vedette"
_MESSAGE_ID: Final = "detection"
_BOM: Final = b"\xef\xbb\xbf"
_NIL: Final = "-"
_SEVERITIES: Final = ((90, 1), (70, 2), (50, 3), (30, 4), (10, 5), (0, 6))
"""(minimum severity of a notice, syslog severity): alert, critical, error, warning, notice,
informational."""


@dataclass(frozen=True, slots=True)
class SyslogServer:
    """Address and format of the syslog server. Paths are PEM files; None for the system's
    certificates."""

    host: str
    port: int
    transport: str
    format: str
    ca: Path | None = None
    certificate: Path | None = None


def syslog_server(settings: Settings) -> SyslogServer:
    """Returns the syslog server of the settings."""
    return SyslogServer(
        settings.syslog_host,
        settings.syslog_port,
        settings.syslog_transport,
        settings.syslog_format,
        settings.syslog_ca,
        settings.syslog_cert,
    )


def line(notice: Notice, hostname: str, body: str) -> bytes:
    """Returns one RFC 5424 message without framing. Its time is that of the detection; `hostname`
    is this server's."""
    level = next(number for least, number in _SEVERITIES if notice.severity >= least)
    header = (
        f"<{_FACILITY * 8 + level}>1",
        _timestamp(notice.created_us),
        _name(hostname, 255),
        _APP_NAME,
        str(os.getpid()),
        _MESSAGE_ID,
        _NIL,  # no structured data: the body, which SIEMs parse, has all
    )
    return " ".join(header).encode("ascii") + b" " + _BOM + body.encode("utf-8", "replace")


class SyslogSender:
    """Sends to one syslog server."""

    batch = SYSLOG_BATCH

    def __init__(self, server: SyslogServer, hostname: str = "") -> None:
        self._server = server
        self._hostname = hostname or socket.gethostname()

    def send(self, envelopes: Sequence[Envelope]) -> int:
        """Sends all messages. Raises TargetError."""
        render = FORMATS[self._server.format]
        lines = [line(one.notice, self._hostname, render(one.notice)) for one in envelopes]
        if not self._server.host:
            raise TargetError("no syslog server configured: set syslog_host")
        try:
            if self._server.transport == "udp":
                _send_datagrams(self._server, lines)
            else:
                _send_stream(self._server, lines)
        except (OSError, ssl.SSLError) as error:
            raise TargetError(f"{self._server.host}:{self._server.port}: {error}") from error
        return len(lines)


def _send_datagrams(server: SyslogServer, lines: Sequence[bytes]) -> None:
    """Sends one datagram per message. Detects a missing receiver only if its host reports it."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        server.host, server.port, type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as sending:
        sending.connect(address)
        for one in lines:
            sending.send(_cut(one, SYSLOG_UDP_BYTES_MAX))
        select.select([], [], [sending], SYSLOG_ICMP_WAIT_S)
        problem = sending.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem:
            raise OSError(problem, os.strerror(problem))


def _send_stream(server: SyslogServer, lines: Sequence[bytes]) -> None:
    framed = b"".join(b"%d %s" % (len(one), one) for one in lines)
    with socket.create_connection((server.host, server.port), SYSLOG_CONNECT_S) as plain:
        plain.settimeout(SYSLOG_CONNECT_S)
        if server.transport == "tcp":
            with time_bound(lambda: plain, SYSLOG_TOTAL_S):
                plain.sendall(framed)
                plain.shutdown(socket.SHUT_WR)
                _drain(plain)
            return
        with (
            _tls(server).wrap_socket(
                plain, server_hostname=server.host, do_handshake_on_connect=False
            ) as connection,
            time_bound(lambda: connection, SYSLOG_TOTAL_S),
        ):
            connection.do_handshake()
            connection.sendall(framed)
            _finish_tls(connection)


def _tls(server: SyslogServer) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(server.ca) if server.ca else None)
    if server.certificate is not None:
        context.load_cert_chain(str(server.certificate))
    return context


def _finish_tls(connection: ssl.SSLSocket) -> None:
    """Closes the sending side of TLS, and waits for the receiver to close."""
    plain: socket.socket = connection
    try:
        connection.settimeout(SYSLOG_DRAIN_S)
        plain = connection.unwrap()
    except TimeoutError:
        _check_acknowledged(connection)
        return
    except ssl.SSLError as error:
        # A receiver that closes without TLS close_notify has read everything that it acknowledged.
        if not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            raise
    plain.close()


def _drain(connection: socket.socket) -> None:
    """Waits until the receiver closes; a reset means that it did not read everything."""
    deadline = time.monotonic() + SYSLOG_DRAIN_S
    while (left := deadline - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            if not connection.recv(SYSLOG_ANSWER_BYTES):
                return
        except TimeoutError:
            break
    _check_acknowledged(connection)


def _check_acknowledged(connection: socket.socket) -> None:
    """For a receiver that leaves the connection open: checks that its system has acknowledged
    everything."""
    import fcntl
    import termios

    unsent = bytearray(4)
    fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, unsent)
    if struct.unpack("i", unsent)[0]:
        raise TimeoutError("the receiver stopped reading")


def _timestamp(time_us: int) -> str:
    if not time_us:
        return _NIL
    moment = datetime.fromtimestamp(time_us / 1_000_000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time_us % 1_000_000:06d}Z"


def _name(text: str, length: int) -> str:
    """Returns PRINTUSASCII without blanks, as RFC 5424 requires for header fields."""
    return "".join(one for one in text if "!" <= one <= "~")[:length] or _NIL


def _cut(data: bytes, most: int) -> bytes:
    """Truncates at a character boundary."""
    return data if len(data) <= most else data[:most].decode("utf-8", "ignore").encode()
