"""Policies of response by rule over HTTP, and what they did (docs/notifications.md#response)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from vedette.api.schemas.members import as_text, flag
from vedette.api.schemas.wire_values import instant
from vedette.errors import BadRequestError
from vedette.limits import (
    RESPONSE_ENTRY_CHARS_MAX,
    RESPONSE_HOURS_MAX,
    RESPONSE_NAME_CHARS_MAX,
    RESPONSE_NAMES_MAX,
)
from vedette.model.findings.response_policy import LEVELS, ResponsePolicy
from vedette.state.jobs.responses import Response

_READ_ONLY: Final = frozenset(("id", "changed", "username", "result"))


def policy_body(one: ResponsePolicy) -> dict[str, Any]:
    """A policy."""
    return {
        "id": one.id,
        "name": one.name,
        "enabled": one.enabled,
        "action": one.action,
        "level": one.level,
        "rule_ids": list(one.rule_ids),
        "hosts_never": list(one.hosts_never),
        "hour_max": one.hour_max,
        "expires_hours": one.expires_hours,
        "ban_hosts_max": one.ban_hosts_max,
        "changed": instant(one.changed_us),
        "username": one.username,
    }


def read_policy(body: Mapping[str, Any], known: ResponsePolicy | None) -> ResponsePolicy:
    """A policy with what a body gives; a new one needs `name` and `action`. Raises
    BadRequestError."""
    values: dict[str, Any] = {}
    for name, value in body.items():
        if name in _READ_ONLY:
            continue
        if name not in _READERS:
            raise BadRequestError(f"there is no member {name[:60]!r} of a response policy")
        try:
            values[name] = _READERS[name](value)
        except ValueError as error:
            raise BadRequestError(f"{name}: {error}") from None
    if known is not None:
        return replace(known, **values)
    for name in ("name", "action"):
        if not values.get(name):
            raise BadRequestError(f"{name}: is missing")
    return ResponsePolicy(**values)


def response_body(one: Response) -> dict[str, Any]:
    """What was decided for a detection, and what became of it."""
    times = {"done": one.done_us, "ends": one.ends_us, "undone": one.undone_us}
    return {
        "id": one.id,
        "policy_id": one.policy_id,
        "policy_name": one.policy_name,
        "alert_id": one.detection_id,
        "state": one.state.name.lower(),
        "action": one.action,
        "subject": one.subject,
        "sensor_id": one.sensor_id,
        "rule_id": one.rule_id,
        "title": one.title,
        "created": instant(one.created_us),
        **{name: instant(time_us) if time_us else None for name, time_us in times.items()},
        "text": one.text,
    }


def _name(value: Any) -> str:
    text = as_text(value).strip()
    if not text or len(text) > RESPONSE_NAME_CHARS_MAX or not text.isprintable():
        raise ValueError(f"must be a text of 1 to {RESPONSE_NAME_CHARS_MAX} printable characters")
    return text


def _choice(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(value)

    return read


def _number(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return value

    return read


def _names(value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list) and len(value) <= RESPONSE_NAMES_MAX
    if not is_list or not all(
        isinstance(one, str) and 0 < len(one) <= RESPONSE_ENTRY_CHARS_MAX for one in value
    ):
        raise ValueError(
            f"must be a list of at most {RESPONSE_NAMES_MAX} texts"
            f" of 1 to {RESPONSE_ENTRY_CHARS_MAX} characters"
        )
    return tuple(value)


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "name": _name,
    "enabled": flag,
    "action": _choice("isolate", "ban"),
    "level": _choice(*LEVELS),
    "rule_ids": _names,
    "hosts_never": lambda value: tuple(one.lower() for one in _names(value)),
    "hour_max": _number(1, 10_000),
    "expires_hours": _number(0, RESPONSE_HOURS_MAX),
    "ban_hosts_max": _number(0, 1_000_000),
}
