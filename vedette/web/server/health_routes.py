"""Liveness (`/healthz`), readiness (`/readyz`) and metrics (`/metrics`)."""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from vedette import limits
from vedette.errors import VedetteError
from vedette.state.store_identity import load_accepted_damage
from vedette.store.integrity.damage import DamagedPart, known_damage
from vedette.web.http.health_summary import health_summary, refused_records
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.wire_values import instant

router = Router(tags=["server"])


@router.get("/healthz", right=Right.OPEN, summary="Check liveness")
async def healthz(request: Request) -> Response:  # noqa: ARG001 - makes it a direct route
    """Returns immediately, without any check."""
    return json_answer({"status": "ok"})


@router.get(
    "/api/v1/health/summary", right=Right.ADMINISTER, summary="Get a summary of the server's health"
)
def summary(here: Annotated[Services, Depends(services)]) -> Response:
    """Returns the delay of detection, rejected records by reason since the start, disk usage, and
    failures. `GET /api/v1/doctor` has remedies."""
    return json_answer(health_summary(here))


@router.get(
    "/api/v1/health/refused",
    right=Right.ADMINISTER,
    summary="List rejected records",
)
def refused(here: Annotated[Services, Depends(services)]) -> Response:
    """Returns the last rejected record for each reason since the start of this server, newest
    first, with at most 2,000 bytes each. While any sensor group uses pseudonyms or hides secrets,
    letters and digits are shown as `x` and `0`."""
    found = refused_records(here)
    return json_answer([one | {"time": instant(one.pop("time_us"))} for one in found])


@router.get("/readyz", right=Right.OPEN, summary="Check readiness")
async def readyz(services: Annotated[Services, Depends(services)]) -> Response:
    """Returns 200 if the server accepts telemetry and searches cover all stored data; otherwise 503
    with the failing checks. Responds within seconds even if a component hangs. Damaged parts that
    were accepted as lost with `vedette serve --accept-store` are still listed."""
    damaged = known_damage(services.engine)
    checks = {
        "intake": "ok" if services.ingest_queue.available else "takes no data at the moment",
        **await _waited_for(services, damaged),
        "clock": services.clock_guard.doubt() or "ok",
    }
    ready = all(outcome == "ok" for outcome in checks.values())
    body: dict[str, object] = {"ready": ready, "checks": checks}
    hold = services.clock_guard.deletion_hold()
    if hold:
        body["deletion_by_age"] = f"on hold: {hold}"
    if damaged:
        body["damaged_parts"] = [part.text() for part in damaged]
    return json_answer(body, 200 if ready else 503)


async def _waited_for(services: Services, damaged: Iterable[DamagedPart]) -> dict[str, str]:
    """Runs the checks that may block concurrently, and returns their results by name."""
    asks: dict[str, Callable[[], str]] = {
        "store": lambda: _outcome(services.engine.ping),
        "state": lambda: _outcome(lambda: _ask_state(services)),
        "disk": lambda: _disk(services.settings.data),
        "parts": lambda: _parts(services, damaged),
    }
    outcome = services.health_checks.outcome
    outcomes = await asyncio.gather(*(outcome(name, ask) for name, ask in asks.items()))
    return dict(zip(asks, outcomes, strict=True))


@router.get("/metrics", right=Right.ADMINISTER, summary="Get Prometheus metrics")
def metrics(request: Request, services: Annotated[Services, Depends(services)]) -> Response:
    """Returns text or OpenMetrics, depending on `Accept`."""
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(services.metrics), headers={"Content-Type": media_type})


def _ask_state(services: Services) -> None:
    with services.database.reading() as connection:
        connection.exec_driver_sql("SELECT 1")


def _outcome(check: Callable[[], object]) -> str:
    try:
        check()
    except VedetteError as error:
        return error.reason
    return "ok"


def _parts(services: Services, damaged: Iterable[DamagedPart]) -> str:
    keys = {part.key for part in damaged}
    if not keys:
        return "ok"
    try:
        return "ok" if keys <= load_accepted_damage(services.database) else "damaged"
    except VedetteError as error:
        return error.reason


def _disk(data: Path) -> str:
    """Returns the state of the disk with the data directory, which contains at least the state and
    copies of files."""
    try:
        found = os.statvfs(data)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    is_full = found.f_bavail * found.f_frsize < limits.DISK_FREE_BYTES_MIN
    return "full" if is_full else "ok"
