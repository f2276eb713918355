"""Time partitions of event storage (docs/api-objects.md#time-partition)."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.parameters import described, flag
from vedette.api.schemas.partition import content_body, partition_body
from vedette.api.services import Services, services
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import list_partitions

router = Router(tags=["partitions"])

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


@router.delete(
    "/api/v1/storage/events/{partition_name}",
    summary="Delete one for good",
    openapi_extra=described(("dry_run", "true: delete nothing, say what would be taken away")),
)
async def delete(partition_name: str, request: Request, here: Here) -> Response:
    """Deleting the hot partition is an error: 409. With `dry_run` the answer counts what would go:
    segments, events, processes, hosts, and the alerts whose process is stored nowhere else."""
    if flag(request.query_params, "dry_run"):
        found = await run_search(request, here, lambda engine: content(engine, partition_name))
        return json_answer(content_body(found))
    await to_thread.run_sync(here.partitions.delete, partition_name)
    return _done(f"{partition_name} is deleted")


def _done(text: str) -> Response:
    body: dict[str, Any] = {"results": text}
    return json_answer(body)
