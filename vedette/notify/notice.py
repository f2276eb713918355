"""Notices: facts about a detection, stored as the body of an outbox row.

A notice is written with its detection, so that a mail an hour later still reports the facts of that
time. Long values are truncated: a notice refers to the alert and does not replace it.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct, field

from vedette.limits import NOTICE_TEXT_CHARS_MAX, Limit

NOTICE_LIST_MAX: Limit[int] = 50
"""Tags, techniques or matched fields in a message."""


class Notice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about one detection. Unknown texts are "", unknown numbers 0."""

    id: str
    """Id of the detection, and of its alert if there is one."""
    recipient_id: int = 0
    """Recipient of a mail; 0 for other messages."""
    has_alert: bool = False
    source_kind: str = ""
    source_id: str = ""
    source_name: str = ""
    alert_type: str = ""
    title: str
    description: str = ""
    reference: str = ""
    """A link from the report or rule."""
    severity: int = 0
    """0 to 100."""
    level: str = ""
    time_us: int = 0
    """Time of the event on the host (epoch us)."""
    created_us: int = 0
    """Time of the detection."""
    sensor_id: int = 0
    hostname: str = ""
    group: str = ""
    os_type: str = ""
    interface_ip: str = ""
    username: str = ""
    process_name: str = ""
    process_path: str = ""
    cmdline: str = ""
    parent_name: str = ""
    process_id: str = ""
    segment_id: int = 0
    md5: str = ""
    sha256: str = ""
    report_id: str = ""
    report_score: float = 0
    ioc_type: str = ""
    ioc_value: str = ""
    count: int = 1
    tags: list[str] = field(default_factory=list)
    techniques: list[str] = field(default_factory=list)
    matched: dict[str, str] = field(default_factory=dict)


_TEXTS: Final = tuple(
    one.name for one in msgspec.structs.fields(Notice) if one.type is str and one.name != "id"
)


def notice_of(values: dict[str, Any]) -> Notice:
    """Returns a notice with values truncated to the limits of a message."""
    cut = {
        name: value[:NOTICE_TEXT_CHARS_MAX] if name in _TEXTS else value
        for name, value in values.items()
    }
    for name in ("tags", "techniques"):
        cut[name] = [str(one)[:NOTICE_TEXT_CHARS_MAX] for one in cut.get(name, ())][
            :NOTICE_LIST_MAX
        ]
    matched = list(cut.get("matched", {}).items())[:NOTICE_LIST_MAX]
    cut["matched"] = {
        name[:NOTICE_TEXT_CHARS_MAX]: str(value)[:NOTICE_TEXT_CHARS_MAX] for name, value in matched
    }
    return Notice(**cut)


def encode(notice: Notice) -> str:
    """Encodes the body of an outbox row. Replaces lone surrogates and zero bytes."""
    clean = msgspec.convert(_clean(msgspec.to_builtins(notice)), Notice)
    return msgspec.json.encode(clean).decode()


def decode(body: str) -> Notice:
    """Decodes a body. Raises msgspec.MsgspecError for an invalid one."""
    return msgspec.json.decode(body, type=Notice)


def _clean(value: Any) -> Any:
    match value:
        case str():
            # PostgreSQL rejects zero bytes, and every encoder rejects lone surrogates.
            return value.encode("utf-8", "replace").decode().replace("\x00", "\\x00")
        case list():
            return [_clean(one) for one in value]
        case dict():
            return {_clean(name): _clean(one) for name, one in value.items()}
        case _:
            return value
