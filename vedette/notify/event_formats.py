"""A notice as the text of a syslog message: CEF, LEEF and JSON, with what each escapes.

- CEF 0 (ArcSight Common Event Format): in the header `\\` and `|` are escaped, in values of the
  extension `\\` and `=`, and line ends become `\\n` and `\\r`.
- LEEF 2.0 (IBM QRadar): the delimiter is `^` (`x5E`), which its header names. The format has no
  escapes: the delimiter and line ends within a value become blanks, in the header `|` as well.
- JSON: one object on one line, the members of a notice.

A character that is not printable never gets through: syslog servers split lines at it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from vedette import __version__
from vedette.notify.notice import Notice

_VENDOR: Final = "Vedette"
_PRODUCT: Final = "Vedette"

_CEF_HEADER: Final = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": " ", "\r": " "})
_CEF_VALUE: Final = str.maketrans({"\\": "\\\\", "=": "\\=", "\n": "\\n", "\r": "\\r"})
_LEEF_DELIMITER: Final = "^"
_LEEF_VALUE: Final = str.maketrans({"^": " ", "\n": " ", "\r": " ", "\t": " "})
_LEEF_HEADER: Final = str.maketrans({"|": " ", "^": " ", "\n": " ", "\r": " ", "\t": " "})


def cef(notice: Notice) -> str:
    """Formats `CEF:0|Vendor|Product|Version|Id|Name|Severity|extension`; severity 0 to 10."""
    header = (_VENDOR, _PRODUCT, __version__, _event_id(notice), notice.title)
    fields = "|".join(_printable(one.translate(_CEF_HEADER)) for one in header)
    extension = " ".join(
        f"{name}={_printable(value.translate(_CEF_VALUE))}"
        for name, value in _cef_extension(notice).items()
    )
    return f"CEF:0|{fields}|{round(notice.severity / 10)}|{extension}"


def leef(notice: Notice) -> str:
    """Formats `LEEF:2.0|Vendor|Product|Version|Id|x5E|attributes`; severity 1 to 10."""
    header = (_VENDOR, _PRODUCT, __version__, _event_id(notice))
    fields = "|".join(_printable(one.translate(_LEEF_HEADER)) for one in header)
    attributes = _LEEF_DELIMITER.join(
        f"{name}={_printable(value.translate(_LEEF_VALUE))}"
        for name, value in _leef_attributes(notice).items()
    )
    return f"LEEF:2.0|{fields}|x5E|{attributes}"


def json_line(notice: Notice) -> str:
    """Formats one line of JSON; keeps non-ASCII characters and escapes control characters."""
    text = msgspec.json.encode(notice).decode()
    return "".join(
        one if one.isprintable() else f"\\u{ord(one):04x}" if ord(one) < 0x10000 else " "
        for one in text
    )


FORMATS: Final[Mapping[str, Callable[[Notice], str]]] = {
    "cef": cef,
    "leef": leef,
    "json": json_line,
}
"""Formatters by value of the setting `syslog_format`."""


def _event_id(notice: Notice) -> str:
    """Returns the id by which SIEMs group events: the source, not the single detection."""
    return f"{notice.source_kind}:{notice.source_id}"


def _cef_extension(notice: Notice) -> dict[str, str]:
    labels = ("Level", "Techniques", "Report", "Indicator", "Process id")
    values = (
        notice.level,
        ",".join(notice.techniques),
        notice.report_id,
        f"{notice.ioc_type}:{notice.ioc_value}" if notice.ioc_value else "",
        notice.process_id,
    )
    customs: dict[str, str] = {}
    for number, (label, value) in enumerate(zip(labels, values, strict=True), 1):
        if value:
            customs |= {f"cs{number}": value, f"cs{number}Label": label}
    return _known(
        {
            "rt": str(notice.created_us // 1_000 or ""),
            "start": str(notice.time_us // 1_000 or ""),
            "externalId": notice.id,
            "cat": notice.alert_type,
            "cnt": str(notice.count),
            "dhost": notice.hostname,
            "dst": notice.interface_ip,
            "duser": notice.username,
            "dproc": notice.process_name,
            "filePath": notice.process_path,
            "fileHash": notice.sha256 or notice.md5,
            "msg": notice.description or notice.cmdline,
            **customs,
        }
    )


def _leef_attributes(notice: Notice) -> dict[str, str]:
    return _known(
        {
            "devTime": str(notice.time_us // 1_000 or ""),
            "cat": notice.alert_type,
            "sev": str(max(1, round(notice.severity / 10))),
            "name": notice.title,
            "externalId": notice.id,
            "identHostName": notice.hostname,
            "src": notice.interface_ip,
            "usrName": notice.username,
            "resource": notice.process_path or notice.process_name,
            "commandLine": notice.cmdline,
            "md5": notice.md5,
            "sha256": notice.sha256,
            "level": notice.level,
            "techniques": ",".join(notice.techniques),
            "ioc": f"{notice.ioc_type}:{notice.ioc_value}" if notice.ioc_value else "",
            "count": str(notice.count),
        }
    )


def _known(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)
