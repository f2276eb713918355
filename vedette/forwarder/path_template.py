"""The folders of files: a template such as `{org}/{type}/{date}/{hour}` is filled in with the time
of the records."""

import re
from datetime import UTC, datetime
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import Limit

FORWARDER_PATH_CHARS_MAX: Limit[int] = 400
"""Characters of a path template. Object stores allow 1,024 bytes, including the file's name."""


PLACES: Final = ("org", "type", "date", "hour", "year", "month", "day", "forwarder")

_SAFE: Final = re.compile(r"[A-Za-z0-9_=.,+@-]+")
_PLACE: Final = re.compile(r"\{([a-z]*)\}")
_HOUR_US: Final = 3_600_000_000


def checked_template(text: str) -> str:
    """Returns the template without slashes at its ends. Raises BadRequestError for everything that
    is not a plain relative path."""
    template = text.strip("/")
    if len(template) > FORWARDER_PATH_CHARS_MAX:
        raise BadRequestError(f"path: at most {FORWARDER_PATH_CHARS_MAX} characters")
    for name in _PLACE.findall(template):
        if name not in PLACES:
            raise BadRequestError(
                f"path: unknown placeholder {{{name}}}; must be one of {', '.join(PLACES)}"
            )
    for part in template.split("/") if template else ():
        plain = _PLACE.sub("x", part)
        if not _SAFE.fullmatch(plain) or set(plain) == {"."}:
            raise BadRequestError(
                f"path: {part[:60]!r} may have letters, digits, places in braces and _=.,+@- only"
            )
    return template


def folder_of(template: str, org: str, record_type: str, forwarder: str, time_us: int) -> str:
    """Returns the folder for the records of the hour that contains a time (epoch microseconds)."""
    at = datetime.fromtimestamp(time_us // 1_000_000, UTC)
    values = {
        "org": _safe(org),
        "type": record_type,
        "date": f"{at:%Y-%m-%d}",
        "hour": f"{at:%H}",
        "year": f"{at:%Y}",
        "month": f"{at:%m}",
        "day": f"{at:%d}",
        "forwarder": _safe(forwarder),
    }
    return _PLACE.sub(lambda found: values[found[1]], template)


def hour_of(time_us: int) -> int:
    """Returns the number of the hour. Records of different hours have different folders."""
    return time_us // _HOUR_US


def _safe(text: str) -> str:
    """Returns a name that can be used as a part of a path."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", text)
    return plain or "_"
