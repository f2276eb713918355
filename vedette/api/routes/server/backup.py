"""Snapshots of the data directory, for `vedette backup` on the same machine."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.services import Services, services
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry

router = APIRouter(tags=["server"])

Here = Annotated[Services, Depends(services)]


@router.post("/api/v1/backup/snapshot", summary="Take a snapshot of the data directory")
def take(here: Here) -> Response:
    """State and telemetry at one moment, as files on the server: `path` is for programs there.
    Remove it when they are copied; after a day it goes by itself. 409 where the engines are not
    embedded."""
    snapshot = here.snapshots.take()
    audit_trail.record(here.database, Entry("run", "snapshot", snapshot.id))
    return json_answer({"id": snapshot.id, "path": str(snapshot.path)})


@router.delete("/api/v1/backup/snapshot/{snapshot_id}", summary="Remove a snapshot")
def remove(snapshot_id: str, here: Here) -> Response:
    here.snapshots.remove(snapshot_id)
    return json_answer({"result": "success"})
