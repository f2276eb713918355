"""The license, and counts for a dashboard."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

import vedette
from vedette.errors import BadRequestError
from vedette.model.rights.authorization import Deed
from vedette.model.scope import Scope
from vedette.state.accounts import license as licenses
from vedette.state.sensors import sensor_list
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members
from vedette.web.json.whole_counts import counts_within

router = Router(tags=["server"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_NO_END: Final = "9999-12-31"


@router.get("/api/license", right=Right.READ, summary="Get the license")
@router.get("/api/v1/license", right=Right.READ, summary="Get the license")
def status(here: Here, scope: Within) -> Response:
    """A server without a license works fully; only `license_valid` is false. `license_end_date` is
    9999-12-31 if the license does not end. An ended license is still valid, with `license_expired`
    true. The number of sensors is only for users who see all of them."""
    now_us = here.clock.now_us()
    found = licenses.status(here.database, here.settings.license_provider_key, now_us)
    known = found.license
    end_us = known.end_us if known else 0
    return json_answer(
        counts_within(
            {
                "license_valid": known is not None,
                "license_end_date": _day(end_us),
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


@router.post("/api/license", right=Deed.CHANGE_LICENSE, summary="Apply a license")
@router.post("/api/v1/license", right=Deed.CHANGE_LICENSE, summary="Apply a license")
def apply(here: Here, body: Body) -> Response:
    """Body: `license`, the text that the provider issued."""
    check_members(body, "license", of="the request")
    text = body.get("license")
    if not isinstance(text, str) or not text.strip():
        raise BadRequestError("license: must be a license string")
    licenses.apply(here.database, text, here.settings.license_provider_key, here.clock.now_us())
    return json_answer({"status": "success"})


@router.get("/api/v1/dashboard/statistics", right=Right.READ, summary="Get counts for a dashboard")
def dashboard(here: Here, scope: Within) -> Response:
    """Returns the number of sensors that the caller sees, and their backlog."""
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
