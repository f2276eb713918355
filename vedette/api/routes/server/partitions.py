"""Time partitions of event storage (docs/api-objects.md#time-partition)."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.schemas.partition import partition_body
from vedette.api.services import Services, services
from vedette.store.partitions.lifecycle import list_partitions

router = APIRouter(tags=["partitions"])

Here = Annotated[Services, Depends(services)]


@router.get("/api/v1/storage/events/partition", summary="All time partitions, by name")
def partitions(here: Here) -> Response:
    """The hot one, which is written to, is named `writer`."""
    bodies = map(partition_body, list_partitions(here.engine))
    return json_answer({body["name"]: body for body in bodies})


@router.post("/api/v1/storage/events/new_partition", summary="Begin a new hot partition")
def new_partition(here: Here) -> Response:
    """The hot partition becomes a warm one and stays readable. Any body is ignored."""
    name = here.partitions.roll()
    return _done(f"a new writer was begun; the one before it is now {name}")


@router.post("/api/v1/storage/events/{partition_name}/mount", summary="Make a cold one warm")
def mount(partition_name: str, here: Here) -> Response:
    here.partitions.mount(partition_name)
    return _done(f"{partition_name} is mounted")


@router.post("/api/v1/storage/events/{partition_name}/unmount", summary="Make a warm one cold")
def unmount(partition_name: str, here: Here) -> Response:
    """Searches find nothing of it until it is mounted again."""
    here.partitions.unmount(partition_name)
    return _done(f"{partition_name} is unmounted")


@router.delete("/api/v1/storage/events/{partition_name}", summary="Delete one for good")
def delete(partition_name: str, here: Here) -> Response:
    """Deleting the hot partition is an error: 409."""
    here.partitions.delete(partition_name)
    return _done(f"{partition_name} is deleted")


def _done(text: str) -> Response:
    body: dict[str, Any] = {"results": text}
    return json_answer(body)
