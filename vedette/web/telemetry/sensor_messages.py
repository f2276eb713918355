"""Messages of sensors as typed structs (docs/sensor-protocol.md).

Limits of numbers and texts are part of the types: a message with an invalid member is rejected as a
whole, naming the member. Unknown members are ignored, so that newer sensors work with older
servers.
"""

import re
from typing import Annotated, TypeVar

import msgspec
from fastapi import Request
from msgspec import Meta, Struct

from vedette import limits
from vedette.errors import BadRequestError, ForbiddenError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.web.http.bodies.request_bodies import decoded_body

SENSOR_BODY_BYTES_MAX: Limit[int] = 512 * 1024
"""Bytes of an enrollment, a check-in or an offer of files, after decompression. Real check-ins have
1 kB."""


Number = Annotated[int, Meta(ge=0, le=limits.SENSOR_NUMBER_MAX)]
Text = Annotated[str, Meta(max_length=limits.SENSOR_TEXT_CHARS_MAX)]
Md5 = Annotated[str, Meta(pattern="^([0-9a-fA-F]{32})?$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$")]

T = TypeVar("T", bound="Message")


class Message(Struct):
    """A message of an enrolled sensor. A sensor id in it must be the sender's own."""

    sensor_id: int | None = None


class Host(Struct, kw_only=True):
    """Properties of a host at enrollment."""

    hostname: Annotated[str, Meta(min_length=1, max_length=limits.HOSTNAME_CHARS_MAX)]
    machine_id: Text = ""
    os_type: Annotated[str, Meta(pattern="^(linux|windows|osx)$")]
    os_version: Text = ""
    kernel: Text = ""
    arch: Text = ""
    boot_id: Text = ""
    physical_memory_size: Number = 0
    computer_sid: Text = ""
    host_type: Annotated[str, Meta(pattern="^(workstation|server|domain_controller|)$")] = ""


class Enrolment(Message, kw_only=True):
    secret: Text
    previous_key: Text = ""
    """The host's previous key, which proves that it is the same host."""
    host: Host
    sensor_version: Text = ""


class Adapter(Struct):
    ip: Annotated[str, Meta(max_length=45, pattern="^[0-9A-Fa-f.:]*$")] = ""
    mac: Annotated[str, Meta(max_length=32, pattern="^[0-9A-Fa-f:.-]*$")] = ""


class Blocked(Struct):
    """A banned program whose start was blocked."""

    md5: Md5 = ""
    sha256: Annotated[str, Meta(pattern="^([0-9a-fA-F]{64})?$")] = ""
    path: Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX)] = ""
    pid: Number = 0
    time_us: Number = 0
    count: Annotated[int, Meta(ge=1, le=1 << 31)] = 1


class Sequence(Struct):
    epoch: Text = ""
    next: Number = 0
    blocks: Number = 0
    """Idempotency key of the list of blocks; 0 without one."""


class Unsent(Struct, kw_only=True):
    """A requested file that the sensor cannot send, with at least one hash."""

    sha256: Annotated[str, Meta(pattern="^([0-9a-fA-F]{64})?$")] = ""
    md5: Md5 = ""
    reason: Text = ""


class Checkin(Message, kw_only=True):
    """A check-in. Sizes are in bytes; None means unknown."""

    clock_us: Number
    boot_id: Text | None = None
    uptime_s: Number | None = None
    sensor_uptime_s: Number | None = None
    sensor_version: Text | None = None
    health_status: Annotated[int, Meta(ge=0, le=100)] | None = None
    health_message: Text | None = None
    event_backlog_bytes: Number | None = None
    file_backlog_bytes: Number | None = None
    system_volume_total_bytes: Number | None = None
    system_volume_free_bytes: Number | None = None
    physical_memory_size: Number | None = None
    adapters: Annotated[list[Adapter], Meta(max_length=limits.SENSOR_ADAPTERS_MAX)] | None = None
    power_state: Annotated[int, Meta(ge=0, le=255)] | None = None
    utc_offset_min: Annotated[int, Meta(ge=-1_440, le=1_440)] | None = None
    is_isolating: bool | None = None
    flushed_before_us: Number = 0
    flushed_number: Number | None = None
    restarted: bool = False
    uninstalling: bool = False
    ban_version: Number = 0
    filter_version: Number = 0
    blocks: Annotated[list[Blocked], Meta(max_length=limits.SENSOR_LIST_MAX)] = []
    sequence: Sequence | None = None
    unsent: Annotated[list[Unsent], Meta(max_length=limits.SENSOR_LIST_MAX)] = []


class OfferedFile(Struct, kw_only=True):
    sha256: Sha256
    md5: Md5 = ""
    size: Number
    path: Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX)] = ""


class Offer(Message, kw_only=True):
    files: Annotated[list[OfferedFile], Meta(max_length=limits.SENSOR_LIST_MAX)]


async def message(request: Request, kind: type[T], principal: Principal) -> T:
    """Returns the message in a body. Raises BadRequestError with the member's name, TooLargeError,
    and ForbiddenError for a message that names a sensor other than its sender."""
    most = SENSOR_BODY_BYTES_MAX
    found = await decoded_body(request, most, most, lambda body: decoded(body, kind))
    if found.sensor_id not in (None, principal.sensor_id):
        raise ForbiddenError(f"this key is that of sensor {principal.sensor_id} and no other")
    return found


def decoded(body: bytes, kind: type[T]) -> T:
    """Decodes a message. Raises BadRequestError that names the invalid member."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at ")
        member = place.strip("`").removeprefix("$").lstrip(".") or _missing(text)
        shown = f"{member}: {text}" if member else text
        raise BadRequestError(shown, reason="bad_member") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from None


def _missing(text: str) -> str:
    found = re.search(r"required field `(\w+)`", text)
    return found[1] if found else ""
