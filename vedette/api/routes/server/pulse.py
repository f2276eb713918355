"""What changed for a page that is open: a few numbers, cheap enough to ask for every 15 seconds."""

from typing import Annotated, Any

import xxhash
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import scope_of_request
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.api.services import Services, services
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.devices import update_jobs
from vedette.state.devices.update_jobs import RunningJob
from vedette.state.sensors import sensor_list
from vedette.store.read.detection.alert_selection import summary

router = Router(tags=["server"])


@router.get("/api/v1/pulse", summary="What changed while a page is open")
async def pulse(
    request: Request,
    here: Annotated[Services, Depends(services)],
    scope: Annotated[Scope, Depends(scope_of_request)],
) -> Response:
    """Open alerts and the newest one, sensors whose isolation changes, update jobs that run,
    whether the store takes telemetry. With `If-None-Match` of an earlier answer it is 304 while
    nothing changed."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        waiting = Condition("status NOT IN ('Resolved', 'False Positive')")
        found = summary(engine, waiting, scope, "")
        moving = sensor_list.isolation_changes(here.database, scope)
        return {
            "open_alerts": found.alerts,
            "newest_alert": known_instant(found.newest_us),
            "isolation": moving,
            "jobs": [_job(one) for one in update_jobs.running(here.database, scope)],
            "store_accepts": here.ingest_queue.available,
        }

    body = await run_lookup(request, here, work)
    tag = f'"{xxhash.xxh64_hexdigest(repr(body).encode())}"'
    if request.headers.get("if-none-match", "") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    answer = json_answer(body | {"time": instant(here.clock.now_us())})
    answer.headers["ETag"] = tag
    return answer


def _job(one: RunningJob) -> dict[str, Any]:
    """Of the caller's devices alone."""
    return {
        "id": one.id,
        "targeted": one.targeted,
        "waiting": one.waiting,
        "failed": one.failed,
    }
