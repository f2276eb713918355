"""Changing an alert, its history and notes, and the risk of a host (docs/alerts.md)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.triage import Analyst, Wanted, change_alert
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.alert_changes import note_of, one_change
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.search.alert import alert_history_body, whole_alert_body
from vedette.api.schemas.search.alert_results import risk_body
from vedette.api.schemas.wire_values import instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ForbiddenError, NotFoundError
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.model.scope import Scope
from vedette.search.alerts.alert_search import alert
from vedette.search.alerts.host_risk import host_risk, risk_by_day
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts.users import id_of
from vedette.state.policy import alert_audit
from vedette.state.sensors import sensor_list

router = Router(tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_NEEDED: Final = ROLE_NAMES[Role.ANALYST]


@router.post("/api/v1/alert/{alert_id}", summary="Change an alert")
@router.post("/api/v2/alert/{alert_id}", summary="Change an alert")
def change(alert_id: str, here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes `status`, `assigned_to` and `notes`; other members of a whole record are ignored. It
    needs the Analyst role in the host's group. The answer is the alert."""
    return _changed(here, caller, scope, alert_id, one_change(body, alert_id))


@router.get("/api/v1/alert/{alert_id}/history", summary="The history of an alert")
async def history(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    """When the alert was made and by which version of the rule; then states and notes, the oldest
    first: who set them, and when."""

    def work(engine: BoundedEngine) -> Response:
        return json_answer(alert_history_body(alert(engine, scope, alert_id)))

    return await run_lookup(request, here, work)


@router.post("/api/v1/alert/{alert_id}/note", summary="Add a note to an alert")
def add_note(alert_id: str, here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes `text`, which becomes the alert's `notes`; earlier notes stay in its history."""
    return _changed(here, caller, scope, alert_id, note_of(body))


def _changed(
    here: Services, caller: Principal, scope: Scope, alert_id: str, wanted: Wanted
) -> Response:
    known = alert(here.engine, scope, alert_id)
    _check_right(here, caller, scope, known["sensor_id"])
    changed = change_alert(
        here.engine, here.database, scope, known["id"], wanted, _analyst(here, caller)
    )
    return json_answer(whole_alert_body(changed) | {"result": "success"})


def _check_right(here: Services, caller: Principal, scope: Scope, sensor_id: int) -> None:
    if caller.is_global_admin:
        return
    group_id = sensor_list.get(here.database, scope, sensor_id).group_id
    if caller.role_in(group_id) < Role.ANALYST:
        raise ForbiddenError(f"{caller.name} must be {_NEEDED} in sensor group {group_id}")


@router.get("/api/v1/alerts/audit", summary="Bulk changes of alerts")
def audit(here: Here) -> Response:
    """The newest first. `changed` is null where the server was stopped during the change."""
    with here.database.reading() as connection:
        found = alert_audit.newest(connection)
    return json_answer(
        [
            {
                "id": one.id,
                "timestamp": instant(one.time_us),
                "user_id": one.user_id,
                "username": one.username,
                "selected": one.selected,
                "changes": one.changes,
                "changed": None if one.changed == alert_audit.INTERRUPTED else one.changed,
            }
            for one in found
        ]
    )


@router.get("/api/v1/sensor/{sensor_id}/risk", summary="The risk of a host")
async def risk(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    """From 0 to 100, of its open alerts; older ones count less. `by_day`: what it was at the
    end of each of the last 30 days."""

    def work(engine: BoundedEngine) -> Response:
        number = _sensor_number(sensor_id)
        sensor_list.get(here.database, scope, number)
        now_us = here.clock.now_us()
        found = host_risk(engine, scope, number, now_us)
        return json_answer(risk_body(found, risk_by_day(engine, scope, number, now_us)))

    return await run_lookup(request, here, work)


def _analyst(here: Services, caller: Principal) -> Analyst:
    return Analyst(id_of(here.database, caller.name), caller.name, here.clock.now_us())


def _sensor_number(text: str) -> int:
    """A sensor id from a path. Raises NotFoundError for what cannot be one."""
    try:
        return bounded_number("sensor_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no sensor {text[:40]!r}") from None
