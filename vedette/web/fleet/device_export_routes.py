"""CSV export of devices, which is built at download time."""

import orjson
from starlette.responses import Response

from vedette.model.rights.permission import Groups, within_both
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.devices import device_list
from vedette.state.jobs.cloud_jobs import CloudJob
from vedette.web.fleet.devices_json import device_filter, device_page, devices_csv
from vedette.web.http.services import Services


def device_export(here: Services, job: CloudJob, groups: Groups) -> Response:
    """Returns the devices that were visible to the job and are still visible to its owner
    (`groups`)."""
    body = orjson.loads(job.request)
    now_us = here.clock.now_us()
    audit_trail.record(here.database, Entry("read", "device export", f"job {job.id}"))
    found = device_list.search(
        here.database,
        here.scopes.of_groups(within_both(job.groups, groups)),
        device_filter(body, job.created_us),
        device_page(body).sorts,
        now_us,
    )
    return csv_answer(devices_csv(found, here.settings.org_key), "devices.csv")


def csv_answer(text: str, name: str = "") -> Response:
    """Returns a CSV response, as a download if it has a name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
    return Response(text.encode(), media_type="text/csv", headers=headers)
