"""`GET /api/v1/doctor`: what is wrong with this server (docs/operations.md#what-is-wrong)."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.finding import findings_body
from vedette.api.schemas.parameters import described, flag
from vedette.api.services import Services, services
from vedette.doctor.examine import Examined, Intake, examine

router = Router(tags=["server"])


@router.get(
    "/api/v1/doctor",
    summary="What is wrong, and what to do",
    openapi_extra=described(
        ("verify", "true: read all of telemetry and compare checksums; seconds per gigabyte")
    ),
)
def doctor(request: Request, here: Annotated[Services, Depends(services)]) -> Response:
    """The findings of all checks; always 200 when they could be made."""
    queue = here.ingest_queue
    examined = Examined(
        here.settings,
        here.clock,
        here.database,
        here.engine,
        here.clock_guard,
        Intake(queue.available, queue.waiting_bytes),
    )
    findings = examine(examined, verify=flag(request.query_params, "verify"))
    return json_answer(findings_body(findings, is_running=True))
