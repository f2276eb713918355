"""Feeds as the API has them (docs/api-objects.md#feed): the record, and the members to change.

A record never holds a secret: `password` and `ssl_client_key` are null. A client that sends the
record back with null changes nothing; "" deletes a secret.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from vedette.api.schemas.parameters import bounded_number
from vedette.api.schemas.wire_values import known_instant
from vedette.errors import BadRequestError
from vedette.feeds.trial import Trial
from vedette.limits import (
    FEED_ICON_CHARS_MAX,
    FEED_NAME_CHARS_MAX,
    FEED_SECRET_CHARS_MAX,
    FEED_TEXT_CHARS_MAX,
    FEED_URL_CHARS_MAX,
)
from vedette.model.threat.feed import BrokenPart
from vedette.state.policy.feeds import Feed, server_of

Body = dict[str, Any]
Check = Callable[[str, Any], Any]

SCHEMES: Final = ("file://", "http://", "https://")
_ORDER_MAX: Final = (1 << 31) - 1

READ_ONLY: Final = frozenset(
    (
        "id", "manually_added", "format", "last_sync", "last_full_sync", "next_sync",
        "sync_requested", "last_error", "failures", "error_count", "errors", "report_count",
        "ioc_count", "reports_read", "reports_changed", "reports_deleted", "has_password",
        "has_ssl_client_key", "result", "action_type", "last_sync_started", "was",
    )
)  # fmt: skip
"""Members that clients send back with a record and that cannot be set."""


def feed_members(body: Mapping[str, Any]) -> Body:
    """The columns and secrets of `state.policy.feeds` that a body sets.

    Raises BadRequestError that names the member.
    """
    members: Body = {}
    for name, value in body.items():
        if name in READ_ONLY:
            continue
        check = _CHECKS.get(name)
        if check is None:
            raise BadRequestError(f"there is no member {name[:60]!r} of a feed")
        column = "position" if name == "order" else name
        members[column] = check(name, value)
    for name in ("password", "ssl_client_key"):
        if members.get(name, "") is None:
            del members[name]
    return members


def feed_body(feed: Feed, counts: tuple[int, int], secrets: Mapping[str, bool]) -> Body:
    """The record of a feed; `counts` are its reports and indicators."""
    return {
        "id": feed.id,
        "name": feed.name,
        "display_name": feed.display_name,
        "feed_url": feed.feed_url,
        "provider_url": feed.provider_url,
        "enabled": feed.enabled,
        "summary": feed.summary,
        "tech_data": feed.tech_data,
        "category": feed.category,
        "icon": feed.icon,
        "icon_small": feed.icon_small,
        "manually_added": feed.manually_added,
        "order": feed.position,
        "use_proxy": feed.use_proxy,
        "validate_server_cert": feed.validate_server_cert,
        "provider_rating": feed.provider_rating,
        "local_rating": feed.local_rating,
        "requires": feed.requires,
        "requires_what": feed.requires_what,
        "requires_who": feed.requires_who,
        "ssl_client_crt": feed.ssl_client_crt,
        "ssl_client_key": None,
        "username": feed.username,
        "password": None,
        "has_password": secrets["password"],
        "has_ssl_client_key": secrets["ssl_client_key"],
        "format": feed.format or None,
        "report_count": counts[0],
        "ioc_count": counts[1],
        "last_sync": known_instant(feed.synced_us),
        "last_full_sync": known_instant(feed.full_synced_us),
        "last_sync_started": known_instant(feed.sync_started_us),
        "next_sync": known_instant(feed.next_sync_us) if feed.enabled else None,
        "sync_requested": feed.sync_wanted > 0,
        "failures": feed.failures,
        "last_error": feed.last_error or None,
        "error_count": feed.errors,
    }


def error_body(part: BrokenPart) -> Body:
    """What could not be read."""
    return {"place": part.place, "report_id": part.report_id or None, "problem": part.problem}


def trial_body(found: Trial) -> Body:
    """What a feed would bring."""
    return {
        "name": found.info.name,
        "display_name": found.info.display_name,
        "format": found.format,
        "reports": found.reports,
        "indicators": dict(found.indicators),
        "titles": found.titles,
        "error_count": found.errors,
        "errors": [error_body(one) for one in found.broken],
        "complete": found.is_whole,
    }


def _text(chars_max: int, *, nullable: bool = True) -> Check:
    def check(name: str, value: Any) -> Any:
        if value is None:
            return None if nullable else ""
        if not isinstance(value, str) or "\0" in value:
            raise BadRequestError(f"{name}: must be text")
        if len(value) > chars_max:
            raise BadRequestError(f"{name}: has more than {chars_max:,} characters")
        return value

    return check


def _url(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.lower().startswith(SCHEMES):
        raise BadRequestError(f"{name}: must begin with {', '.join(SCHEMES)}")
    if len(value) > FEED_URL_CHARS_MAX or any(ord(char) <= ord(" ") for char in value):
        raise BadRequestError(f"{name}: is too long, or has white space")
    scheme, rest = value.split("://", 1)
    authority = rest.partition("/")[0]
    if "@" in authority:
        raise BadRequestError(f"{name}: give credentials as username and password")
    url = f"{scheme.lower()}://{rest}"
    try:
        is_named = scheme.lower() == "file" or bool(server_of(url)[1])
    except ValueError:
        is_named = False
    if not is_named:
        raise BadRequestError(f"{name}: names no host")
    return url


def _name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not (value.isascii() and value.isalnum()):
        raise BadRequestError(f"{name}: must be of letters and digits only")
    if len(value) > FEED_NAME_CHARS_MAX:
        raise BadRequestError(f"{name}: has more than {FEED_NAME_CHARS_MAX} characters")
    return value


def _flag(name: str, value: Any) -> bool | None:
    match value:
        case None | bool():
            return value
        case "true" | "True":
            return True
        case "false" | "False":
            return False
    raise BadRequestError(f"{name}: must be true or false")


def _enabled(name: str, value: Any) -> bool:
    return _flag(name, value) is True


def _order(name: str, value: Any) -> int | None:
    return None if value is None else bounded_number(name, value, most=_ORDER_MAX)


def _rating(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -100 <= value <= 100:
        raise BadRequestError(f"{name}: must be a number from -100 to 100")
    return float(value)


_LONG: Final = _text(FEED_TEXT_CHARS_MAX)
_SECRET: Final = _text(FEED_SECRET_CHARS_MAX)

_CHECKS: Final[Mapping[str, Check]] = {
    "name": _name,
    "display_name": _text(FEED_TEXT_CHARS_MAX, nullable=False),
    "feed_url": _url,
    "provider_url": _text(FEED_URL_CHARS_MAX, nullable=False),
    "enabled": _enabled,
    **dict.fromkeys(("summary", "tech_data", "category"), _LONG),
    **dict.fromkeys(("requires", "requires_what", "requires_who"), _LONG),
    **dict.fromkeys(("icon", "icon_small"), _text(FEED_ICON_CHARS_MAX)),
    **dict.fromkeys(("ssl_client_crt", "username", "password", "ssl_client_key"), _SECRET),
    "order": _order,
    **dict.fromkeys(("use_proxy", "validate_server_cert"), _flag),
    **dict.fromkeys(("provider_rating", "local_rating"), _rating),
}
