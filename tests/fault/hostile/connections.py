"""Connections that cost and never complete: half and endless heads, trailers and bodies, bodies
that drip, handshakes and requests that do not come, more connections than a server may have."""

import itertools
import json
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from tests.fault.hostile.target import Attack

_HEADS: Final = json.loads((Path(__file__).parent / "heads.json").read_text())
_HELD: Final = 150
"""Connections that one attacker holds at a time."""

_FLOOD: Final = 1_500
_DRIP_S: Final = 0.05
_PIECE_BYTES: Final = 64 * 1024
_ENDLESS_BYTES_MAX: Final = 256 << 20
"""More than any part of a connection may have."""

_ENDLESS_S: Final = 20.0


def _status(stream: socket.socket) -> int:
    """Returns the status of the answer; 0 if the server closed the connection or has not answered
    yet."""
    try:
        words = stream.recv(4_096).split(b" ", 2)
    except OSError:
        return 0
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def break_heads(attack: Attack) -> None:
    """Heads that no client sends, and heads of a megabyte."""
    large = [(start + filler * (size // len(filler))) for start, filler, size in _HEADS["large"]]
    for head in itertools.cycle([*_HEADS["broken"], *large]):
        if not attack.goes_on():
            return
        with suppress(OSError), attack.target.stream(2.0) as stream:
            with suppress(OSError):
                stream.sendall(head.encode("latin-1"))
            attack.seen.status("head", _status(stream), head[:80])


def send_without_end(attack: Attack) -> None:
    """Trailers, chunk framing, bodies after their answer and data after the last request, of which
    none ever ends: each until the server closes the connection."""
    for begin, filler in itertools.cycle(_HEADS["endless"]):
        body = "400000\r\n" + "{" * (4 << 20) + "\r\n"
        is_chunked = begin.endswith(("0\r\nx: ", "0\r\n"))
        for start in (begin, begin.replace("0\r\n", body + "0\r\n")) if is_chunked else (begin,):
            if not attack.goes_on():
                return
            with suppress(OSError), attack.target.stream(_ENDLESS_S) as stream:
                _send_until_closed(attack, stream, start.encode(), filler.encode())


def _send_until_closed(attack: Attack, stream: socket.socket, start: bytes, filler: bytes) -> None:
    piece = filler * (_PIECE_BYTES // len(filler))
    sent, ends_s = 0, time.monotonic() + _ENDLESS_S
    try:
        stream.sendall(start)
        while sent < _ENDLESS_BYTES_MAX and attack.goes_on() and time.monotonic() < ends_s:
            stream.sendall(piece)
            sent += len(piece)
    except OSError:
        attack.seen.disconnected("endless")
        return
    if sent >= _ENDLESS_BYTES_MAX:
        attack.seen.failed(f"the server read {sent} bytes after {start[:200]!r}")


def hold_half_requests(attack: Attack) -> None:
    """Many requests that are begun and not ended, held as long as the server lets them."""
    heads = itertools.cycle(_HEADS["unfinished"])
    while attack.goes_on():
        with ExitStack() as held:
            for head in itertools.islice(heads, _HELD):
                if not attack.goes_on():
                    return
                try:
                    stream = held.enter_context(attack.target.stream())
                    stream.sendall(head.encode())
                except OSError:
                    attack.seen.disconnected("half request")
            time.sleep(2)


def drip(attack: Attack) -> None:
    """Heads and bodies of which a byte comes now and then."""
    starts = [one for one in _HEADS["unfinished"] if one]
    while attack.goes_on():
        with ExitStack() as held:
            streams = []
            for start in starts:
                with suppress(OSError):
                    stream = held.enter_context(attack.target.stream())
                    stream.sendall(start.encode())
                    streams.append(stream)
            while streams and attack.goes_on():
                for stream in list(streams):
                    try:
                        stream.sendall(b"x")
                    except OSError:
                        streams.remove(stream)
                        attack.seen.disconnected("drip")
                time.sleep(_DRIP_S)


def flood(attack: Attack) -> None:
    """Connections without a TLS handshake, and with garbage or plain HTTP in its place."""
    sent = itertools.cycle((b"", b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n", bytes(100)))
    while attack.goes_on():
        with ExitStack() as held:
            for content in itertools.islice(sent, _FLOOD):
                if not attack.goes_on():
                    return
                try:
                    one = held.enter_context(attack.target.connect(1.0))
                    one.sendall(content)
                except OSError:
                    attack.seen.disconnected("flood")
            time.sleep(1)


def read_nothing(attack: Attack) -> None:
    """Requests by the dozen on a connection whose answers are not read."""
    request = (
        "GET /api/v1/process?q=*&rows=1000 HTTP/1.1\r\nhost: x\r\n"
        f"x-auth-token: {attack.target.token}\r\n\r\n"
    ).encode()
    while attack.goes_on():
        with ExitStack() as held:
            for _ in range(10):
                with suppress(OSError):
                    held.enter_context(attack.target.stream()).sendall(request * 20)
            time.sleep(3)
