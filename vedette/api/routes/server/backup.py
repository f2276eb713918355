"""Snapshots of the data directory, for `vedette backup` on the same machine."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.parameters import described
from vedette.api.services import Services, services

router = Router(tags=["server"])

Here = Annotated[Services, Depends(services)]


@router.post(
    "/api/v1/backup/snapshot",
    summary="Take a snapshot of the data directory",
    openapi_extra=described(("id", "What it shall be called: 16 hex digits")),
)
def take(request: Request, here: Here) -> Response:
    """State and telemetry at one moment, as files on the server: `path` is for programs there.
    Remove it when they are copied; after a day it goes by itself. Who chooses the `id` can remove
    it whatever is killed meanwhile. 409 where the engines are not embedded, where there are too
    many, and for an id that is taken."""
    snapshot = here.snapshots.take(request.query_params.get("id", ""))
    return json_answer({"id": snapshot.id, "path": str(snapshot.path)})


@router.delete("/api/v1/backup/snapshot/{snapshot_id}", summary="Remove a snapshot")
def remove(snapshot_id: str, here: Here) -> Response:
    """Also what is left of one during which the server was killed. 409 for one that is being
    taken."""
    here.snapshots.remove(snapshot_id)
    return json_answer({"result": "success"})
