"""osquery's TLS plugin: enrolment, configuration, log, distributed queries (docs/osquery.md).

All requests are POSTs of JSON with the credential in the body: the group's secret to enrol, then
the node key. An unknown node key is answered with `node_invalid`, status 200, and osquery enrols
again.
"""

import asyncio
import re
from typing import Annotated, Any, Final

import orjson
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import known_sensor
from vedette.api.http.client_address import client_address
from vedette.api.http.credential_bodies import CredentialBody, credential_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.pipeline.submission import Submission, request_key
from vedette.respond.osquery_config import config_for
from vedette.respond.osquery_host import split_results
from vedette.state.sensors import checkins, enrolment, live_queries
from vedette.state.sensors.enrolment import Machine

router = Router(prefix="/osquery", tags=["osquery"])

Here = Annotated[Services, Depends(services)]
Body = dict[str, Any]

INVALID: Body = {"node_invalid": True}

_ID: Final = re.compile(r"[0-9]{1,10}")
_STATUS: Final = re.compile(r"-?[0-9]{1,18}")

_OS_TYPES = {"windows": "windows", "darwin": "osx"}
"""By `platform` of osquery; everything else is some Linux."""


@router.post("/enroll", summary="osquery: a node key for the group's secret")
async def enroll(request: Request, here: Here) -> Response:
    """401 with `node_invalid` for a secret that is wrong or has ended; 409 `reenrolment_pending`
    for a host that has a key already, until an administrator approves."""
    body = await credential_object(request)
    secret = body.get("enroll_secret")
    if not isinstance(secret, str):
        raise BadRequestError("enroll_secret: the enrolment secret of a sensor group")
    made = await to_thread.run_sync(
        enrolment.enrol,
        here.database,
        here.sensors,
        secret,
        _machine(body),
        "osquery",
        here.clock.now_us(),
        _previous_key(request),
        client_address(request, here.settings.trusted_proxies),
        limiter=here.checkins,
    )
    here.sensor_keys.evict(made.sensor.id)
    return json_answer({"node_key": f"{made.sensor.id}:{made.key}", "node_invalid": False})


@router.post("/config", summary="osquery: its configuration")
async def config(request: Request, here: Here) -> Response:
    """The schedule for the host's operating system and group; counts as a check-in."""
    sensor = await _node((await credential_object(request)).get("node_key"), here)
    if sensor is None:
        return json_answer(INVALID)
    now_us, number, group_id = here.clock.now_us(), sensor.sensor_id, sensor.group_id
    os_type, not_collected = await asyncio.wrap_future(
        here.commits.submit(
            number, lambda connection: checkins.contact(connection, number, group_id, now_us)
        )
    )
    return json_answer(config_for(os_type, not_collected) | {"node_invalid": False})


@router.post("/log", summary="osquery: results of its queries")
async def log(request: Request, here: Here) -> Response:
    """200 means that the results are stored and synced; status lines are dropped. What the host
    reports of itself goes to its sensor."""
    sent = CredentialBody(request, here.settings.body_bytes_max)
    sensor = await _node(await sent.node_key(), here)
    if sensor is None:
        return json_answer(INVALID)
    body = await sent.parsed(here.settings.body_inflated_bytes_max)
    address = client_address(request, here.settings.trusted_proxies)
    facts, submission = await to_thread.run_sync(
        _reported, body, sensor, address, limiter=here.splits
    )
    now_us, number = here.clock.now_us(), sensor.sensor_id
    if submission.records:
        await here.intake.submit(submission)
    future = here.commits.submit(
        number, lambda connection: checkins.note_contact(connection, number, now_us, facts)
    )
    await asyncio.wrap_future(future)
    return json_answer({})


@router.post("/distributed/read", summary="osquery: live queries to answer")
async def read(request: Request, here: Here) -> Response:
    sensor = await _node((await credential_object(request)).get("node_key"), here)
    if sensor is None:
        return json_answer(INVALID)
    now_us, number = here.clock.now_us(), sensor.sensor_id
    queries: dict[str, str] = {}
    if await to_thread.run_sync(
        live_queries.waiting_for, here.database, number, limiter=here.checkins
    ):
        future = here.commits.submit(
            number, lambda connection: live_queries.hand_out(connection, number, now_us)
        )
        queries = await asyncio.wrap_future(future)
    return json_answer({"queries": queries, "discovery": {}, "node_invalid": False})


@router.post("/distributed/write", summary="osquery: the rows of live queries")
async def write(request: Request, here: Here) -> Response:
    """Answers to queries that this host did not get are ignored."""
    sent = CredentialBody(request, here.settings.body_bytes_max)
    sensor = await _node(await sent.node_key(), here)
    if sensor is None:
        return json_answer(INVALID)
    body = await sent.parsed(here.settings.body_inflated_bytes_max)
    answers = _answers(body)
    now_us, number = here.clock.now_us(), sensor.sensor_id

    def keep(connection: Any) -> None:
        for query_id, rows, status, message in answers:
            live_queries.answer(connection, number, query_id, rows, status, message, now_us)

    await asyncio.wrap_future(here.commits.submit(number, keep))
    return json_answer({})


def _answers(body: Body) -> list[tuple[int, list[Any], int, str]]:
    """Query id, rows, status and message of every answer. Raises BadRequestError."""
    queries, statuses = body.get("queries"), body.get("statuses") or {}
    messages = body.get("messages") or {}
    if not isinstance(queries, dict) or not all(
        isinstance(part, dict) for part in (statuses, messages)
    ):
        raise BadRequestError("queries: rows by query id")
    found = []
    for name, rows in queries.items():
        status = str(statuses.get(name, 0))
        if _ID.fullmatch(name) and int(name) < 1 << 31 and _STATUS.fullmatch(status):
            kept = rows if isinstance(rows, list) else []
            message = str(messages.get(name) or "")[: limits.SENSOR_TEXT_CHARS_MAX]
            found.append((int(name), kept, min(abs(int(status)), 1 << 31), message))
    return found


def _reported(
    body: Body, sensor: Principal, address: str
) -> tuple[checkins.OsqueryFacts, Submission]:
    """What a log says of its host, and its other results. Raises BadRequestError."""
    data = body.get("data")
    if not isinstance(data, list):
        raise BadRequestError("data: a list of results")
    facts, results = split_results(data if body.get("log_type") == "result" else [])
    records = [_result(one) for one in results]
    content = b"\n".join([str(sensor.sensor_id).encode(), *records])
    key = request_key(content)
    return facts, Submission(
        records, sensor.group_id, key, len(content), host=sensor.name, comms_ip=address
    )


def _result(one: Any) -> bytes:
    """A result as its own JSON text; some versions send them as text already."""
    return one.encode("utf-8", "replace") if isinstance(one, str) else orjson.dumps(one)


async def _node(node_key: object, here: Services) -> Principal | None:
    """The sensor of a node key; None for an unknown key."""
    number, _, key = node_key.partition(":") if isinstance(node_key, str) else ("", "", "")
    if not (number.isascii() and number.isdecimal() and key):
        return None
    return await known_sensor(here, int(number[:20]), key, "osquery")


def _machine(body: Body) -> Machine:
    details = body.get("host_details")
    system, version, program = (
        _part(details, name) for name in ("system_info", "os_version", "osquery_info")
    )
    platform = _text(version, "platform")
    name = _text(system, "hostname") or str(body.get("host_identifier") or "")
    memory = _text(system, "physical_memory")
    return Machine(
        hostname=name[: limits.HOSTNAME_CHARS_MAX],
        os_type=_OS_TYPES.get(platform, "linux") if platform else "",
        machine_id=_text(system, "uuid"),
        os_version=" ".join(filter(None, (_text(version, "name"), _text(version, "version")))),
        arch=_text(system, "cpu_type"),
        memory_bytes=int(memory[:18]) if memory.isascii() and memory.isdecimal() else 0,
        sensor_version=_text(program, "version"),
        host_type="server" if "windows server" in _text(version, "name").lower() else "",
    )


def _previous_key(request: Request) -> str:
    """The node key in `Authorization: NodeKey ID:KEY`, "" without."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "nodekey" else ""


def _part(details: Any, name: str) -> Body:
    part = details.get(name) if isinstance(details, dict) else None
    return part if isinstance(part, dict) else {}


def _text(part: Body, name: str) -> str:
    value = part.get(name)
    return str(value)[: limits.SENSOR_TEXT_CHARS_MAX].replace("\0", "") if value else ""
