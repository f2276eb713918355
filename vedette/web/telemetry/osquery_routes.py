"""osquery's TLS plugin: enrollment, configuration, log, distributed queries (docs/osquery.md).

All requests are POSTs of JSON with the credential in the body: the group's secret for enrollment,
then the node key. For an invalid node key the server returns `node_invalid` with status 200, and
osquery enrolls again.
"""

import asyncio
import re
from functools import partial
from typing import Annotated, Any, Final

import orjson
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.pipeline.submission import Submission, request_key
from vedette.respond.osquery_config import config_for
from vedette.respond.osquery_host import split_results
from vedette.state.sensors import checkins, enrolment, live_queries
from vedette.state.sensors.enrolment import Machine
from vedette.state.sensors.live_queries import Answer
from vedette.web.http.access import known_sensor
from vedette.web.http.bodies.credential_bodies import CredentialBody, credential_object
from vedette.web.http.client_address import client_address
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services

router = Router(prefix="/osquery", tags=["osquery"])

Here = Annotated[Services, Depends(services)]
Body = dict[str, Any]

INVALID: Body = {"node_invalid": True}

_STATUS: Final = re.compile(r"-?[0-9]{1,18}")

_OS_TYPES = {"windows": "windows", "darwin": "osx"}
"""Maps osquery's `platform` to operating system; all other platforms are Linux distributions."""


@router.post(
    "/enroll", right=Right.IN_BODY, summary="osquery: enroll a host with its group's secret"
)
async def enroll(request: Request, here: Here) -> Response:
    """Returns a node key. Returns 401 with `node_invalid` for an invalid or expired secret; 409
    `reenrolment_pending` for a host that already has a key, until an administrator approves."""
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


@router.post("/config", right=Right.IN_BODY, summary="osquery: get the configuration")
async def config(request: Request, here: Here) -> Response:
    """Returns the schedule for the host's operating system and group. Counts as a check-in."""
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


@router.post("/log", right=Right.IN_BODY, summary="osquery: send query results")
async def log(request: Request, here: Here) -> Response:
    """200 means that the results are stored and synced. Status lines are dropped. Facts about the
    host itself are stored with its sensor."""
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


@router.post("/distributed/read", right=Right.IN_BODY, summary="osquery: get live queries")
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


@router.post(
    "/distributed/write", right=Right.IN_BODY, summary="osquery: send rows of live queries"
)
async def write(request: Request, here: Here) -> Response:
    """Ignores results of queries that this host did not receive. Each result is committed
    separately, so that other hosts do not wait for all results of this host."""
    sent = CredentialBody(request, here.settings.body_bytes_max)
    sensor = await _node(await sent.node_key(), here)
    if sensor is None:
        return json_answer(INVALID)
    body = await sent.parsed(here.settings.body_inflated_bytes_max)
    number = sensor.sensor_id
    answers = await to_thread.run_sync(_answers, here, number, body, limiter=here.checkins)
    for answer in answers:
        work = partial(
            live_queries.record, sensor_id=number, answer=answer, now_us=here.clock.now_us()
        )
        await asyncio.wrap_future(here.commits.submit(number, work, len(answer.rows)))
    return json_answer({})


def _answers(here: Services, sensor_id: int, body: Body) -> list[Answer]:
    """Returns the results of queries that the host received; ignores all others. Raises
    BadRequestError."""
    queries, statuses = body.get("queries"), body.get("statuses") or {}
    messages = body.get("messages") or {}
    if not isinstance(queries, dict) or not all(
        isinstance(part, dict) for part in (statuses, messages)
    ):
        raise BadRequestError("queries: rows by query id")
    found = []
    for query_id in sorted(live_queries.sent_to(here.database, sensor_id)):
        name = str(query_id)
        status = str(statuses.get(name, 0))
        if name in queries and _STATUS.fullmatch(status):
            rows = queries[name] if isinstance(queries[name], list) else []
            message = _text(messages, name)
            number = min(abs(int(status)), 1 << 31)
            found.append(live_queries.encoded_answer(query_id, rows, number, message))
    return found


def _reported(
    body: Body, sensor: Principal, address: str
) -> tuple[checkins.OsqueryFacts, Submission]:
    """Returns a log's facts about the host, and its other results. Raises BadRequestError."""
    data = body.get("data")
    if not isinstance(data, list):
        raise BadRequestError("data: a list of results")
    facts, results = split_results(data if body.get("log_type") == "result" else [])
    records = [_result(one) for one in results]
    content = b"\n".join([str(sensor.sensor_id).encode(), *records])
    key = request_key(content)
    return facts, Submission(
        records,
        sensor.group_id,
        key,
        len(content),
        host=sensor.name,
        comms_ip=address,
        sensor_id=sensor.sensor_id,
    )


def _result(one: Any) -> bytes:
    """Returns a result as JSON text; some versions already send text."""
    return one.encode("utf-8", "replace") if isinstance(one, str) else orjson.dumps(one)


async def _node(node_key: object, here: Services) -> Principal | None:
    """Returns the sensor of a node key; None for an invalid key."""
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
    """Returns the node key in `Authorization: NodeKey ID:KEY`, "" without one."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "nodekey" else ""


def _part(details: Any, name: str) -> Body:
    part = details.get(name) if isinstance(details, dict) else None
    return part if isinstance(part, dict) else {}


def _text(part: Body, name: str) -> str:
    value = part.get(name)
    return str(value)[: limits.SENSOR_TEXT_CHARS_MAX].replace("\0", "") if value else ""
