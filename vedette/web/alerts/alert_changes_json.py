"""Bodies that change alerts.

Clients post a whole alert back with one member changed, so a change of a single alert ignores
members that cannot be set. A bulk change rejects unknown members: a misspelled `dry_run` would
otherwise change the alerts instead of counting them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from vedette.alerting.triage import Wanted
from vedette.errors import BadRequestError
from vedette.limits import ALERT_NOTES_CHARS_MAX, Limit
from vedette.model.findings.alert import status_of
from vedette.web.json.body_members import check_members, flag_of
from vedette.web.json.bulk_selection import ALLOW_ALL, allows_all

ALERT_ASSIGNEE_CHARS_MAX: Limit[int] = 256
"""Characters of an alert's assignee, the maximum length of a user name."""

ALERT_IDS_MAX: Limit[int] = 100_000
"""Ids per bulk update. Clients send blocks of 500."""

ALERT_ID_CHARS_MAX: Limit[int] = 64
"""Characters of an id in a request; real ids have 32."""


_ALIKE: Final = (("alert_ids", "ids"), ("notes", "comment"))

_BULK: Final = (
    "alert_ids",
    "ids",
    "query",
    "except_ids",
    "snapshot",
    "expected",
    "dry_run",
    ALLOW_ALL,
    "requested_status",
    "assigned_to",
    "notes",
    "comment",
    "set_ignored",
)


@dataclass(frozen=True, slots=True)
class BulkChange:
    """A bulk change and its selection. `ids` is None for all alerts that the query selects."""

    wanted: Wanted
    ids: tuple[str, ...] | None
    query: str | None
    except_ids: tuple[str, ...] = ()
    """Ids of alerts to exclude from the selection."""
    until_us: int | None = None
    """Time of the snapshot (epoch us). Newer alerts are not changed."""
    expected: int | None = None
    """Number of alerts that the selection must have."""
    is_dry_run: bool = False
    allows_all: bool = False
    """Whether the query may match every alert."""

    @property
    def is_exact(self) -> bool:
        """Whether the caller expects a certain number of alerts, or only counts them."""
        return self.is_dry_run or self.expected is not None


def one_change(body: Mapping[str, Any], alert_id: str) -> Wanted:
    """Parses the change of a single alert. Ignores `set_ignored`, which only bulk changes support.
    Raises BadRequestError."""
    named = body.get("unique_id", alert_id)
    if not isinstance(named, str) or named.lower() != alert_id.lower():
        raise BadRequestError(f"unique_id: must be {alert_id[:64]}, as in the path")
    given = {name: value for name, value in body.items() if name != "set_ignored"}
    return _wanted(given, "status")


def bulk_change(body: Mapping[str, Any]) -> BulkChange:
    """Parses a bulk change. Raises BadRequestError, also without a selection: a change of all
    alerts must be explicit."""
    check_members(body, *_BULK, of="a bulk change")
    for name, other in _ALIKE:
        if name in body and other in body:
            raise BadRequestError(f"{name}, {other}: are aliases; set only one")
    is_dry_run = flag_of(body, "dry_run") or False
    comment = body.get("comment")
    noted = body if comment is None else {**body, "notes": comment}
    wanted = _wanted(noted, "requested_status", may_be_none=is_dry_run)
    ids = _ids(body)
    query = body.get("query")
    if query is not None and not isinstance(query, str):
        raise BadRequestError("query: must be a string")
    if ids is None and query is None:
        raise BadRequestError("alert_ids or query is required")
    return BulkChange(
        wanted,
        ids,
        query,
        except_ids=_ids({"ids": body.get("except_ids")}) or (),
        until_us=None if body.get("snapshot") is None else _time_us(body["snapshot"], "snapshot"),
        expected=_count(body, "expected"),
        is_dry_run=is_dry_run,
        allows_all=allows_all(body),
    )


def _count(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise BadRequestError(f"{name}: must be a number of alerts")
    return value


def note_of(body: Mapping[str, Any]) -> Wanted:
    """Parses the note to add to an alert. Raises BadRequestError."""
    check_members(body, "text", of="a note")
    text = _text(body, "text", ALERT_NOTES_CHARS_MAX)
    if text is None or not text.strip():
        raise BadRequestError("text: must not be empty")
    return Wanted(notes=text)


def _wanted(body: Mapping[str, Any], status_name: str, *, may_be_none: bool = False) -> Wanted:
    status = body.get(status_name)
    if status is not None and not isinstance(status, str):
        raise BadRequestError(f"{status_name}: must be a string")
    wanted = Wanted(
        status=None if status is None else status_of(status, status_name),
        assigned_to=_text(body, "assigned_to", ALERT_ASSIGNEE_CHARS_MAX),
        notes=_text(body, "notes", ALERT_NOTES_CHARS_MAX),
        report_ignored=flag_of(body, "set_ignored"),
    )
    if wanted == Wanted() and not may_be_none:
        raise BadRequestError(f"{status_name}: is required")
    return wanted


def _ids(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    given = body.get("alert_ids", body.get("ids"))
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise BadRequestError("alert_ids: must be a list of ids")
    if len(given) > ALERT_IDS_MAX:
        raise BadRequestError(
            f"alert_ids: must have at most {ALERT_IDS_MAX:,} entries; has {len(given):,}"
        )
    if any(len(one) > ALERT_ID_CHARS_MAX for one in given):
        raise BadRequestError("alert_ids: an id is too long")
    return tuple(dict.fromkeys(one.lower() for one in given))


def _time_us(text: object, name: str) -> int:
    """Parses an ISO 8601 time to epoch microseconds, UTC without a zone. Raises BadRequestError."""
    try:
        moment = datetime.fromisoformat(str(text))
        since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise BadRequestError(f"{name}: {str(text)[:40]!r} is not a time") from None
    return since // timedelta(microseconds=1)


def _text(body: Mapping[str, Any], name: str, most: int) -> str | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRequestError(f"{name}: must be a string")
    if len(value) > most:
        raise BadRequestError(f"{name}: at most {most:,} characters")
    return value
