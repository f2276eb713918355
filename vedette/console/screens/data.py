"""Whether the data is whole and will fit: partitions, intake, messages, the checks."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.health_summary import disk, health_summary, refused_records
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.services import Services, services
from vedette.console.histogram import HEIGHT, Bar, period_bars
from vedette.console.render import render
from vedette.doctor.examine import Examined, Intake, examine
from vedette.doctor.finding import SEVERITIES
from vedette.state.jobs import outbox
from vedette.state.policy import rules, watchlists
from vedette.state.policy.rules import Wanted
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.partitions.partition import Partition

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]

TABS: Final = ("partitions", "intake", "detection", "messages", "checks")


@router.get("/ui/data", summary="Data and health")
async def data(request: Request, here: Here) -> Response:
    """Only for global administrators, like the routes that it shows."""
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
    return render(request, "screens/data.html", tab=tab, tabs=TABS, **values)


@router.get("/ui/_/data/partitions/{name}/deletion", summary="What deleting a partition takes")
async def deletion(name: str, request: Request, here: Here) -> Response:
    """Read before it is deleted, which then asks for the partition's name."""
    found = await run_search(request, here, lambda engine: content(engine, name))
    return render(request, "fragments/partition_deletion.html", found=found)


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
    """Each with its state, the oldest first."""
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
    """What looks for attacks, and the rules that cost most."""
    found = rules.page(here.database, Wanted(state="in_force"), 0, limits.SIGMA_RULES_MAX).rules
    with here.database.reading() as connection:
        watched = [one for one in watchlists.all_watchlists(connection) if one.enabled]
    return {
        "detection": health_summary(here)["detection"],
        "costly": sorted(found, key=lambda one: -one.counts.verify_us)[: limits.COSTLY_SHOWN],
        "slow": sorted(watched, key=lambda one: -one.last_us)[: limits.COSTLY_SHOWN],
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
