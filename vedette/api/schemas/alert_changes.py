"""Bodies that change alerts and suppressions.

Clients post whole alerts back with one member changed, so members that cannot be set are ignored
there. In a bulk change a misspelt one is refused: `dry_rum` would change what was to be counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from vedette.alerting.triage import Wanted
from vedette.api.schemas.body_members import check_members
from vedette.errors import BadRequestError
from vedette.limits import (
    ALERT_ASSIGNEE_CHARS_MAX,
    ALERT_ID_CHARS_MAX,
    ALERT_IDS_MAX,
    ALERT_NOTES_CHARS_MAX,
    SUPPRESSION_DAYS_DEFAULT,
)
from vedette.model.findings.alert import status_of
from vedette.state.policy.suppressions import SuppressionChange

_ALIKE: Final = (("alert_ids", "ids"), ("notes", "comment"))

_BULK: Final = (
    *("alert_ids", "ids", "query", "except_ids", "snapshot", "expected", "dry_run"),
    *("requested_status", "assigned_to", "notes", "comment", "set_ignored"),
)

_SUPPRESSION: Final = (
    *("name", "query", "reason", "enabled", "expires"),
    *("id", "in_force", "created", "changed", "user_id", "username", "hits", "last_hit"),
)
"""What can be set, then what comes back with a whole record."""

_DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class BulkChange:
    """Which alerts become what; ids None for all that the query selects."""

    wanted: Wanted
    ids: tuple[str, ...] | None
    query: str | None
    except_ids: tuple[str, ...] = ()
    """Alerts that the selection leaves out."""
    until_us: int | None = None
    """Only alerts that were made by then: later ones are not touched."""
    expected: int | None = None
    """How many alerts the selection must be."""
    is_dry_run: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the caller knows, or only asks, how many alerts these are."""
        return self.is_dry_run or self.expected is not None


def one_change(body: Mapping[str, Any], alert_id: str) -> Wanted:
    """The change of one alert. Reports are ignored by bulk changes alone. Raises
    BadRequestError."""
    named = body.get("unique_id", alert_id)
    if not isinstance(named, str) or named.lower() != alert_id.lower():
        raise BadRequestError(f"unique_id: must be {alert_id[:64]}, as in the path")
    given = {name: value for name, value in body.items() if name != "set_ignored"}
    return _wanted(given, "status")


def bulk_change(body: Mapping[str, Any]) -> BulkChange:
    """A bulk change. Raises BadRequestError, also when it does not say which alerts: nothing means
    all only when it is asked for."""
    check_members(body, *_BULK, of="a bulk change")
    for name, other in _ALIKE:
        if name in body and other in body:
            raise BadRequestError(f"{name}, {other}: are the same, give one of the two")
    is_dry_run = _flag(body, "dry_run") or False
    comment = body.get("comment")
    noted = body if comment is None else {**body, "notes": comment}
    wanted = _wanted(noted, "requested_status", may_be_none=is_dry_run)
    ids = _ids(body)
    query = body.get("query")
    if query is not None and (not isinstance(query, str) or not query.strip()):
        raise BadRequestError("query: must be a query; *:* is not one, `q=` selects every alert")
    if ids is None and query is None:
        raise BadRequestError("alert_ids or query: one of them must say which alerts")
    return BulkChange(
        wanted,
        ids,
        query,
        except_ids=_ids({"ids": body.get("except_ids")}) or (),
        until_us=None if body.get("snapshot") is None else _time_us(body["snapshot"], "snapshot"),
        expected=_count(body, "expected"),
        is_dry_run=is_dry_run,
    )


def _count(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise BadRequestError(f"{name}: must be a number of alerts")
    return value


def note_of(body: Mapping[str, Any]) -> Wanted:
    """The note to add to an alert. Raises BadRequestError."""
    check_members(body, "text", of="a note")
    text = _text(body, "text", ALERT_NOTES_CHARS_MAX)
    if text is None or not text.strip():
        raise BadRequestError("text: a note needs some")
    return Wanted(notes=text)


def _wanted(body: Mapping[str, Any], status_name: str, *, may_be_none: bool = False) -> Wanted:
    status = body.get(status_name)
    if status is not None and not isinstance(status, str):
        raise BadRequestError(f"{status_name}: must be text")
    wanted = Wanted(
        status=None if status is None else status_of(status, status_name),
        assigned_to=_text(body, "assigned_to", ALERT_ASSIGNEE_CHARS_MAX),
        notes=_text(body, "notes", ALERT_NOTES_CHARS_MAX),
        report_ignored=_flag(body, "set_ignored"),
    )
    if wanted == Wanted() and not may_be_none:
        raise BadRequestError(f"{status_name}: is missing")
    return wanted


def _ids(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    given = body.get("alert_ids", body.get("ids"))
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise BadRequestError("alert_ids: must be a list of ids")
    if len(given) > ALERT_IDS_MAX:
        raise BadRequestError(f"alert_ids: at most {ALERT_IDS_MAX:,}, these are {len(given):,}")
    if any(len(one) > ALERT_ID_CHARS_MAX for one in given):
        raise BadRequestError("alert_ids: one of them is too long for an id")
    return tuple(dict.fromkeys(one.lower() for one in given))


def suppression_change(
    body: Mapping[str, Any], user_id: int, username: str, now_us: int, *, is_new: bool
) -> SuppressionChange:
    """A suppression to add or change; its query is not checked yet. Raises BadRequestError."""
    check_members(body, *_SUPPRESSION, of="a suppression")
    query = body.get("query")
    if (is_new or query is not None) and (not isinstance(query, str) or not query.strip()):
        raise BadRequestError("query: must be a query over alerts; one for all is no suppression")
    return SuppressionChange(
        user_id,
        username,
        now_us,
        name=_text(body, "name", ALERT_NOTES_CHARS_MAX),
        query=query,
        reason=_text(body, "reason", ALERT_NOTES_CHARS_MAX),
        enabled=_flag(body, "enabled"),
        expires_us=_expiry(body, now_us, is_new=is_new),
    )


def _expiry(body: Mapping[str, Any], now_us: int, *, is_new: bool) -> int | None:
    if "expires" not in body:
        return now_us + SUPPRESSION_DAYS_DEFAULT * _DAY_US if is_new else None
    match body["expires"]:
        case None:
            return 0
        case str(text):
            return _moment(text, now_us)
    raise BadRequestError("expires: must be a time such as 2026-03-04T05:06:07Z, or null for never")


def _time_us(text: object, name: str) -> int:
    """Epoch microseconds of a time in ISO 8601, UTC without a zone. Raises BadRequestError."""
    try:
        moment = datetime.fromisoformat(str(text))
        since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise BadRequestError(f"{name}: {str(text)[:40]!r} is not a time") from None
    return since // timedelta(microseconds=1)


def _moment(text: str, now_us: int) -> int:
    time_us = _time_us(text, "expires")
    if time_us <= now_us:
        raise BadRequestError("expires: must be in the future; disable or delete it to end it now")
    return time_us


def _text(body: Mapping[str, Any], name: str, most: int) -> str | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRequestError(f"{name}: must be text")
    if len(value) > most:
        raise BadRequestError(f"{name}: at most {most:,} characters")
    return value


def _flag(body: Mapping[str, Any], name: str) -> bool | None:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise BadRequestError(f"{name}: must be true or false")
