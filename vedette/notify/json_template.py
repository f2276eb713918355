"""Templates of webhooks: JSON documents whose strings have placeholders for the facts of a notice.

`{title}` inserts a value, `{title|slack}` escapes it for Slack. A string that is only a placeholder
with the filter `number` becomes a number. An object with `"$if": "NAME"` is omitted if that value
is empty. The document is filled in as values and then encoded, so that no value can end a string or
add a member.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
import re2

from vedette.errors import BadRequestError
from vedette.limits import TEMPLATE_BYTES_MAX, Limit

SLACK_TEXT_CHARS_MAX: Limit[int] = 290
"""Characters of a value for Slack, which rejects texts above 3,000; an escaped character counts as
five, and a message has two values."""

TEMPLATE_SHORT_CHARS: Limit[int] = 120
"""Characters of a shortened value, for a subject or title."""


BUILT_IN: Final = ("vedette", "slack", "teams", "pagerduty", "jira")
"""Names of the built-in templates, in `templates/`."""

_FOLDER: Final = Path(__file__).parent / "templates"
_PLACE: Final = re2.compile(r"\{([a-z0-9_.]{1,60})(?:\|([a-z]{1,20}))?\}")
_NAME: Final = re2.compile(r"[a-z0-9_-]{1,40}")

_NUMBER: Final = re2.compile(r"-?[0-9]{1,18}")
_SLACK: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKDOWN: Final = str.maketrans({one: f"\\{one}" for one in "\\`*_{}[]()<>#+-.!|~"})
_JIRA: Final = str.maketrans({one: f"\\{one}" for one in "\\{}[]*_-+^~!|"})


def _line(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)


_FILTERS: Final[Mapping[str, Callable[[str], Any]]] = {
    # Slack refuses texts of more than 3,000 characters, and an escaped one counts as five.
    "slack": lambda text: text[:SLACK_TEXT_CHARS_MAX].translate(_SLACK),
    "markdown": lambda text: text.translate(_MARKDOWN),
    "jira": lambda text: text.translate(_JIRA),
    "line": _line,
    "short": lambda text: _line(text[:TEMPLATE_SHORT_CHARS]),
    "number": lambda text: int(text) if _NUMBER.fullmatch(text) else 0,
}


def template_of(name: str, folder: Path | None) -> Any:
    """Returns the document of a template; a file in `folder` takes precedence.

    Raises BadRequestError for an unknown name, or a file that is not JSON.
    """
    if not _NAME.fullmatch(name):
        raise BadRequestError(f"template: {name[:40]!r} is not a template name")
    own = folder / f"{name}.json" if folder is not None else None
    if own is not None and own.is_file():
        return _read(own)
    if name in BUILT_IN:
        return _built_in(name)
    raise BadRequestError(
        f"template: unknown template {name!r}; must be one of {', '.join(BUILT_IN)}"
    )


def fill_in(template: Any, values: Mapping[str, Any]) -> bytes:
    """Fills in the document and returns it as JSON. Unknown placeholders become empty. Values are
    strings, lists of strings and maps of strings; a placeholder that is the whole string inserts a
    list or map as such."""
    return orjson.dumps(_filled(template, values))


def _read(path: Path) -> Any:
    try:
        data = path.read_bytes()
        if len(data) > TEMPLATE_BYTES_MAX:
            raise BadRequestError(f"{path.name}: more than {TEMPLATE_BYTES_MAX} bytes")
        return orjson.loads(data)
    except (OSError, orjson.JSONDecodeError) as error:
        raise BadRequestError(f"{path.name}: {error}") from None


@cache
def _built_in(name: str) -> Any:
    return orjson.loads((_FOLDER / f"{name}.json").read_bytes())


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    match template:
        case str():
            return _text(template, values)
        case list():
            return [_filled(one, values) for one in template if _is_wanted(one, values)]
        case dict():
            return {
                name: _filled(one, values)
                for name, one in template.items()
                if name != "$if" and _is_wanted(one, values)
            }
        case _:
            return template


def _is_wanted(template: Any, values: Mapping[str, Any]) -> bool:
    condition = template.get("$if") if isinstance(template, dict) else None
    return condition is None or bool(values.get(condition))


def _text(template: str, values: Mapping[str, Any]) -> Any:
    whole = _PLACE.fullmatch(template)
    if whole:
        return _value(whole[1], whole[2], values)
    parts, end = [], 0
    for place in _PLACE.finditer(template):
        found = _value(place[1], place[2] or "", values)
        parts += [template[end : place.start()], str(found)]
        end = place.end()
    return "".join((*parts, template[end:]))


def _value(name: str, filter_name: str | None, values: Mapping[str, Any]) -> Any:
    value = values.get(name, "")
    if filter_name is None:
        return value
    text = value if isinstance(value, str) else ", ".join(value)
    found = _FILTERS.get(filter_name)
    return text if found is None else found(text)
