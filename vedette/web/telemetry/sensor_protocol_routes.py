"""The sensor protocol: enrollment, check-in, events (docs/sensor-protocol.md).

These are the most frequent requests of a fleet, so they take the fast path
(`web/http/fast_path.py`) and use no dependencies of the framework.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import re2
from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, ForbiddenError
from vedette.ingest.decode.vedette_sensor import FORMAT
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.pipeline.submission import Submission, request_key
from vedette.respond import orders
from vedette.state.devices.update_progress import Sighting, advance
from vedette.state.files import binary_orders
from vedette.state.files.binary_orders import Refusal
from vedette.state.sensors import checkins, enrolment, sensor_queues
from vedette.state.sensors.checkins import CheckIn, Progress, Report, WantedState
from vedette.state.sensors.sensor_queues import Block
from vedette.state.sensors.update_signing import update_public_key
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.credential_bodies import unauthenticated_body
from vedette.web.http.bodies.request_bodies import decoded_body
from vedette.web.http.client_address import client_address
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services_of
from vedette.web.json.parameters import bounded_number, described
from vedette.web.telemetry.sensor_messages import Checkin, Enrolment, decoded, message

SENSOR_BLOCK_BYTES_MAX: Limit[int] = 4 * 1024 * 1024
"""Bytes of a block of sensor events, after decompression."""


router = Router(prefix="/sensor/v1", tags=["sensor protocol"])

_EPOCH: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NAMED_SENSOR: Final = re2.compile(rb'"sensor_id"\s*:\s*"?([0-9]+)')
_UNKNOWN_MAC: Final = "000000000000"


@dataclass(frozen=True, slots=True)
class _BlockBody:
    """A block of events, split into records."""

    records: list[bytes]
    byte_count: int
    content: int
    """Hash of the whole block."""


@router.post("/enrol", right=Right.IN_BODY, summary="Enroll a host with its group's secret")
async def enrol(request: Request) -> Response:
    """Returns the sensor's id and its key, which is shown only once. A host that already has a key
    sends it as `previous_key`; without it the server returns 409 `reenrolment_pending` until an
    administrator approves."""
    here = services_of(request)
    sent = decoded(await unauthenticated_body(request), Enrolment)
    host = sent.host
    machine = enrolment.Machine(
        hostname=host.hostname,
        os_type=host.os_type,
        machine_id=host.machine_id,
        os_version=host.os_version,
        kernel=host.kernel,
        arch=host.arch,
        boot_id=host.boot_id,
        memory_bytes=host.physical_memory_size,
        computer_sid=host.computer_sid,
        sensor_version=sent.sensor_version,
        host_type=host.host_type,
    )
    now_us = here.clock.now_us()
    made = await to_thread.run_sync(
        enrolment.enrol,
        here.database,
        here.sensors,
        sent.secret,
        machine,
        "sensor",
        now_us,
        sent.previous_key,
        client_address(request, here.settings.trusted_proxies),
        limiter=here.checkins,
    )
    here.sensor_keys.evict(made.sensor.id)
    return json_answer(
        {
            "sensor_id": made.sensor.id,
            "key": made.key,
            "checkin_interval_s": here.checkin_interval.interval_s,
            "update_public_key": await to_thread.run_sync(update_public_key, here.database),
        }
    )


@router.post("/checkin", right=Right.SENSOR, summary="Check in and receive orders")
async def check_in(request: Request) -> Response:
    """Returns the sensor's orders. The report is durable before the response."""
    here, principal = services_of(request), principal_of(request)
    sent = await message(request, Checkin, principal)
    now_us, interval = here.clock.now_us(), here.checkin_interval
    progress = Progress(
        sent.flushed_before_us, sent.flushed_number, sent.restarted, sent.uninstalling
    )
    report = _report(sent, now_us)
    item = CheckIn(
        principal.sensor_id, report, progress, now_us, interval.interval_s, interval.least_s
    )
    future = here.commits.submit_to(checkins.check_in, principal.sensor_id, item)
    standing = await asyncio.wrap_future(future)
    body = {
        "checkin_interval_s": standing.interval_s,
        "server_time_us": now_us,
        "isolate": standing.isolate,
        "isolation_allow": list(here.settings.isolation_allow),
        "flush_before_us": standing.flush_before_us or None,
        "flush_number": standing.flush_number if standing.flush_before_us else None,
        "restart": standing.restart,
        "uninstall": standing.uninstall,
        "not_collected": standing.group.settings.not_collected,
        "quotas": dict(standing.group.settings.quotas),
        "event_format": FORMAT,
    }
    lists = here.order_cache.cached(standing, sent.ban_version, sent.filter_version)
    if lists is None or sent.blocks or standing.isolate:
        lists = await to_thread.run_sync(
            _lists, here, standing, sent, now_us, limiter=here.checkins
        )
    if sent.unsent or here.ordering_sensors.waits(principal.sensor_id):
        lists = lists | await to_thread.run_sync(
            _wanted_binaries, here, principal.sensor_id, sent, now_us, limiter=here.checkins
        )
    if here.update_targets.waits(principal.sensor_id):
        lists = lists | await _update_of_job(here, standing, sent.health_message or "", now_us)
    return json_answer(body | lists)


async def _update_of_job(
    here: Services, standing: WantedState, health_message: str, now_us: int
) -> dict[str, Any]:
    """Returns the member `update` for a device that a sensor update job waits for; empty if the job
    has no order for it now."""
    seen = Sighting(standing.id, standing.sensor_version, health_message, now_us)
    future = here.commits.submit(standing.id, lambda connection: advance(connection, seen))
    kit = await asyncio.wrap_future(future)
    if kit is None:
        return {}
    order = await to_thread.run_sync(
        orders.kit_order, here.database, kit.version, kit.sha256, kit.size, limiter=here.checkins
    )
    return {"update": order}


def _wanted_binaries(here: Services, sensor_id: int, sent: Checkin, now_us: int) -> dict[str, Any]:
    """Returns the member `want_binaries`, after recording the files that the sensor cannot send."""
    if sent.unsent:
        refusals = [Refusal(one.md5.lower(), one.sha256.lower(), one.reason) for one in sent.unsent]
        binary_orders.refuse(here.database, sensor_id, refusals, now_us)
    return {"want_binaries": binary_orders.hand_out(here.database, sensor_id, now_us)}


def _lists(here: Services, standing: WantedState, sent: Checkin, now_us: int) -> dict[str, Any]:
    if sent.blocks:
        blocks = [msgspec.structs.asdict(one) for one in sent.blocks]
        number = sent.sequence.blocks if sent.sequence else 0
        orders.note_blocks(here.database, standing, blocks, number, now_us)
    lists = here.order_cache.orders(standing, sent.ban_version, sent.filter_version)
    allowed = orders.isolation_allow(here.database, standing, here.settings.isolation_allow)
    return {"isolation_allow": allowed} | lists


def _report(sent: Checkin, now_us: int) -> Report:
    return Report(
        boot_id=sent.boot_id,
        clock_delta_s=round((sent.clock_us - now_us) / 1_000_000),
        uptime_s=sent.uptime_s,
        sensor_uptime_s=sent.sensor_uptime_s,
        sensor_version=sent.sensor_version,
        health_status=sent.health_status,
        health_message=sent.health_message,
        eventlog_bytes=sent.event_backlog_bytes,
        storefiles_bytes=sent.file_backlog_bytes,
        volume_total_bytes=sent.system_volume_total_bytes,
        volume_free_bytes=sent.system_volume_free_bytes,
        memory_bytes=sent.physical_memory_size,
        network_adapters=_adapters(sent),
        addresses=None if sent.adapters is None else "|".join(one.ip for one in sent.adapters),
        power_state=sent.power_state,
        utc_offset_min=sent.utc_offset_min,
        is_isolating=sent.is_isolating,
    )


def _adapters(sent: Checkin) -> str | None:
    """Formats addresses and MACs as in docs/api-objects.md#sensor: `ip,mac|ip,mac|`."""
    if sent.adapters is None:
        return None
    macs = (re.sub("[^0-9a-f]", "", one.mac.lower()) or _UNKNOWN_MAC for one in sent.adapters)
    return "".join(f"{one.ip},{mac}|" for one, mac in zip(sent.adapters, macs, strict=True))


@router.post(
    "/events",
    right=Right.SENSOR,
    summary="Send a block of events",
    openapi_extra=described(
        ("epoch", "Id of the queue: letters, digits, dots, dashes and underscores"),
        ("sequence", "Number of the block in its queue, from 1"),
    ),
)
async def events(request: Request) -> Response:
    """200 means that the block is stored and synced. Idempotent: a repeated block gets the same
    response and is not stored again."""
    here, principal = services_of(request), principal_of(request)
    epoch = request.query_params.get("epoch", "")
    if not _EPOCH.fullmatch(epoch):
        raise BadRequestError("epoch: 1 to 64 letters, digits, dots, dashes and underscores")
    number = bounded_number("sequence", request.query_params.get("sequence", ""), least=1)
    most = SENSOR_BLOCK_BYTES_MAX
    body = await decoded_body(
        request, most, most, lambda raw: _block_body(raw, principal.sensor_id)
    )
    block = Block(principal.sensor_id, epoch, number, body.content)
    expected = await to_thread.run_sync(
        sensor_queues.stored_before, here.database, block, limiter=here.authentications
    )
    if expected is not None:
        return _acknowledged(number, expected, [])
    is_empty = not body.records
    address = client_address(request, here.settings.trusted_proxies)
    rejected = [] if is_empty else await _store(here, principal, block, body, address)
    now_us = here.clock.now_us()
    future = here.commits.submit(
        principal.sensor_id, lambda connection: sensor_queues.record(connection, block, now_us)
    )
    return _acknowledged(number, await asyncio.wrap_future(future), rejected)


async def _store(
    here: Services, principal: Principal, block: Block, body: _BlockBody, client_ip: str
) -> list[dict[str, Any]]:
    """Stores a block and returns its rejected records."""
    submission = Submission(
        body.records,
        principal.group_id,
        _key(block),
        body.byte_count,
        host=principal.name,
        comms_ip=client_ip,
        sensor_id=principal.sensor_id,
    )
    receipt = await here.intake.submit(submission)
    return [
        {"position": one.position, "reason": one.reason, "message": one.message}
        for one in receipt.refusals[: limits.INGEST_ERRORS_MAX]
    ]


def _acknowledged(number: int, expected: int, rejected: list[dict[str, Any]]) -> Response:
    return json_answer({"acknowledged": number, "expected": expected, "rejected": rejected})


def _block_body(body: bytes, sensor_id: int) -> _BlockBody:
    """Splits a block into records. Raises ForbiddenError for an event that names another sensor."""
    records = [line for line in body.split(b"\n") if line.strip()]
    if any(int(named[:20]) != sensor_id for named in _NAMED_SENSOR.findall(body)):
        raise ForbiddenError(f"this key is that of sensor {sensor_id} and no other")
    return _BlockBody(records, sum(map(len, records)), request_key(body))


def _key(block: Block) -> int:
    """Returns the key by which the store deduplicates the block if the server stops before
    recording it."""
    identity = f"{block.sensor_id}:{block.epoch}:{block.number}:{block.content}"
    return request_key(identity.encode())
