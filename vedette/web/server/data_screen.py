"""Page of data and health: partitions, intake, detection, messages, checks."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.doctor.examine import Examined, Intake, examine
from vedette.doctor.finding import SEVERITIES
from vedette.limits import Limit
from vedette.state.jobs import outbox
from vedette.state.policy import rules, watchlists
from vedette.state.policy.rules import Wanted
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.partitions.partition import Partition
from vedette.web.http.health_summary import disk, health_summary, refused_records
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.page.histogram import HEIGHT, Bar, period_bars
from vedette.web.page.render import render

COSTLY_SHOWN: Limit[int] = 10
"""Most expensive rules and watchlists that the page of data and health lists."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]

TABS: Final = ("partitions", "intake", "detection", "messages", "checks")


@router.get("/ui/data", right=Right.ADMINISTER, summary="Show data and health")
async def data(request: Request, here: Here) -> Response:
    """Only for global administrators, like the API routes with the same data."""
    tab = request.query_params.get("tab", "")
    tab = tab if tab in TABS else TABS[0]
    work = {
        "partitions": _partitions,
        "intake": _intake,
        "detection": _detection,
        "messages": _messages,
        "checks": _checks,
    }[tab]
    values = await to_thread.run_sync(work, here)
    return render(request, "server/data.html", tab=tab, tabs=TABS, **values)


@router.get(
    "/ui/_/data/partitions/{name}/deletion",
    right=Right.ADMINISTER,
    summary="Preview the deletion of a partition",
)
async def deletion(name: str, request: Request, here: Here) -> Response:
    """Shows what a deletion would remove. The dialog asks for the partition's name."""
    found = await run_search(request, here, lambda engine: content(engine, name))
    return render(request, "server/partition_deletion.html", found=found)


def _partitions(here: Services) -> dict[str, Any]:
    found = sorted(list_partitions(here.engine), key=lambda one: -one.opened_ms)
    return {
        "partitions": found,
        "bars": _over_time(found, here.clock.now_us() // 1_000),
        "height": HEIGHT,
        "disk": disk(here),
        "takes": here.ingest_queue.available,
        "waiting": here.ingest_queue.waiting_bytes,
    }


def _over_time(partitions: list[Partition], now_ms: int) -> list[tuple[str, Bar]]:
    """Returns a bar per partition with its state, oldest first."""
    old = partitions[::-1]
    bars = period_bars(
        [
            (one.opened_ms, one.closed_ms or max(now_ms, one.opened_ms), one.byte_count)
            for one in old
        ]
    )
    return [(one.state, bar) for one, bar in zip(old, bars, strict=True)]


def _intake(here: Services) -> dict[str, Any]:
    found = health_summary(here)["intake"]
    return {
        "intake": found,
        "most": here.settings.queue_bytes_max,
        "refused": refused_records(here),
    }


def _detection(here: Services) -> dict[str, Any]:
    """Returns the state of detection, and the most expensive rules and watchlists."""
    found = rules.page(here.database, Wanted(state="in_force"), 0, limits.SIGMA_RULES_MAX).rules
    with here.database.reading() as connection:
        watched = [one for one in watchlists.all_watchlists(connection) if one.enabled]
    return {
        "detection": health_summary(here)["detection"],
        "costly": sorted(found, key=lambda one: -one.counts.verify_us)[:COSTLY_SHOWN],
        "slow": sorted(watched, key=lambda one: -one.last_us)[:COSTLY_SHOWN],
    }


def _checks(here: Services) -> dict[str, Any]:
    queue = here.ingest_queue
    intake = Intake(queue.available, queue.waiting_bytes)
    found = examine(
        Examined(here.settings, here.clock, here.database, here.engine, here.clock_guard, intake)
    )
    return {"findings": sorted(found, key=lambda one: -SEVERITIES.index(one.severity))}


def _messages(here: Services) -> dict[str, Any]:
    return {"targets": outbox.targets(here.database), "dead": outbox.dead_counts(here.database)}
