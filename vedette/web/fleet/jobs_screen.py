"""Pages of update jobs: the version for many sensors, progress, and reasons of failures."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.model.rights.authorization import of_groups
from vedette.model.scope import Scope
from vedette.state.devices import update_jobs
from vedette.state.sensors import sensor_list
from vedette.web.http.access import scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/jobs", right=Right.VIEW, summary="List update jobs")
async def jobs(request: Request, here: Here, scope: Within) -> Response:
    found = await to_thread.run_sync(update_jobs.all_jobs, here.database, scope)
    org = here.settings.org_key
    paces = {one.id: one.pace(here.clock.now_us()) for one in found}
    return render(request, "fleet/jobs.html", jobs=found, paces=paces, org=org)


@router.get("/ui/jobs/{job_id}", right=Right.VIEW, summary="Show an update job")
async def job(job_id: str, request: Request, here: Here, scope: Within) -> Response:
    def work() -> dict[str, Any]:
        found = update_jobs.get(here.database, scope, job_id)
        targets = update_jobs.targets(here.database, scope, job_id)
        ids = [one.device_id for one in targets]
        return {
            "job": found,
            "pace": found.pace(here.clock.now_us()),
            "devices": of_groups(*update_jobs.groups_of(here.database, job_id)),
            "targets": targets,
            "hosts": sensor_list.some(here.database, scope, ids),
        }

    found = await to_thread.run_sync(work)
    org = here.settings.org_key
    return render(request, "fleet/job.html", org=org, **found)
