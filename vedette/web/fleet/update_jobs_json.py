"""Formats sensor update jobs as JSON and CSV, and parses the bodies that create them
(docs/cloud-devices.md)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import DEVICE_ROWS_MAX
from vedette.state.devices.device_list import DeviceFilter
from vedette.state.devices.update_jobs import FAILURES, UpdatedDevice, UpdateJob, Waves
from vedette.web.fleet.csv_text import csv_text
from vedette.web.fleet.devices_json import DevicePage, device_filter, device_page
from vedette.web.fleet.sensor_changes_json import order_reason
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.wire_values import milli_instant

Body = dict[str, Any]

NEVER: Final = "0001-01-01T00:00:00.000Z"
"""`hinted_time` of a device that has not received the order."""

_COLUMNS: Final = (
    "Device ID",
    "Update Status",
    "Failure Reason",
    "Initial Device Version",
    "Update Device Version",
    "Initiated Update Time UTC",
    "OS",
)
_RANGES: Final = ("3h", "1d", "1w", "2w", "1m")
"""Accepted ranges for the last contact of a job's devices."""

_VERSION: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}(?:[-+~.a-zA-Z0-9]{0,40})?")
"""Dotted numbers, the format of registered package versions, optionally with a build suffix."""

_ENDED: Final = ("UPDATED", "FAILED")


@dataclass(frozen=True, slots=True)
class JobWanted:
    """The requested update: devices by id or by search."""

    versions: Mapping[str, str]
    waves: Waves
    device_ids: tuple[int, ...] | None
    search: DeviceFilter | None
    page: DevicePage
    reason: str = ""


def job_wanted(body: Mapping[str, Any], now_us: int) -> JobWanted:
    """Parses the body of a new job. Raises BadRequestError with the location of the error."""
    if body.get("action_type") != "UPDATE_SENSOR_VERSION":
        raise BadRequestError("action_type: must be UPDATE_SENSOR_VERSION")
    ids, definition = body.get("device_id"), body.get("search_definition")
    if (ids is None) is (definition is None):
        raise BadRequestError("device_id or search_definition: exactly one is required")
    options = body.get("options")
    if not isinstance(options, dict):
        raise BadRequestError("options: must be an object with sensor_version")
    search, page = None, DevicePage(0, DEVICE_ROWS_MAX, ())
    if definition is not None:
        if not isinstance(definition, dict):
            raise BadRequestError("search_definition: must be an object")
        _check_contact(definition)
        search, page = device_filter(definition, now_us), device_page(definition, DEVICE_ROWS_MAX)
    return JobWanted(
        _versions(options), _waves(options), _ids(ids), search, page, order_reason(dict(body))
    )


def _versions(options: Mapping[str, Any]) -> dict[str, str]:
    given = options.get("sensor_version")
    if not isinstance(given, dict) or not given:
        raise BadRequestError("options.sensor_version: must be an object of kit types")
    for kit_type, version in given.items():
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            raise BadRequestError(
                f"options.sensor_version.{kit_type[:40]}: {str(version)[:40]!r} is not "
                "a version like 1.2.3.4"
            )
    return dict(given)


def _check_contact(definition: Mapping[str, Any]) -> None:
    """Raises BadRequestError for an unsupported range of the last contact."""
    criteria = definition.get("criteria")
    contact = criteria.get("last_contact_time") if isinstance(criteria, dict) else None
    if isinstance(contact, dict) and contact.get("range", _RANGES[0]) not in _RANGES:
        raise BadRequestError(
            "search_definition.criteria.last_contact_time.range: must be one of "
            f"{', '.join(_RANGES)}"
        )


def _waves(options: Mapping[str, Any]) -> Waves:
    given = options.get("waves")
    if given is None:
        return Waves()
    if not isinstance(given, dict):
        raise BadRequestError("options.waves: must be an object of percent and failures_max")
    failures = given.get("failures_max")
    return Waves(
        bounded_number("options.waves.percent", given.get("percent", 100), least=1, most=100),
        -1 if failures is None else bounded_number("options.waves.failures_max", failures),
    )


def _ids(given: object) -> tuple[int, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not 0 < len(given) <= DEVICE_ROWS_MAX:
        raise BadRequestError(f"device_id: must be a list of 1 to {DEVICE_ROWS_MAX:,} numbers")
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in given):
        raise BadRequestError("device_id: must be numbers")
    return tuple(dict.fromkeys(bounded_number("device_id", one, most=ID_MAX) for one in given))


def job_body(job: UpdateJob, org_key: str, targets: Sequence[UpdatedDevice]) -> Body:
    """Returns a job with its sensors."""
    return {
        "id": job.id,
        "org_key": org_key,
        "login_name": job.login_name,
        "status": job.status,
        "create_time": milli_instant(job.created_us),
        "start_time": milli_instant(job.created_us),
        "end_time": milli_instant(job.ended_us) if job.ended_us else None,
        "sensor_versions": _sensor_versions(job),
        "sensors": sensors_body(targets),
        "job_type": "ENDPOINT",
    }


def job_status_body(job: UpdateJob) -> Body:
    """Returns a job in the list of jobs."""
    done = sum(job.states.get(state, 0) for state in _ENDED)
    return {
        "id": job.id,
        "create_time": milli_instant(job.created_us),
        "start_time": milli_instant(job.created_us),
        "end_time": milli_instant(job.ended_us) if job.ended_us else None,
        "status": job.status,
        "percent_complete": 100 * done // job.targeted if job.targeted else 100,
        "targeted": job.targeted,
        "updated": job.states.get("UPDATED", 0),
        "failed": job.states.get("FAILED", 0),
        "updated_sensors": list(job.updated),
        "failed_sensors_per_reason": {
            **{name: [] for name in FAILURES},
            **{name: list(ids) for name, ids in job.failed.items()},
        },
        "sensor_versions": _sensor_versions(job),
    }


def _sensor_versions(job: UpdateJob) -> dict[str, str]:
    return {kit_type: kit.version for kit_type, kit in job.kits.items()}


def sensors_body(targets: Sequence[UpdatedDevice]) -> Body:
    """Returns sensor statuses by device id."""
    return {
        str(one.device_id): {
            "sensor_state": one.state,
            "reason": _reason(one),
            "initial_version": one.initial_version,
            "updated_version": one.updated_version,
            "hinted_time": milli_instant(one.hinted_us) if one.hinted_us else NEVER,
            "sensor_kit_type": one.kit_type or "OTHER",
        }
        for one in targets
    }


def sensors_csv(targets: Sequence[UpdatedDevice]) -> str:
    return csv_text(
        _COLUMNS,
        (
            (
                one.device_id,
                one.state,
                _reason(one),
                one.initial_version,
                one.updated_version,
                milli_instant(one.hinted_us) if one.hinted_us else "",
                one.os,
            )
            for one in targets
        ),
    )


def _reason(target: UpdatedDevice) -> str:
    return f"{target.failure}: {target.reason}" if target.failure else ""
