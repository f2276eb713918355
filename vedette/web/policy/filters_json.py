"""Serializes the results of ingress filters and their dry runs as JSON, and applies bodies to
filters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from msgspec import ValidationError, convert

from vedette.errors import BadRequestError
from vedette.ingest.filter import EventTrial, PatternError, SampleEvent, check_patterns
from vedette.limits import Limit
from vedette.model.host import SensorRef
from vedette.record.bodies import Sent
from vedette.record.member import Access, members
from vedette.record.objects.ingress_filter import FilterRequest, IngressFilter
from vedette.respond.filter_trial import Blinded, Trial
from vedette.state.policy.filter_counts import FilterActivity

INGRESS_SAMPLE_CHARS_MAX: Limit[int] = 32_767
"""Maximum characters of each string of a sample: the longest path of Windows."""


MEASURED: Final = frozenset(
    one.name
    for one in members(IngressFilter)
    if one.access is Access.READ_ONLY and not one.is_stored
)
"""Members that the server updates, such as counts."""


def trial_body(
    trials: Sequence[Trial], blinded: Sequence[Blinded], sensors: Mapping[int, SensorRef]
) -> dict[str, Any]:
    """Returns the result of a dry run of filters."""
    return {
        "dry_run": True,
        "filters": [_trial(one, sensors) for one in trials],
        "blinded": [
            {"kind": one.kind, "id": one.id, "name": one.name, "hits": one.hits} for one in blinded
        ],
    }


def _trial(trial: Trial, sensors: Mapping[int, SensorRef]) -> dict[str, Any]:
    return {
        "id": trial.filter_id,
        "processes": trial.processes,
        "processes_meant": trial.processes_meant,
        "process_share": trial.processes_meant / max(trial.processes, 1),
        "events": trial.events,
        "events_dropped": trial.events_dropped,
        "event_share": trial.events_dropped / max(trial.events, 1),
        "dropped_by": {
            "kind": [{"name": name, "events": count} for name, count in trial.by_kind.values],
            "host": [
                {"sensor_id": int(one), "hostname": sensors[int(one)].hostname, "events": count}
                for one, count in trial.by_sensor.values
            ],
            "path": [{"path": path, "events": count} for path, count in trial.by_path.values],
        },
        "dropped_hosts": trial.by_sensor.total,
        "dropped_paths": trial.by_path.total,
        "estimated": trial.is_estimate,
        "partial": trial.is_partial,
    }


def with_activity(one: IngressFilter, did: FilterActivity) -> IngressFilter:
    """Returns a filter with its recent hit rate and dropped volumes."""
    return replace(
        one,
        hit_rate=did.rate,
        events_dropped=did.dropped.events,
        bytes_dropped=did.dropped.byte_count,
        events_dropped_by_hour=did.dropped.events_by_hour,
        bytes_dropped_by_hour=did.dropped.bytes_by_hour,
    )


def new_filter(sent: Sent[FilterRequest], now_us: int) -> IngressFilter:
    """Returns the filter to create. Raises BadRequestError that names the filter."""
    values = set_members(sent)
    check_expiry(values, 0, now_us)
    return checked(IngressFilter(**values | {"id": values.get("id") or str(uuid4())}))


def set_members(sent: Sent[FilterRequest]) -> dict[str, Any]:
    """Returns the members that a body sets, by attribute."""
    lines = sent.request.command_line_filters
    return sent.values if lines is None else sent.values | {"cmdline_filters": lines}


def accepted_blind(sent: Sent[FilterRequest]) -> list[dict[str, str]]:
    """Returns the blinded detections that the sender accepts."""
    return [one.model_dump(exclude_defaults=True) for one in sent.request.accepted_blind]


def sample_event(value: Any) -> SampleEvent:
    """Parses the sample on which a filter is tried. Raises BadRequestError."""
    try:
        found = convert(value, SampleEvent)
    except ValidationError as error:
        raise BadRequestError(f"sample: {error}") from None
    for name in found.__struct_fields__:
        if len(getattr(found, name)) > INGRESS_SAMPLE_CHARS_MAX:
            most = INGRESS_SAMPLE_CHARS_MAX
            raise BadRequestError(f"sample.{name}: at most {most} characters")
    return found


def event_trial_body(filter_id: str, trial: EventTrial) -> dict[str, Any]:
    return {
        "id": filter_id,
        "means_process": trial.means_process,
        "means_parent": trial.means_parent,
        "dropped": trial.dropped,
        "lists": [{"name": one.name, "entry": one.entry} for one in trial.lists],
    }


def checked(one: IngressFilter) -> IngressFilter:
    """Returns the filter after validation. Raises BadRequestError with RE2's message for an invalid
    pattern."""
    try:
        check_patterns(one)
    except PatternError as error:
        raise BadRequestError(f"ingress filter {one.id!r}: {error}") from None
    return one


def check_expiry(values: Mapping[str, Any], known_us: int, now_us: int) -> None:
    """Raises BadRequestError for a new expiry in the past. The stored expiry `known_us` is
    allowed."""
    expires_us = values.get("expires_us", 0)
    if expires_us not in (0, known_us) and expires_us <= now_us:
        raise BadRequestError("expires: must be in the future")
