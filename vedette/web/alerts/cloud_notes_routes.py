"""Notes on alerts (v7)."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.triage import Analyst, Wanted, change_alert
from vedette.model.principal import Principal
from vedette.model.rights import permission
from vedette.model.rights.authorization import Deed, of_groups, require
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import alert_workflow
from vedette.state.sensors import sensor_list
from vedette.web.alerts.cloud_alert_json import note_body
from vedette.web.alerts.cloud_alerts_routes import BASE, known_alert, note_text
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.organization import caller_of
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services

router = Router(tags=["cloud alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(caller_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_NOTES: Final = f"{BASE}/alerts/{{alert_id}}/notes"


@router.get(_NOTES, right=permission.NOTES_READ, summary="List the notes on an alert (v7)")
async def listed(
    alert_id: str, request: Request, here: Here, scope: Within, caller: Caller
) -> Response:
    """Returns the notes in the order in which they were written."""

    def work(known_id: str) -> Response:
        notes = [note_body(one) for one in alert_workflow.notes_of(here.database, known_id)]
        return json_answer({"num_found": len(notes), "results": notes})

    return await _on_alert(request, here, scope, caller, None, alert_id, work)


@router.post(_NOTES, right=permission.NOTES_CREATE, summary="Add a note to an alert (v7)")
async def add(
    alert_id: str, request: Request, here: Here, scope: Within, caller: Caller, body: Body
) -> Response:
    """Body: `note`. The newest note also becomes the `notes` of the alert."""
    text = note_text(body)

    def work(known_id: str) -> Response:
        now_us = here.clock.now_us()
        note = alert_workflow.add_note(here.database, known_id, text, caller.name, now_us)
        _show(here, scope, caller, known_id)
        return json_answer(note_body(note))

    return await _on_alert(request, here, scope, caller, Deed.WRITE_NOTE, alert_id, work)


@router.delete(
    f"{_NOTES}/{{note_id}}", right=permission.NOTES_DELETE, summary="Delete a note on an alert (v7)"
)
async def remove(
    alert_id: str,
    note_id: str,
    request: Request,
    here: Here,
    scope: Within,
    caller: Caller,
) -> Response:
    """Deletes the note. The audit log keeps its text."""

    def work(known_id: str) -> Response:
        alert_workflow.remove_note(here.database, known_id, note_id)
        _show(here, scope, caller, known_id)
        return json_answer({"result": "success"})

    return await _on_alert(request, here, scope, caller, Deed.DELETE_NOTE, alert_id, work)


def _show(here: Services, scope: Scope, caller: Principal, alert_id: str) -> None:
    """Sets the alert's `notes` to its newest note."""
    notes = alert_workflow.notes_of(here.database, alert_id)
    newest = notes[-1].note if notes else ""
    by = Analyst(0, caller.name, here.clock.now_us())
    change_alert(here.engine, here.database, scope, alert_id, Wanted(notes=newest), by)


async def _on_alert(
    request: Request,
    here: Services,
    scope: Scope,
    caller: Principal,
    deed: Deed | None,
    alert_id: str,
    work: Callable[[str], Response],
) -> Response:
    """Calls `work` with the id of an alert that the caller sees and may perform `deed` on. Raises
    NotFoundError and ForbiddenError."""

    def on_known(engine: BoundedEngine) -> Response:
        known = known_alert(engine, here, scope, alert_id)
        if deed is not None:
            group_id = sensor_list.get(here.database, scope, known["sensor_id"]).group_id
            require(caller, deed, of_groups(group_id))
        return work(known["id"])

    return await run_lookup(request, here, on_known)
