"""Values of audit records: texts, arguments, socket addresses
(docs/telemetry-linux-audit.md).

A value is quoted, or hexadecimal if it contains a space, a quote or a control character. The
functions work on bytes and avoid copies: they run thousands of times a second.
"""

from __future__ import annotations

import socket
from ipaddress import IPv6Address

from ..limits import TEXT_CHARS_MAX

_NULL = (b"(null)", b"(none)", b"")


def value(raw: bytes) -> str:
    """Decodes a quoted, hexadecimal or missing value."""
    if raw[:1] == b'"':
        return raw[1:-1].decode(errors="replace")
    if raw in _NULL:
        return ""
    try:
        return bytes.fromhex(raw.decode()).decode(errors="replace")
    except ValueError:
        return raw.decode(errors="replace")


def member(text: bytes, name: bytes, start: int = 0) -> bytes:
    """Returns the raw value after `name`, which includes ` ` and `=`; empty if there is none."""
    at = text.find(name, start)
    if at < 0:
        return b""
    at += len(name)
    end = text.find(b" ", at)
    return text[at:] if end < 0 else text[at:end]


def arguments(texts: list[bytes]) -> str:
    """Returns the command line from the EXECVE records of an event, in their order.

    A long argument is split into `a1[0]= a1[1]=` after `a1_len=`, over several records.
    """
    if len(texts) == 1 and b"_len=" not in texts[0]:
        values = [part.partition(b"=")[2] for part in texts[0].split()[1:]]
        return " ".join([value(one) for one in values])[:TEXT_CHARS_MAX]
    found: dict[bytes, list[bytes]] = {}
    for text in texts:
        for part in text.split(b" "):
            name, _, raw = part.partition(b"=")
            if name and raw and name != b"argc" and not name.endswith(b"_len"):
                found.setdefault(name.partition(b"[")[0], []).append(raw)
    return " ".join([_joined(raw) for raw in found.values()])[:TEXT_CHARS_MAX]


def _joined(parts: list[bytes]) -> str:
    if len(parts) == 1 or parts[0][:1] == b'"':
        return "".join([value(part) for part in parts])
    return value(b"".join(parts))  # a character may be split between two pieces


def address(raw: bytes) -> tuple[str, int] | None:
    """Returns IP address and port of `saddr=`; None for other families and damaged values."""
    try:
        packed = bytes.fromhex(raw.decode())
    except ValueError:
        return None
    family = int.from_bytes(packed[:2], "little")
    port = int.from_bytes(packed[2:4], "big")
    if family == socket.AF_INET and len(packed) >= 8:
        return socket.inet_ntoa(packed[4:8]), port
    if family == socket.AF_INET6 and len(packed) >= 24:
        whole = IPv6Address(packed[8:24])
        return str(whole.ipv4_mapped or whole), port
    return None


def joined(folder: str, name: str) -> str:
    """Joins and normalizes a path without accessing the file system."""
    if not name.startswith("/"):
        name = f"{folder.rstrip('/')}/{name}"
    if "/." not in name and "//" not in name:
        return name
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)
