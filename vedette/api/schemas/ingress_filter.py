"""The ingress filter object of the API (docs/ingress-filters.md), in and out.

Clients send whole records back, so read-only members (times, users, the hit rate) are ignored.
Unknown members are refused by name: a misspelt list would make a filter that matches too much.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from uuid import uuid4

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import asdict

from vedette import limits
from vedette.api.schemas.members import as_text, flag
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.errors import BadRequestError
from vedette.ingest.filter import EventTrial, PatternError, SampleEvent, check_patterns
from vedette.limits import INGRESS_DESCENDANT_LEVELS_MAX, INGRESS_IDS_MAX
from vedette.model.host import SensorRef
from vedette.model.ingress_filter import ALL_DESCENDANTS, EVENT_LISTS, OS_MASK_ALL, IngressFilter
from vedette.respond.filter_trial import Blinded, Trial
from vedette.state.policy.filter_counts import NOTHING_DONE, FilterActivity

ID_MAX: Final = (1 << 31) - 1

_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_RESERVED: Final = "legacy"
_MD5: Final = re.compile(r"[0-9a-f]{32}")

MEASURED: Final = (
    "hit_rate",
    "events_dropped",
    "bytes_dropped",
    "events_dropped_by_hour",
    "bytes_dropped_by_hour",
)
"""Members that change by themselves."""

_READ_ONLY: Final = frozenset(
    (
        "id",
        "create_timestamp",
        "modify_timestamp",
        "create_user_id",
        "modify_user_id",
        "was",
        *MEASURED,
    )
)

ACCEPTED: Final = "accepted_blind"
"""A member of what is sent alone: detections that go blind, which the sender accepts."""

_NAMES: Final = {
    "global": "is_global",
    "command_line_filters": "cmdline_filters",
    "expires": "expires_us",
}
"""Members of the API whose attribute of `IngressFilter` has another name."""


class _Accepted(Struct, forbid_unknown_fields=True):
    kind: Literal["watchlist", "feed", "rule"]
    id: Annotated[str, Meta(min_length=1, max_length=limits.MEMBER_CHARS_MAX)]
    name: Annotated[str, Meta(max_length=limits.MEMBER_CHARS_MAX)] = ""


def trial_body(
    trials: Sequence[Trial], blinded: Sequence[Blinded], sensors: Mapping[int, SensorRef]
) -> dict[str, Any]:
    """What a dry run of filters found."""
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


def filter_body(one: IngressFilter, did: FilterActivity = NOTHING_DONE) -> dict[str, Any]:
    """A filter with what it did of late."""
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "version": one.version,
        "priority": one.priority,
        "internal": one.internal,
        "enabled": one.enabled,
        "filter_on_sensor": one.filter_on_sensor,
        "filter_on_server": one.filter_on_server,
        "track_metrics": one.track_metrics,
        "hit_rate": did.rate,
        "os_mask": one.os_mask,
        "global": one.is_global,
        "group_ids": list(one.group_ids),
        "sensor_ids": list(one.sensor_ids),
        "path_filters": list(one.path_filters),
        "cmdline_filters": list(one.cmdline_filters),
        "md5_filters": list(one.md5_filters),
        "descendant_filtering_level": one.descendant_filtering_level,
        "filter_all_events": one.filter_all_events,
        **{name: list(getattr(one, name)) for name in EVENT_LISTS},
        "expires": known_instant(one.expires_us),
        "events_dropped": did.dropped.events,
        "bytes_dropped": did.dropped.byte_count,
        "events_dropped_by_hour": list(did.dropped.events_by_hour),
        "bytes_dropped_by_hour": list(did.dropped.bytes_by_hour),
        "create_timestamp": instant(one.create_us),
        "modify_timestamp": instant(one.modify_us),
        "create_user_id": one.create_user_id,
        "modify_user_id": one.modify_user_id,
    }


def legacy_body(one: IngressFilter, did: FilterActivity = NOTHING_DONE) -> dict[str, Any]:
    """A filter with the list of command lines under its older name, too."""
    body = filter_body(one, did)
    return body | {"command_line_filters": body["cmdline_filters"]}


def new_filter(body: Any, now_us: int) -> IngressFilter:
    """A filter to create. Raises BadRequestError that names the filter and the member."""
    members = changed_members(body)
    chosen = body.get("id")
    if chosen is None:
        chosen = str(uuid4())
    if not isinstance(chosen, str) or not _ID.fullmatch(chosen) or chosen == _RESERVED:
        raise BadRequestError("id: 1 to 64 letters, digits and dashes, and not 'legacy'")
    check_expiry(members, 0, now_us)
    return checked(replace(IngressFilter(chosen), **members))


def sample_event(value: Any) -> SampleEvent:
    """What a filter is tried on. Raises BadRequestError."""
    try:
        found = convert(value, SampleEvent)
    except ValidationError as error:
        raise BadRequestError(f"sample: {error}") from None
    for name in found.__struct_fields__:
        if len(getattr(found, name)) > limits.INGRESS_SAMPLE_CHARS_MAX:
            most = limits.INGRESS_SAMPLE_CHARS_MAX
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


def changed_members(body: Any) -> dict[str, Any]:
    """The members of an object by their names in `IngressFilter`. Raises BadRequestError."""
    if not isinstance(body, dict):
        raise BadRequestError("an ingress filter must be a JSON object")
    members: dict[str, Any] = {}
    for given, value in body.items():
        name = _NAMES.get(str(given), str(given))
        if name in _READ_ONLY:
            continue
        if name == ACCEPTED:
            accepted_blind(body)
            continue
        read = _MEMBERS.get(name)
        if read is None or given in ("is_global", "expires_us"):
            raise BadRequestError(
                f"{_called(body)}there is no member {str(given)[:60]!r} of an ingress filter"
            )
        try:
            members[name] = read(value)
        except ValueError as error:
            raise BadRequestError(f"{_called(body)}{given}: {error}") from None
    return members


def accepted_blind(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """What goes blind and is accepted. Raises BadRequestError."""
    try:
        found = convert(body.get(ACCEPTED, []), list[_Accepted])
    except ValidationError as error:
        raise BadRequestError(f"{_called(body)}{ACCEPTED}: {error}") from None
    if len(found) > INGRESS_IDS_MAX:
        raise BadRequestError(f"{_called(body)}{ACCEPTED}: at most {INGRESS_IDS_MAX} detections")
    return [{name: value for name, value in asdict(one).items() if value} for one in found]


def checked(one: IngressFilter) -> IngressFilter:
    """The filter, validated. Raises BadRequestError with RE2's message for an invalid pattern."""
    try:
        check_patterns(one)
    except PatternError as error:
        raise BadRequestError(f"ingress filter {one.id!r}: {error}") from None
    return one


def check_expiry(members: Mapping[str, Any], known_us: int, now_us: int) -> None:
    """Raises BadRequestError for an end in the past that is not the one it had."""
    expires_us = members.get("expires_us", 0)
    if expires_us not in (0, known_us) and expires_us <= now_us:
        raise BadRequestError("expires: must be in the future")


def _called(body: Mapping[str, Any]) -> str:
    chosen = body.get("id") or body.get("name")
    return f"ingress filter {chosen[:80]!r}: " if isinstance(chosen, str) else ""


def _number(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return value

    return read


def _ids(value: Any) -> tuple[int, ...]:
    ids = [] if value is None else value
    if not isinstance(ids, list) or len(ids) > INGRESS_IDS_MAX:
        raise ValueError(f"must be a list of at most {INGRESS_IDS_MAX} ids")
    read = _number(1, ID_MAX)
    return tuple(sorted({read(one) for one in ids}))


def _texts(value: Any) -> tuple[str, ...]:
    texts = [] if value is None else value
    if not isinstance(texts, list) or len(texts) > limits.INGRESS_PATTERNS_MAX:
        raise ValueError(f"must be a list of at most {limits.INGRESS_PATTERNS_MAX} texts")
    for index, text in enumerate(texts):
        if not isinstance(text, str) or not 0 < len(text) <= limits.INGRESS_PATTERN_CHARS_MAX:
            most = limits.INGRESS_PATTERN_CHARS_MAX
            raise ValueError(f"entry {index} must be a text of 1 to {most} characters")
    return tuple(texts)


def _md5s(value: Any) -> tuple[str, ...]:
    hashes = tuple(text.lower() for text in _texts(value))
    for index, md5 in enumerate(hashes):
        if not _MD5.fullmatch(md5):
            raise ValueError(f"entry {index} is no md5: {md5[:40]!r}")
    return hashes


def _expiry(value: Any) -> int:
    """Epoch microseconds; 0 for never."""
    if value is None:
        return 0
    try:
        moment = datetime.fromisoformat(value)
        time_us = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000_000)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{str(value)[:40]!r} is not a time") from None
    if time_us <= 0:
        raise ValueError(f"{value!r} is too long ago")
    return time_us


_PRIORITY: Final = limits.INGRESS_PRIORITY_MAX

_MEMBERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "name": as_text,
    "description": as_text,
    "version": lambda value: 0 if value is None else _number(0, ID_MAX)(value),
    "priority": _number(-_PRIORITY, _PRIORITY),
    "internal": lambda value: False if value is None else flag(value),
    "enabled": flag,
    "filter_on_sensor": flag,
    "filter_on_server": flag,
    "track_metrics": flag,
    "os_mask": _number(1, OS_MASK_ALL),
    "is_global": flag,
    "group_ids": _ids,
    "sensor_ids": _ids,
    "path_filters": _texts,
    "cmdline_filters": _texts,
    "md5_filters": _md5s,
    "descendant_filtering_level": _number(ALL_DESCENDANTS, INGRESS_DESCENDANT_LEVELS_MAX),
    "filter_all_events": flag,
    **dict.fromkeys(EVENT_LISTS, _texts),
    "expires_us": _expiry,
}
