"""What a message says of a detection: the body of a row of the outbox.

It is written when the detection is, so that a mail that goes out an hour later still says what was
seen then. Long values are cut: a notice leads to the alert and does not replace it.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct, field

from vedette.limits import NOTICE_LIST_MAX, NOTICE_TEXT_CHARS_MAX


class Notice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts of one detection. Text that is not known is "", a number 0."""

    id: str
    """Of the detection, and of the alert where there is one."""
    recipient_id: int = 0
    """Whose mail it is; 0 for what is no mail."""
    has_alert: bool = False
    source_kind: str = ""
    source_id: str = ""
    source_name: str = ""
    alert_type: str = ""
    title: str
    description: str = ""
    reference: str = ""
    """A link of the report or rule."""
    severity: int = 0
    """0 to 100."""
    level: str = ""
    time_us: int = 0
    """When it happened on the host, epoch microseconds."""
    created_us: int = 0
    """When it was noticed."""
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
    """A notice with its values cut to what a message holds."""
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
    """The body of a row of the outbox. Lone surrogates and zero bytes are replaced."""
    clean = msgspec.convert(_clean(msgspec.to_builtins(notice)), Notice)
    return msgspec.json.encode(clean).decode()


def decode(body: str) -> Notice:
    """Raises msgspec.MsgspecError for a body that is none."""
    return msgspec.json.decode(body, type=Notice)


def _clean(value: Any) -> Any:
    match value:
        case str():
            # A zero byte is refused by PostgreSQL, a lone surrogate by every encoder.
            return value.encode("utf-8", "replace").decode().replace("\x00", "\\x00")
        case list():
            return [_clean(one) for one in value]
        case dict():
            return {_clean(name): _clean(one) for name, one in value.items()}
        case _:
            return value
