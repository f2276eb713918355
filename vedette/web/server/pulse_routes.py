"""Changes for an open page: a few numbers, cheap enough to poll every 15 seconds."""

from typing import Annotated, Any

import xxhash
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.devices import update_jobs
from vedette.state.devices.update_jobs import RunningJob
from vedette.state.sensors import sensor_list
from vedette.store.read.detection.alert_selection import summary
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.json.wire_values import instant, known_instant
from vedette.web.server.pulse_versions import Reading, versions

router = Router(tags=["server"])


@router.get(
    "/api/v1/pulse",
    right=Right.READ,
    summary="Poll for changes while a page is open",
    openapi_extra=described(("of", "Objects to follow, such as sensor:12,job:1f, at most 200")),
)
async def pulse(
    request: Request,
    here: Annotated[Services, Depends(services)],
    scope: Annotated[Scope, Depends(scope_of_request)],
) -> Response:
    """Returns the number of open alerts and the newest alert, sensors whose isolation is changing,
    running update jobs, and whether the store accepts telemetry. `followed` has the `version` of
    each object in `of` and whether it is `settled`; null for an object that the caller cannot see.
    Returns 304 if `If-None-Match` has the ETag of the current response."""
    caller, names = principal_of(request), request.query_params.get("of", "")

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
            "followed": versions(Reading(engine, here, caller, scope), names),
        }

    body = await run_lookup(request, here, work)
    tag = f'"{xxhash.xxh64_hexdigest(repr(body).encode())}"'
    if request.headers.get("if-none-match", "") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    answer = json_answer(body | {"time": instant(here.clock.now_us())})
    answer.headers["ETag"] = tag
    return answer


def _job(one: RunningJob) -> dict[str, Any]:
    """Returns a job; counts cover only the caller's devices."""
    return {
        "id": one.id,
        "targeted": one.targeted,
        "waiting": one.waiting,
        "failed": one.failed,
    }
