"""Liveness (`/healthz`), readiness (`/readyz`) and metrics (`/metrics`)."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.services import Services, services
from vedette.errors import VedetteError

router = APIRouter(tags=["server"])


@router.get("/healthz", summary="The process answers")
async def healthz() -> Response:
    return json_answer({"status": "ok"})


@router.get("/readyz", summary="Requests can be served")
def readyz(services: Annotated[Services, Depends(services)]) -> Response:
    """200 when the server accepts telemetry and answers searches, else 503 with the reasons."""
    checks = {
        "intake": "ok" if services.intake.available else "takes no data at the moment",
        "store": _outcome(lambda: services.engine.query("SELECT 1")),
        "state": _outcome(lambda: _ask_state(services)),
    }
    ready = all(outcome == "ok" for outcome in checks.values())
    return json_answer({"ready": ready, "checks": checks}, 200 if ready else 503)


@router.get("/metrics", summary="Prometheus metrics")
def metrics(request: Request, services: Annotated[Services, Depends(services)]) -> Response:
    """Text or OpenMetrics, by `Accept`."""
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
