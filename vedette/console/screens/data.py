"""Whether the data is whole and will fit: partitions, intake, messages, the checks."""

import shutil
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.search.run import run_search
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.doctor.examine import Examined, Intake, examine
from vedette.doctor.finding import SEVERITIES
from vedette.state.jobs import outbox
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import list_partitions

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]

TABS: Final = ("partitions", "checks", "messages")


@router.get("/ui/data", summary="Data and health")
async def data(request: Request, here: Here) -> Response:
    """Only for global administrators, like the routes that it shows."""
    tab = request.query_params.get("tab", "")
    tab = tab if tab in TABS else TABS[0]
    work = {"partitions": _partitions, "checks": _checks, "messages": _messages}[tab]
    values = await to_thread.run_sync(work, here)
    return render(request, "screens/data.html", tab=tab, tabs=TABS, **values)


@router.get("/ui/_/data/partitions/{name}/deletion", summary="What deleting a partition takes")
async def deletion(name: str, request: Request, here: Here) -> Response:
    """Read before it is deleted, which then asks for the partition's name."""
    found = await run_search(request, here, lambda engine: content(engine, name))
    return render(request, "fragments/partition_deletion.html", found=found)


def _partitions(here: Services) -> dict[str, Any]:
    found = sorted(list_partitions(here.engine), key=lambda one: -one.opened_ms)
    disk = shutil.disk_usage(here.settings.data)
    stored, since_ms = sum(one.byte_count for one in found), found[-1].opened_ms if found else 0
    return {
        "partitions": found,
        "free": disk.free,
        "size": disk.total,
        "days_left": _days_left(stored, since_ms, disk.free, here),
        "takes": here.ingest_queue.available,
        "waiting": here.ingest_queue.waiting_bytes,
    }


def _days_left(stored: int, since_ms: int, free: int, here: Services) -> int | None:
    """Days until the disk is full if as much comes as came so far; None for too little to tell."""
    past_days = (here.clock.now_us() // 1_000 - since_ms) / 86_400_000 if since_ms else 0
    return int(free / (stored / past_days)) if past_days > 1 and stored else None


def _checks(here: Services) -> dict[str, Any]:
    queue = here.ingest_queue
    intake = Intake(queue.available, queue.waiting_bytes)
    found = examine(
        Examined(here.settings, here.clock, here.database, here.engine, here.clock_guard, intake)
    )
    return {"findings": sorted(found, key=lambda one: -SEVERITIES.index(one.severity))}


def _messages(here: Services) -> dict[str, Any]:
    return {"targets": outbox.targets(here.database), "dead": outbox.dead_counts(here.database)}
