"""Changes to an alert, its history and notes, and the risk of a host (docs/alerts.md)."""

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.triage import Analyst, Wanted, change_alert
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, of_groups, require
from vedette.model.scope import Scope
from vedette.search.alerts.alert_search import alert
from vedette.search.alerts.host_risk import host_risk, risk_by_day
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts.users import id_of
from vedette.state.policy import alert_audit
from vedette.state.sensors import sensor_list
from vedette.web.alerts.alert_changes_json import note_of, one_change
from vedette.web.alerts.alert_results_json import risk_body
from vedette.web.alerts.models import alert_history_body, whole_alert_body
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.wire_values import instant

router = Router(tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.post("/api/v1/alert/{alert_id}", right=Right.ACT, summary="Change an alert")
@router.post("/api/v2/alert/{alert_id}", right=Right.ACT, summary="Change an alert")
def change(alert_id: str, here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Body: `status`, `assigned_to` and `notes`; other members of a whole record are ignored. Needs
    the Analyst role in the host's group. Returns the alert."""
    return _changed(here, caller, scope, alert_id, one_change(body, alert_id))


@router.get(
    "/api/v1/alert/{alert_id}/history", right=Right.READ, summary="Get the history of an alert"
)
async def history(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns when the alert was created and by which version of the rule, then changes of status
    and notes with author and time, oldest first."""

    def work(engine: BoundedEngine) -> Response:
        return json_answer(alert_history_body(alert(engine, scope, alert_id)))

    return await run_lookup(request, here, work)


@router.post("/api/v1/alert/{alert_id}/note", right=Right.ACT, summary="Add a note to an alert")
def add_note(alert_id: str, here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Body: `text`, which becomes the alert's `notes`. Earlier notes remain in its history."""
    return _changed(here, caller, scope, alert_id, note_of(body))


def _changed(
    here: Services, caller: Principal, scope: Scope, alert_id: str, wanted: Wanted
) -> Response:
    known = alert(here.engine, scope, alert_id)
    group_id = sensor_list.get(here.database, scope, known["sensor_id"]).group_id
    require(caller, Deed.TRIAGE, of_groups(group_id))
    changed = change_alert(
        here.engine, here.database, scope, known["id"], wanted, _analyst(here, caller)
    )
    return json_answer(whole_alert_body(changed) | {"result": "success"})


@router.get("/api/v1/alerts/audit", right=Right.ADMINISTER, summary="List bulk changes of alerts")
def audit(here: Here) -> Response:
    """Returns bulk changes, newest first. `changed` is null if the server stopped during the
    change."""
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


@router.get("/api/v1/sensor/{sensor_id}/risk", right=Right.READ, summary="Get the risk of a host")
async def risk(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns a score from 0 to 100, computed from the host's open alerts; older alerts count less.
    `by_day` has the score at the end of each of the last 30 days."""

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
    """Parses a sensor id in a path. Raises NotFoundError for an invalid id."""
    try:
        return bounded_number("sensor_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"sensor {text[:40]!r} not found") from None
