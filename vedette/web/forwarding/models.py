"""Parses and formats forwarders for the API and for files of `vedette forwarder`
(docs/forwarder.md)."""

from collections.abc import Sequence
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.forwarder.configuration import Wanted
from vedette.limits import QUERY_CHARS_MAX, Limit
from vedette.state.jobs.forwarders import ForwardedStream, Forwarder
from vedette.web.json.body_members import Members
from vedette.web.json.cloud_request import moment_us
from vedette.web.json.parameters import bounded_number
from vedette.web.json.wire_values import known_instant

FORWARDER_TYPES_MAX: Limit[int] = 10
"""Record types per forwarder; fewer exist."""


Body = dict[str, Any]

_KNOWN: Final = (
    "name",
    "enabled",
    "types",
    "destination",
    "query",
    "schema",
    "format",
    "path",
    "interval_s",
    "since",
)
_SHOWN: Final = ("id", "created", "changed", "streams")
"""Read-only members, which clients send back with a whole record."""


def forwarder_wanted(body: Body) -> Wanted:
    """Returns the members that a body sets. Raises BadRequestError that names the member."""
    members = Members(body, known=_KNOWN, ignored=_SHOWN, of="a forwarder")
    types = body.get("types")
    if types is not None and not _is_list_of_texts(types):
        raise BadRequestError("types: must be a list of strings")
    destination = body.get("destination")
    if destination is not None and not isinstance(destination, dict):
        raise BadRequestError("destination: must be an object")
    query = members.text("query")
    if query is not None and len(query) > QUERY_CHARS_MAX:
        raise BadRequestError(f"query: must be a string of at most {QUERY_CHARS_MAX} characters")
    interval = body.get("interval_s")
    since = body.get("since")
    return Wanted(
        name=members.text("name"),
        enabled=members.flag("enabled"),
        types=None if types is None else tuple(types),
        destination=destination,
        query=query,
        record_schema=members.text("schema"),
        file_format=members.text("format"),
        path=members.text("path"),
        interval_s=None if interval is None else bounded_number("interval_s", interval),
        since_us=None if since is None else moment_us(since, "since"),
    )


def _is_list_of_texts(given: object) -> bool:
    if not isinstance(given, list) or len(given) > FORWARDER_TYPES_MAX:
        return False
    return all(isinstance(one, str) for one in given)


def forwarder_body(one: Forwarder, streams: Sequence[ForwardedStream]) -> Body:
    """Returns a forwarder without its secrets, with the progress of its streams."""
    return {
        "id": one.id,
        "name": one.name,
        "enabled": one.enabled,
        "types": list(one.types),
        "destination": {"kind": one.destination, **one.options},
        "query": one.query,
        "schema": one.record_schema,
        "format": one.file_format,
        "path": one.path,
        "interval_s": one.interval_s,
        "created": known_instant(one.created_us),
        "changed": known_instant(one.changed_us),
        "streams": [_stream_body(some) for some in streams],
    }


def _stream_body(one: ForwardedStream) -> Body:
    return {
        "type": one.type,
        "state": "failing" if one.failures else "working",
        "error": one.error,
        "failures": one.failures,
        "failed": known_instant(one.failed_us),
        "retry": known_instant(one.retry_us),
        "position": one.position,
        "records": one.records,
        "lost": one.lost,
        "files": one.files,
        "sent": known_instant(one.sent_us),
    }
