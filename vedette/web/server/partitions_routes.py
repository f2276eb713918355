"""Time partitions of event storage (docs/api-objects.md#time-partition)."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.model.rights.authorization import Deed
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import list_partitions
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, flag
from vedette.web.server.partitions_json import content_body, partition_body

router = Router(tags=["partitions"])

Here = Annotated[Services, Depends(services)]


@router.get(
    "/api/v1/storage/events/partition",
    right=Right.ADMINISTER,
    summary="List time partitions by name",
)
def partitions(here: Here) -> Response:
    """Returns partitions by name. The hot partition, which new data is written to, is named
    `writer`."""
    bodies = map(partition_body, list_partitions(here.engine))
    return json_answer({body["name"]: body for body in bodies})


@router.post(
    "/api/v1/storage/events/new_partition",
    right=Deed.CHANGE_PARTITIONS,
    summary="Start a new hot partition",
)
def new_partition(here: Here) -> Response:
    """The previous hot partition becomes warm and remains searchable. The body is ignored."""
    name = here.partitions.roll()
    return _done(f"a new writer was begun; the one before it is now {name}")


@router.post(
    "/api/v1/storage/events/{partition_name}/mount",
    right=Deed.CHANGE_PARTITIONS,
    summary="Mount a cold partition",
)
def mount(partition_name: str, here: Here) -> Response:
    here.partitions.mount(partition_name)
    return _done(f"{partition_name} is mounted")


@router.post(
    "/api/v1/storage/events/{partition_name}/unmount",
    right=Deed.CHANGE_PARTITIONS,
    summary="Unmount a warm partition",
)
def unmount(partition_name: str, here: Here) -> Response:
    """Searches do not cover the partition until it is mounted again."""
    here.partitions.unmount(partition_name)
    return _done(f"{partition_name} is unmounted")


@router.delete(
    "/api/v1/storage/events/{partition_name}",
    right=Deed.CHANGE_PARTITIONS,
    summary="Delete a partition permanently",
    openapi_extra=described(("dry_run", "true: delete nothing, say what would be taken away")),
)
async def delete(partition_name: str, request: Request, here: Here) -> Response:
    """Returns 409 for the hot partition. With `dry_run` the response counts what a deletion would
    remove: segments, events, processes, hosts, and alerts whose process is stored nowhere else."""
    if flag(request.query_params, "dry_run"):
        found = await run_search(request, here, lambda engine: content(engine, partition_name))
        return json_answer(content_body(found))
    await to_thread.run_sync(here.partitions.delete, partition_name)
    return _done(f"{partition_name} is deleted")


def _done(text: str) -> Response:
    body: dict[str, Any] = {"results": text}
    return json_answer(body)
