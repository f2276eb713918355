"""Notes on alerts (v7)."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.triage import Analyst, Wanted, change_alert
from vedette.api.http.access import scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.cloud.alerts import BASE, known_alert, note_text
from vedette.api.routes.cloud.organization import caller_of
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.cloud.alert import note_body
from vedette.api.services import Services, services
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import alert_workflow

router = Router(tags=["cloud alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(caller_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_NOTES: Final = f"{BASE}/alerts/{{alert_id}}/notes"


@router.get(_NOTES, summary="The notes on an alert (v7)")
async def listed(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    """In the order they were written."""

    def work(known_id: str) -> Response:
        notes = [note_body(one) for one in alert_workflow.notes_of(here.database, known_id)]
        return json_answer({"num_found": len(notes), "results": notes})

    return await _on_alert(request, here, scope, alert_id, work)


@router.post(_NOTES, summary="Write a note on an alert (v7)")
async def add(
    alert_id: str, request: Request, here: Here, scope: Within, caller: Caller, body: Body
) -> Response:
    """Takes `note`. The newest is also the `notes` of the alert."""
    text = note_text(body)

    def work(known_id: str) -> Response:
        now_us = here.clock.now_us()
        note = alert_workflow.add_note(here.database, known_id, text, caller.name, now_us)
        _show(here, scope, caller, known_id)
        return json_answer(note_body(note))

    return await _on_alert(request, here, scope, alert_id, work)


@router.delete(f"{_NOTES}/{{note_id}}", summary="Delete a note on an alert (v7)")
async def remove(
    alert_id: str,
    note_id: str,
    request: Request,
    here: Here,
    scope: Within,
    caller: Caller,
) -> Response:
    """The audit log keeps what it said."""

    def work(known_id: str) -> Response:
        alert_workflow.remove_note(here.database, known_id, note_id)
        _show(here, scope, caller, known_id)
        return json_answer({"result": "success"})

    return await _on_alert(request, here, scope, alert_id, work)


def _show(here: Services, scope: Scope, caller: Principal, alert_id: str) -> None:
    """Makes the newest note the alert's."""
    notes = alert_workflow.notes_of(here.database, alert_id)
    newest = notes[-1].note if notes else ""
    by = Analyst(0, caller.name, here.clock.now_us())
    change_alert(here.engine, here.database, scope, alert_id, Wanted(notes=newest), by)


async def _on_alert(
    request: Request, here: Services, scope: Scope, alert_id: str, work: Callable[[str], Response]
) -> Response:
    """Works on an alert that the caller sees. Raises NotFoundError."""

    def on_known(engine: BoundedEngine) -> Response:
        return work(known_alert(engine, here, scope, alert_id)["id"])

    return await run_lookup(request, here, on_known)
