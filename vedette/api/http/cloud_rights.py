"""The permission that each route of the cloud side needs (docs/cloud.md#permissions).

A caller sees, through a route, the sensor groups in which they have its permission.
"""

from collections.abc import Mapping
from typing import Final

from vedette.model import permission
from vedette.model.permission import Permission

_ALERTS: Final = "/api/alerts/v7/orgs/{org_key}"
_NOTES: Final = f"{_ALERTS}/alerts/{{alert_id}}/notes"
_DEVICES: Final = "/appservices/v6/orgs/{org_key}/devices"
_UPDATES: Final = "/sus/v2/orgs/{org_key}/jobs"
_FORWARDERS: Final = "/data_forwarder/v2/orgs/{org_key}/configs"
_JOBS: Final = "/jobs/v1/orgs/{org_key}/jobs"

CLOUD_PERMISSIONS: Final[Mapping[tuple[str, str], Permission]] = {
    ("POST", f"{_ALERTS}/alerts/_search"): permission.ALERTS_READ,
    ("POST", f"{_ALERTS}/alerts/_facet"): permission.ALERTS_READ,
    ("POST", f"{_ALERTS}/alerts/_group_search"): permission.ALERTS_READ,
    ("POST", f"{_ALERTS}/grouped_alerts/_search"): permission.ALERTS_READ,
    ("POST", f"{_ALERTS}/grouped_alerts/_facet"): permission.ALERTS_READ,
    ("GET", f"{_ALERTS}/alerts/{{alert_id}}"): permission.ALERTS_READ,
    ("POST", f"{_ALERTS}/alerts/workflow"): permission.ALERTS_CLOSE,
    ("GET", _NOTES): permission.NOTES_READ,
    ("POST", _NOTES): permission.NOTES_CREATE,
    ("DELETE", f"{_NOTES}/{{note_id}}"): permission.NOTES_DELETE,
    ("GET", _JOBS): permission.JOBS_READ,
    ("GET", f"{_JOBS}/{{job_id}}"): permission.JOBS_READ,
    ("GET", f"{_JOBS}/{{job_id}}/progress"): permission.JOBS_READ,
    ("GET", f"{_JOBS}/{{job_id}}/download"): permission.JOBS_READ,
    ("POST", f"{_DEVICES}/_search"): permission.DEVICE_READ,
    ("POST", f"{_DEVICES}/_scroll"): permission.DEVICE_READ,
    ("POST", f"{_DEVICES}/_facet"): permission.DEVICE_READ,
    ("POST", f"{_DEVICES}/_export"): permission.DEVICE_READ,
    ("GET", f"{_DEVICES}/_search/download"): permission.DEVICE_READ,
    ("GET", f"{_DEVICES}/{{device_id}}"): permission.DEVICE_READ,
    ("POST", _UPDATES): permission.KITS_EXECUTE,
    ("GET", _UPDATES): permission.DEVICE_READ,
    ("GET", f"{_UPDATES}/{{job_id}}"): permission.DEVICE_READ,
    ("GET", f"{_UPDATES}/{{job_id}}/sensors"): permission.DEVICE_READ,
    ("POST", f"{_UPDATES}/{{job_id}}/status"): permission.KITS_EXECUTE,
    ("GET", _FORWARDERS): permission.FORWARDERS_READ,
    ("POST", _FORWARDERS): permission.FORWARDERS_CREATE,
    ("GET", f"{_FORWARDERS}/{{forwarder_id}}"): permission.FORWARDERS_READ,
    ("PUT", f"{_FORWARDERS}/{{forwarder_id}}"): permission.FORWARDERS_UPDATE,
    ("DELETE", f"{_FORWARDERS}/{{forwarder_id}}"): permission.FORWARDERS_DELETE,
    ("POST", f"{_FORWARDERS}/{{forwarder_id}}/healthcheck"): permission.FORWARDERS_CREATE,
}
"""By method and path template."""
