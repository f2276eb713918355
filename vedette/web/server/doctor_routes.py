"""`GET /api/v1/doctor`: problems of this server (docs/operations-monitoring.md#what-is-wrong)."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.doctor.examine import Examined, Intake, examine
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, flag
from vedette.web.server.findings_json import findings_body

router = Router(tags=["server"])


@router.get(
    "/api/v1/doctor",
    right=Right.ADMINISTER,
    summary="Diagnose the server",
    openapi_extra=described(
        ("verify", "true: read all of telemetry and compare checksums; seconds per gigabyte")
    ),
)
def doctor(request: Request, here: Annotated[Services, Depends(services)]) -> Response:
    """Returns the findings of all checks with remedies; always 200 if the checks could run."""
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
