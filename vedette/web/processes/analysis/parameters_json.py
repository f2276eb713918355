"""Parses parameters of process analysis: ids, moves, times and criteria (docs/process-analysis.md).

Every function raises BadRequestError that names the invalid parameter.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from starlette.datastructures import QueryParams

from vedette import limits
from vedette.errors import BadRequestError
from vedette.model.ids import split_unique_id
from vedette.search.streams.stream import Page
from vedette.search.streams.stream_cursor import JumpBy, JumpTo, Move, Seek
from vedette.web.json.body_members import flag_of
from vedette.web.json.parameters import MOST, bounded_number, flag, whole_number

_PROCESS_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I | re.A)
_STREAM_ID: Final = re.compile(r"[0-9a-f]{32}", re.A)
_MD5: Final = re.compile(r"[0-9a-f]{32}", re.I | re.A)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.A)


def process_id(text: object, name: str = "process_id") -> str:
    """Returns a process id in lower case from a process id or a unique id."""
    plain = str(text)
    if len(plain) in (45, 49):
        plain = split_unique_id(plain)[0]
    if not _PROCESS_ID.fullmatch(plain):
        raise BadRequestError(f"{name}: {str(text)[:60]!r} is not a process id")
    return plain.lower()


def stream_id(text: str) -> str:
    if not _STREAM_ID.fullmatch(text):
        raise BadRequestError(f"stream_id: {text[:60]!r} is not the id of a stream")
    return text


def segment_id(value: object) -> int:
    """Parses a segment id, given as a number or a string of digits."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadRequestError("segment_id: must be a whole number")
    return bounded_number("segment_id", value)


def md5(text: str, name: str) -> str:
    """Returns an MD5 in lower case; "" for empty text."""
    if text and not _MD5.fullmatch(text):
        raise BadRequestError(f"{name}: {text[:60]!r} is not an MD5")
    return text.lower()


def end_time(query: QueryParams) -> int | None:
    """Returns `end_time` in epoch microseconds, None if it is missing."""
    text = query.get("end_time")
    if not text:
        return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError
        moment = datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        raise BadRequestError(
            f"end_time: {text[:40]!r} must have the form YYYY-MM-DDThh:mm:ss.sssZ"
        ) from None
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond


def page(query: QueryParams) -> Page:
    """Returns rows, move and end time of a read."""
    rows = whole_number(query, "rows", limits.STREAM_ROWS_DEFAULT)
    return Page(min(rows, limits.ROWS_MAX), move(query), end_time(query))


def move(query: QueryParams) -> Move | None:
    """Returns the move of a read: `seek` with `by`, or `jump` with `by` or `to`; None without these
    flags."""
    seeks, jumps = flag(query, "seek", is_bare=True), flag(query, "jump", is_bare=True)
    by, to = query.get("by"), query.get("to")
    if seeks and jumps:
        raise BadRequestError("seek and jump: cannot be combined")
    if seeks:
        if to is not None:
            raise BadRequestError("to: requires jump, not seek")
        return Seek(_signed("by", by, "seek"))
    if jumps and to is not None:
        if by is not None:
            raise BadRequestError("by and to: cannot be combined")
        return JumpTo(bounded_number("to", to))
    if jumps:
        return JumpBy(_signed("by", by, "jump"))
    if by is not None or to is not None:
        raise BadRequestError(f"{'to' if by is None else 'by'}: needs the flag seek or jump")
    return None


def criteria(body: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns the criteria of a body: lists of values by facet field."""
    asked = body.get("criteria")
    if not isinstance(asked, dict):
        raise BadRequestError("criteria: must be an object of facet fields and lists of values")
    return {name: _values(name, values) for name, values in asked.items()}


def flag_of_body(body: Mapping[str, Any], name: str) -> bool:
    return flag_of(body, name) is True


def _values(name: str, values: object) -> list[str]:
    if not isinstance(values, list):
        raise BadRequestError(f"criteria: {name[:60]}: must be a list of values")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadRequestError(f"criteria: {name[:60]}: values must be strings or whole numbers")
    return [str(value) for value in values]


def _signed(name: str, value: str | None, flag: str) -> int:
    if value is None:
        raise BadRequestError(f"{name}: is required; {flag} needs it")
    return bounded_number(name, value, least=-MOST)
