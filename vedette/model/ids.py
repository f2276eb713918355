"""Names of processes and segments on the wire (docs/clients.md#ids-and-times), and hosts' slots.

A process id is 36 characters, `%08x-%04x-%04x-%04x-%012x`: the sensor's id first, then what
makes the process unique on its host. From a Sysmon ProcessGuid that is the GUID without its
first eight digits; without a GUID it is pid and start as a FILETIME, which clients read back.
A unique id is the process id, `-`, and the segment id as 12 hex digits.
"""

import re
import zlib
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import GUID_START_US_MAX, GUID_START_US_MIN, HOST_SLOTS

_NO_PROCESS: Final = "-ffff-ffff-0000-000000000000"
_PROCESS_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

FILETIME_EPOCH_US = 11_644_473_600_000_000
"""Microseconds from 1601-01-01 to 1970-01-01."""

MERGED_SEGMENT = 0
"""Segment id in a request: all segments of the process as one."""

EARLIEST_SEGMENT = 1
"""Segment id in a request: the earliest segment of the process."""


def process_id_from_guid(sensor_id: int, guid: str) -> str:
    """Id of a process with a ProcessGuid of 36 characters without braces, any case."""
    return f"{sensor_id:08x}{guid[8:].lower()}"


def process_id_from_start(sensor_id: int, pid: int, start_us: int) -> str:
    """Id of a process known by pid and start time (epoch microseconds)."""
    filetime = (start_us + FILETIME_EPOCH_US) * 10
    return (
        f"{sensor_id:08x}-{pid >> 16 & 0xFFFF:04x}-{pid & 0xFFFF:04x}"
        f"-{filetime >> 48 & 0xFFFF:04x}-{filetime & 0xFFFFFFFFFFFF:012x}"
    )


def guid_start_us(guid: str) -> int:
    """Start second that a Sysmon ProcessGuid carries
    (docs/telemetry-formats.md#what-real-data-teach, fact 2), epoch us; 0 for one that is made up:
    random or filled with zeros or `f`, it lies before Sysmon's first release or beyond 2038."""
    start_us = int(guid[14:18] + guid[9:13], 16) * 1_000_000
    return start_us if GUID_START_US_MIN <= start_us < GUID_START_US_MAX else 0


def checked_process_id(text: str, name: str = "process_id") -> str:
    """A process id of a request, in lower case.

    Raises BadRequestError, naming the parameter, for what is not 36 characters of that form.
    """
    lowered = text.lower()
    if _PROCESS_ID.fullmatch(lowered) is None:
        raise BadRequestError(f"{name}: {text[:60]!r} is not a process id")
    return lowered


def unknown_parent_id(sensor_id: int) -> str:
    """What a process without a known parent names as its parent."""
    return f"{sensor_id:08x}{_NO_PROCESS}"


def names_process(process_id: str) -> bool:
    """Whether an id names a process: not "", and not what stands for an unknown parent."""
    return process_id != "" and not process_id.endswith(_NO_PROCESS)


def unique_id(process_id: str, segment_id: int) -> str:
    return f"{process_id}-{segment_id:012x}"


def split_unique_id(text: str) -> tuple[str, int]:
    """Process id and segment id of a unique id with 8 or 12 hex digits at its end.

    Raises BadRequestError when the text is neither 45 nor 49 characters of that form.
    """
    process_id, digits = text[:36], text[37:]
    if len(text) in (45, 49) and text[36] == "-":
        try:
            return process_id, int(digits, 16)
        except ValueError:
            pass
    raise BadRequestError(f"not a unique process id: {text[:60]!r}")


def process_hash(process_id: str) -> int:
    """32 bits of a process id, as `CRC32` of the telemetry engine makes them."""
    return zlib.crc32(process_id.encode())


def sensor_of(process_id: str) -> int | None:
    """Sensor id that a process id begins with; None when it is not hex."""
    try:
        return int(process_id[:8], 16)
    except ValueError:
        return None


def slot_of(sensor_id: int) -> int:
    """The slot that a sensor's host belongs to: servers of a cluster share out whole slots
    (`state/servers/slots.py`)."""
    return sensor_id % HOST_SLOTS
