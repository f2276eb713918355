"""The license, and the counts of a dashboard."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

import vedette
from vedette.api.http.access import scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import check_members
from vedette.api.schemas.whole_counts import counts_within
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.model.scope import Scope
from vedette.state.accounts import license as licenses
from vedette.state.sensors import sensor_list

router = Router(tags=["server"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_NO_END: Final = "9999-12-31"


@router.get("/api/license", summary="The license")
@router.get("/api/v1/license", summary="The license")
def status(here: Here, scope: Within) -> Response:
    """A server without a license works: `license_valid` is false then, and nothing else changes.
    A license that has ended is still valid, and `license_expired`. How many sensors there are is
    for users who see all of them."""
    now_us = here.clock.now_us()
    found = licenses.status(here.database, here.settings.license_provider_key, now_us)
    known = found.license
    end_us = known.end_us if known else 0
    return json_answer(
        counts_within(
            {
                "license_valid": known is not None,
                "license_end_date": _day(end_us) if known else None,
                "licensed_sensor_count": known.sensors if known else 0,
                "license_expired": bool(end_us) and now_us > end_us,
                "licensed_sensor_count_exceeded": known is not None
                and found.sensors > known.sensors,
                "actual_sensor_count": found.sensors,
                "server_token": found.server_token,
                "license_request_block": licenses.request_block(found, vedette.__version__),
            },
            scope,
        )
    )


@router.post("/api/license", summary="Apply a license")
@router.post("/api/v1/license", summary="Apply a license")
def apply(here: Here, body: Body) -> Response:
    """Takes `license`, the text that the provider issued."""
    check_members(body, "license", of="the request")
    text = body.get("license")
    if not isinstance(text, str) or not text.strip():
        raise BadRequestError("license: must be the text of a license")
    licenses.apply(here.database, text, here.settings.license_provider_key, here.clock.now_us())
    return json_answer({"status": "success"})


@router.get("/api/v1/dashboard/statistics", summary="Counts for a dashboard")
def dashboard(here: Here, scope: Within) -> Response:
    """Sensors that the caller sees, and what they still have to send."""
    found = sensor_list.totals(here.database, scope, here.clock.now_us())
    return json_answer(
        {
            "sensor_count": found.sensors,
            "active_sensor_count": found.active,
            "num_eventlog_bytes": found.eventlog_bytes,
            "num_storefiles_bytes": found.storefiles_bytes,
        }
    )


def _day(time_us: int) -> str:
    if not time_us:
        return _NO_END
    return datetime.fromtimestamp(time_us // 1_000_000, UTC).date().isoformat()
