"""Syslog headers before log lines: RFC 3164, RFC 5424, and the remains that rsyslog and journald
leave.

A header is recognized only by its shape, and every part has a maximum length, so parsing reads at
most a few hundred characters of any text. The text after the header is not searched.
"""

import re
from typing import Final

_PRIORITY: Final = r"(?:<\d{1,3}>)"
_ISO_TIME: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[0-9.,:+Z-]{0,24}"
_BSD_TIME: Final = r"[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d{1,9})?"
_TAG: Final = r"[^\s:\[\]{}<>=\"']{1,64}(?:\[\d{1,10}\])?:"
_KNOWN_TAG: Final = r"(?:kernel|sysmon|auoms|[\w./-]{0,16}audi[\w./-]{0,16})(?:\[\d{1,10}\])?:"

_HEADER: Final = re.compile(
    rf"{_PRIORITY}?\ufeff?\s{{0,8}}"
    rf"(?:1 (?:{_ISO_TIME}|-) [^\s=]{{1,255}} \S{{1,48}} \S{{1,128}} \S{{1,32}} "
    r"(?:-|\[[^\]]{0,1024}\]) ?\ufeff?"
    rf"|(?:{_ISO_TIME}|{_BSD_TIME}) (?:[^\s=\[<{{\"']{{1,255}} )?(?:{_TAG})?"
    rf"|{_KNOWN_TAG}(?= )"
    r")?\s{0,8}(?:\[[ \d]{1,8}\.\d{1,9}\] )?(?:audit: )?"
)


def header_end(text: str) -> int:
    """Returns the index at which the message starts; 0 for text without a syslog header or leading
    space."""
    found = _HEADER.match(text)
    return found.end() if found else 0
