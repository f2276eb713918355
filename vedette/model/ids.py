"""Ids of processes and segments in the API (docs/clients.md#ids-and-times), and slots of hosts.

A process id has 36 characters, `%08x-%04x-%04x-%04x-%012x`: the sensor's id, then a part that is
unique on the host. With a Sysmon ProcessGuid, that part is the GUID without its first eight digits;
otherwise pid and start as a FILETIME, which clients decode. A unique id is the process id, `-`, and
the segment id as 12 hex digits.
"""

import re
import zlib
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import HOST_SLOTS, Limit

GUID_START_US_MIN: Limit[int] = 1_388_534_400_000_000
"""Earliest start that a ProcessGuid is accepted to contain, 2014-01-01. Sysmon's first release is
from August 2014; version 4 GUIDs, which generators produce, yield times up to 2012."""

GUID_START_US_MAX: Limit[int] = (1 << 31) * 1_000_000
"""Upper end (exclusive) of starts in a ProcessGuid, in 2038. GUIDs filled with `f` are beyond
it."""


_NO_PROCESS: Final = "-ffff-ffff-0000-000000000000"
_PROCESS_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

FILETIME_EPOCH_US = 11_644_473_600_000_000
"""Microseconds from 1601-01-01 to 1970-01-01."""

MERGED_SEGMENT = 0
"""Segment id in a request: all segments of the process, merged."""

EARLIEST_SEGMENT = 1
"""Segment id in a request: the earliest segment of the process."""


def process_id_from_guid(sensor_id: int, guid: str) -> str:
    """Returns the process id for a ProcessGuid: 36 characters without braces, in any letter
    case."""
    return f"{sensor_id:08x}{guid[8:].lower()}"


def process_id_from_start(sensor_id: int, pid: int, start_us: int) -> str:
    """Returns the process id for a pid and a start time (epoch microseconds)."""
    filetime = (start_us + FILETIME_EPOCH_US) * 10
    return (
        f"{sensor_id:08x}-{pid >> 16 & 0xFFFF:04x}-{pid & 0xFFFF:04x}"
        f"-{filetime >> 48 & 0xFFFF:04x}-{filetime & 0xFFFFFFFFFFFF:012x}"
    )


def guid_start_us(guid: str) -> int:
    """Returns the start encoded in a Sysmon ProcessGuid
    (docs/telemetry-formats.md#real-world-data, fact 2), as epoch microseconds with a
    resolution of a second. Returns 0 for invented GUIDs: random GUIDs and those filled with zeros
    or `f` yield times before Sysmon's first release or after 2038."""
    start_us = int(guid[14:18] + guid[9:13], 16) * 1_000_000
    return start_us if GUID_START_US_MIN <= start_us < GUID_START_US_MAX else 0


def checked_process_id(text: str, name: str = "process_id") -> str:
    """Returns the process id of a request in lower case.

    Raises BadRequestError, which names the parameter, if the text does not have the form of an id.
    """
    lowered = text.lower()
    if _PROCESS_ID.fullmatch(lowered) is None:
        raise BadRequestError(f"{name}: {text[:60]!r} is not a process id")
    return lowered


def unknown_parent_id(sensor_id: int) -> str:
    """Returns the parent id of a process whose parent is unknown."""
    return f"{sensor_id:08x}{_NO_PROCESS}"


def names_process(process_id: str) -> bool:
    """Whether an id names a process, so is neither "" nor the id of an unknown parent."""
    return process_id != "" and not process_id.endswith(_NO_PROCESS)


def unique_id(process_id: str, segment_id: int) -> str:
    return f"{process_id}-{segment_id:012x}"


def split_unique_id(text: str) -> tuple[str, int]:
    """Splits a unique id, which ends with 8 or 12 hex digits, into process id and segment id.

    Raises BadRequestError if the text does not have that form and 45 or 49 characters.
    """
    process_id, digits = text[:36], text[37:]
    if len(text) in (45, 49) and text[36] == "-":
        try:
            return process_id, int(digits, 16)
        except ValueError:
            pass
    raise BadRequestError(f"not a unique process id: {text[:60]!r}")


def process_hash(process_id: str) -> int:
    """Returns the CRC-32 of a process id, equal to `CRC32` of the telemetry engine."""
    return zlib.crc32(process_id.encode())


def sensor_of(process_id: str) -> int | None:
    """Returns the sensor id at the start of a process id; None if it is not hex."""
    try:
        return int(process_id[:8], 16)
    except ValueError:
        return None


def slot_of(sensor_id: int) -> int:
    """Returns the slot of a sensor's host. Servers of a cluster divide hosts by slots
    (`state/servers/slots.py`)."""
    return sensor_id % HOST_SLOTS
