"""Facts about the host for enrollment and check-in."""

from __future__ import annotations

import os
import platform
import socket
import struct
import time
from pathlib import Path
from typing import Any

from ..kernel.audit import boot_id
from ..kernel.netlink import DUMP, open_socket, request
from ..limits import ADDRESSES_MAX

_NETLINK_ROUTE = 0
_GET_ADDRESS = 22
_ADDRESS, _LOCAL = 1, 2
_SERVER_CHASSIS = frozenset(("17", "23", "25", "28", "29"))
"""SMBIOS: server, rack mount, multi-system, blade, blade enclosure."""

_WORKSTATION_CHASSIS = frozenset(
    ("3", "4", "5", "6", "7", "8", "9", "10", "13", "14", "15", "16", "24", "30", "31", "32", "35")
)
"""Desktops, towers, portables, tablets, all in one."""


def facts(hostname: str) -> dict[str, Any]:
    """Returns the member `host` of an enrollment."""
    system = platform.uname()
    return {
        "hostname": hostname or socket.gethostname(),
        "machine_id": _text("/etc/machine-id") or _text("/var/lib/dbus/machine-id"),
        "os_type": "linux",
        "os_version": _os_version(),
        "kernel": system.release,
        "arch": system.machine,
        "boot_id": boot_id(),
        "physical_memory_size": memory_bytes(),
        "host_type": host_type(),
    }


def host_type(root: Path = Path("/")) -> str:
    """Returns "workstation" or "server", from the chassis type of the firmware, else from the
    presence of a display manager; "" if neither is available."""
    chassis = _text(str(root / "sys/class/dmi/id/chassis_type"))
    if chassis in _SERVER_CHASSIS:
        return "server"
    if chassis in _WORKSTATION_CHASSIS:
        return "workstation"
    if (root / "etc/systemd/system/display-manager.service").exists():
        return "workstation"
    return "server" if (root / "run/systemd/system").is_dir() else ""


def memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def uptime_s() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME))


def utc_offset_min() -> int:
    return time.localtime().tm_gmtoff // 60


def volume() -> tuple[int, int]:
    """Returns total and free bytes of the root file system."""
    status = os.statvfs("/")
    return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize


def adapters() -> list[dict[str, str]]:
    """Returns IP and hardware addresses of the network interfaces, without loopback."""
    macs = {index: _text(f"/sys/class/net/{name}/address") for index, name in socket.if_nameindex()}
    found = []
    for index, ip in _addresses():
        if not ip.startswith(("127.", "fe80:")) and ip != "::1":
            found.append({"ip": ip, "mac": macs.get(index, "")})
    return found[:ADDRESSES_MAX]


def _addresses() -> list[tuple[int, str]]:
    try:
        with open_socket(_NETLINK_ROUTE) as found:
            bodies = request(found, _GET_ADDRESS, DUMP, 1, bytes(8))
    except OSError:
        return []
    return [one for body in bodies if (one := _address(body)) is not None]


def _address(body: bytes) -> tuple[int, str] | None:
    """Returns interface index and address from an `ifaddrmsg` message."""
    family, _, _, _, index = struct.unpack_from("=BBBBI", body)
    values, at = {}, 8
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        if length < 4:
            break
        values[kind] = body[at + 4 : at + length]
        at += (length + 3) & ~3
    packed = values.get(_LOCAL) or values.get(_ADDRESS)
    if not packed or family not in {socket.AF_INET, socket.AF_INET6}:
        return None
    return index, socket.inet_ntop(family, packed)


def _os_version() -> str:
    for line in _text("/etc/os-release").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return platform.platform()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""
