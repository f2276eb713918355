"""Snapshots of the data directory, for `vedette backup` on the same machine."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.model.rights.authorization import Deed
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described

router = Router(tags=["server"])

Here = Annotated[Services, Depends(services)]


@router.post(
    "/api/v1/backup/snapshot",
    right=Deed.CHANGE_SNAPSHOTS,
    summary="Take a snapshot of the data directory",
    openapi_extra=described(("id", "What it shall be called: 16 hex digits")),
)
def take(request: Request, here: Here) -> Response:
    """Creates a consistent copy of state and telemetry as files on the server; `path` is for
    programs on that machine. Delete the snapshot after copying it; the server deletes it after a
    day. A caller that chooses the `id` can delete the snapshot even if it does not receive the
    response. Returns 409 if the engines are not embedded, if there are too many snapshots, and if
    the id is taken."""
    snapshot = here.snapshots.take(request.query_params.get("id", ""))
    return json_answer({"id": snapshot.id, "path": str(snapshot.path)})


@router.delete(
    "/api/v1/backup/snapshot/{snapshot_id}",
    right=Deed.CHANGE_SNAPSHOTS,
    summary="Delete a snapshot",
)
def remove(snapshot_id: str, here: Here) -> Response:
    """Also deletes an incomplete snapshot that was interrupted by the end of the server. Returns
    409 while the snapshot is being taken."""
    here.snapshots.remove(snapshot_id)
    return json_answer({"result": "success"})
