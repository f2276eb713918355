"""Shared parsers for event-log wrappers: numbers, names and times of any type.

Every wrapper yields the same `Record` of source "windows"; only the location of the parts differs
(docs/telemetry-windows.md).
"""

from collections.abc import Iterable
from typing import Any

from vedette.ingest.channels import SYSMON, SYSMON_LINUX, canonical
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us
from vedette.model.memoize import memoize

_RECORD_ID_BITS = 48


def make_record(
    host: Any,
    times: Iterable[Any],
    channel: Any,
    event_id: Any,
    record_id: Any,
    provider: Any,
    pid: Any,
    data: dict[str, Any],
    level: Any = None,
    keywords: Any = None,
) -> Record:
    """Builds a record from parts of any type. Its time is the first valid item of `times`, else
    `UtcTime`.

    Raises RecordError: no_host, no_time (none given), bad_time (none valid).
    """
    name = lower_host(host) if isinstance(host, str) else ""
    if not name:
        raise RecordError("no_host", "the record has no host")
    source = text(provider)
    return Record(
        "windows",
        name,
        first_time_us((*times, data.get("UtcTime"))),
        canonical(text(channel), source),
        integer(event_id) & 0xFFFF,
        small_record_id(integer(record_id)),
        source,
        small_pid(integer(pid)),
        data,
        small_level(integer(level)),
        keywords_text(keywords),
    )


_SYSMON = frozenset({SYSMON, SYSMON_LINUX})
_SYSMON_MEMBERS = frozenset(
    {"UtcTime", "ProcessGuid", "ProcessId", "SourceProcessGUID", "SourceProcessGuid", "Image"}
    | {"ImageLoaded", "Configuration", "State", "Operation", "ID", "Message", "param1"}
)


def has_event_data(record: Record) -> bool:
    """Whether a flat record contains event data. Every Sysmon event has some, so a Sysmon record
    without event data has an unknown shape."""
    return record.channel not in _SYSMON or any(map(record.data.get, _SYSMON_MEMBERS))


def first_time_us(times: Iterable[Any]) -> int:
    """Returns the first valid time (epoch us). Raises RecordError no_time or bad_time."""
    given = False
    for value in times:
        moment_us = any_time_us(value)
        if moment_us:
            return moment_us
        given = given or value not in (None, "", "-")
    if given:
        raise RecordError("bad_time", "the record has no plausible time")
    raise RecordError("no_time", "the record has no time")


@memoize(65_536)
def lower_host(host: str) -> str:
    """Returns the host key: the full name in lower case without a trailing dot. Cached."""
    return host.strip().rstrip(".").lower()


def small_record_id(number: int) -> int:
    """Returns the record id if it fits into a record key, else 0 for none."""
    return number if 0 < number < 1 << _RECORD_ID_BITS else 0


def small_pid(number: int) -> int:
    return number if 0 < number < 1 << 32 else 0


def small_level(number: int) -> int:
    return number if 0 < number < 256 else 0


_KEYWORDS_BITS = (1 << 64) - 1
_AUDIT_FAILURE, _AUDIT_SUCCESS = "0x8010000000000000", "0x8020000000000000"
_AUDIT_WORDS = {"audit failure": _AUDIT_FAILURE, "audit success": _AUDIT_SUCCESS}


@memoize(1_024)
def _keywords_of_text(value: str) -> str:
    found = _AUDIT_WORDS.get(value.lower())
    if found is not None:
        return found
    number = integer(value)
    return f"0x{number & _KEYWORDS_BITS:x}" if number else ""


def keywords_text(value: Any) -> str:
    """Returns keywords in Windows notation, from a mask as text or number (NXLog: signed), or from
    the English words for audit results; "" for other values."""
    if isinstance(value, list):
        texts = (_keywords_of_text(one) for one in value if isinstance(one, str))
        return next(filter(None, texts), "")
    if isinstance(value, str):
        return _keywords_of_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"0x{value & _KEYWORDS_BITS:x}" if value else ""
    return ""


def integer(value: Any) -> int:
    """Returns the number in a value of any type; 0 if there is none.

    Reads decimal and hexadecimal text, and the `#text` member of XML converted to JSON.
    """
    if isinstance(value, dict):
        value = value.get("#text", value.get("value"))
    if isinstance(value, bool) or value is None:
        return 0
    try:
        if isinstance(value, str):
            return int(value[:32], 16 if value[:2].lower() == "0x" else 10)
        return int(value)
    except (ValueError, TypeError, OverflowError):
        return 0


def text(value: Any) -> str:
    """Returns a scalar as text; "" for null and nested values."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


def flat_data(value: Any) -> dict[str, Any]:
    """Returns event data by name. Unnamed items become param1, param2, ...; attributes are dropped.

    More deeply nested scalars keep their own names.
    """
    data: dict[str, Any] = {}
    _flatten(value, data)
    return data


def _flatten(value: Any, data: dict[str, Any]) -> None:
    if isinstance(value, list):
        for position, item in enumerate(value, 1):
            _put(_name_of(item) or f"param{position}", item, data)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "Data" and _name_of(item):
                _put(_name_of(item), item, data)
            elif name in {"Data", "#text"} and not isinstance(item, dict):
                _flatten(item if isinstance(item, list) else [item], data)
            elif not name.startswith("#"):
                _put(name, item, data)


def _put(name: str, item: Any, data: dict[str, Any]) -> None:
    item = _plain(item)
    if isinstance(item, dict | list):
        _flatten(item, data)
    else:
        data[name] = item


def _plain(item: Any) -> Any:
    """Returns the text of an element with attributes; any other item unchanged."""
    if not isinstance(item, dict):
        return item
    if _name_of(item):
        return next((item[name] for name in _VALUES if name in item), "")
    return item.get("#text", item)


_NAMES = ("@Name", "Name", "-Name", "_Name", "name")
_ATTRIBUTES = ("#attributes", "attributes", "@attributes")
_VALUES = ("#text", "Value", "value", "_text", "$", "text", "content")


def _name_of(item: Any) -> str:
    """Returns the name of a list element as written by XML-to-JSON converters; "" without a name,
    and for an object with further members, which is not an element."""
    if not isinstance(item, dict):
        return ""
    given = next((item[name] for name in _ATTRIBUTES if isinstance(item.get(name), dict)), item)
    name = next((given[name] for name in _NAMES if isinstance(given.get(name), str)), "")
    values = item.keys() - {*_NAMES, *_ATTRIBUTES}
    is_bare = given is item and not values and ("Name" in item or "name" in item)
    return "" if is_bare or not values <= {*_VALUES} else name
