r"""Decodes lines of text logs that only rules and log search read: access and error logs of web
servers, and syslog lines of Linux daemons.

| Line | Channel | Data |
|---|---|---|
| common and combined access logs of Apache and nginx | `web_access` | W3C names |
| W3C logs of IIS, as `framing/w3c_log.py` hands them over | `iis_access` | W3C names |
| error logs of Apache and nginx | `apache_error`, `nginx_error` | `message` |
| syslog with time, host and program | the program's, or `syslog` | `program`, `pid`, `message` |

Every part of a pattern is bounded or possessive, so that parsing is linear in the line. A line that
starts like an audit or Santa line is left to their decoders.
"""

import re
from datetime import UTC, datetime
from typing import Any, Final

from vedette.ingest.decode import shipper
from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us
from vedette.limits import Limit

TEXT_LOG_LINE_CHARS_MAX: Limit[int] = 65_536
"""Characters of a line of a text log that are read. Servers limit a request line to 8 to 16 kB."""

W3C_MEMBER: Final = "vedette_w3c"
"""Member of the objects that `framing/w3c_log.py` makes of the lines of IIS."""

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_QUOTED: Final = r'"((?:[^"\\]|\\.)*+)"'
_ACCESS: Final = re.compile(
    r"(?:([\w.-]{1,255}):\d{1,5} )?([0-9A-Fa-f.:]{2,45}) \S{1,255} (\S{1,255}(?: \S{1,255}){0,3}) "
    r"\[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\] "
    rf"{_QUOTED} (\d{{3}}) (\d{{1,20}}|-)(?: {_QUOTED} {_QUOTED})?"
)
_REQUEST: Final = re.compile(r"([!-~]{1,32}) (\S++)(?: (HTTP/\d(?:\.\d)?))?")
_APACHE_ERROR: Final = re.compile(
    r"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (\d\d:\d\d:\d\d)(\.\d{1,9})? (\d{4})\] "
    r"(?=\[[\w-]{0,64}:?\w{1,16}\] )"
)
_NGINX_ERROR: Final = re.compile(
    r"(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d) \[[a-z]{4,6}\] (?=\d{1,10}#\d{1,10}: )"
)
_SYSLOG: Final = re.compile(
    r"(?:<\d{1,3}>)?(?:"
    r"1 (\d{4}-\d\d-\d\dT[0-9:.+Z-]{8,24}) ([\w.:-]{1,255}) ([\w./-]{1,48}) (\d{1,10}|-) \S{1,32} "
    r"(?:-|(?:\[[^\]]{0,1024}\]){1,8}) ?\ufeff?"
    r"|(?:(\d{4}-\d\d-\d\d[T ][0-9:.,+Z-]{8,24})"
    r"|([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)) "
    r"([\w.:-]{1,255}) ([\w./@-]{1,64})(?:\((\w{1,32})\))?(?:\[(\d{1,10})\])?: )"
)
_OTHERS: Final = re.compile(r"[^=]{0,40}audit\(|(?:node=\S{1,255} )?type=[A-Z]|\[\d{4}-\d\d-\d\dT")
"""Messages that belong to decoders of their own."""

_SUDO: Final = ("TTY", "PWD", "USER", "GROUP", "ENV")
_PROGRAMS: Final = {
    "sshd": "sshd",
    "sshd-session": "sshd",
    "sshd-auth": "sshd",
    "sudo": "sudo",
    "cron": "cron",
    "crond": "cron",
    "crontab": "cron",
    "anacron": "cron",
    "clamd": "clamav",
    "clamscan": "clamav",
    "clamonacc": "clamav",
    "freshclam": "clamav",
    "vsftpd": "vsftpd",
    "guacd": "guacamole",
    "guacamole": "guacamole",
    **dict.fromkeys(
        (
            *("pkexec", "su", "login", "polkitd", "systemd-logind", "passwd", "chpasswd"),
            *("useradd", "userdel", "usermod", "groupadd", "groupdel", "gpasswd", "chage"),
        ),
        "auth",
    ),
}
"""Maps the lower-case name of a program to its channel; others have the channel `syslog`."""


def begins_line(text: str) -> bool:
    """Whether a text starts with a line of a text log."""
    head = text[:TEXT_LOG_LINE_CHARS_MAX]
    if any(one.match(head) for one in (_ACCESS, _APACHE_ERROR, _NGINX_ERROR)):
        return True
    found = _SYSLOG.match(head)
    return found is not None and _OTHERS.match(head, found.end()) is None


def recognises(obj: dict[str, Any]) -> bool:
    return bool(shipper.text_of(obj, begins_line))


def decode(obj: dict[str, Any]) -> list[Record]:
    """Returns the records of the lines in a shipper's record. Raises RecordError: no_host,
    no_time."""
    host, moment_us = shipper.host_of(obj), shipper.time_of(obj)
    lines = shipper.text_of(obj, begins_line).split("\n")
    return [parse_line(line, host, moment_us) for line in lines if begins_line(line)]


def parse_line(text: str, host: str, moment_us: int = 0) -> Record:
    """Returns the record of a line. `moment_us` is the shipper's time, which counts if the line has
    no year. Raises RecordError: no_host, no_time, bad_time."""
    text = text[:TEXT_LOG_LINE_CHARS_MAX].rstrip("\r\n")
    for pattern, make in ((_ACCESS, _access), (_APACHE_ERROR, _apache), (_NGINX_ERROR, _nginx)):
        found = pattern.match(text)
        if found is not None:
            channel, time, data = make(found, text)
            return _record(host, time, channel, data)
    found = _SYSLOG.match(text)
    if found is None:
        raise RecordError("unknown_format", "no line of a text log")
    return _syslog(found, text, host, moment_us)


def recognises_w3c(obj: dict[str, Any]) -> bool:
    return isinstance(obj.get(W3C_MEMBER), dict)


def decode_w3c(obj: dict[str, Any]) -> list[Record]:
    """Returns the record of a line of IIS. Raises RecordError: no_host, bad_time."""
    raw = {str(name).lower(): str(value) for name, value in obj[W3C_MEMBER].items()}
    data = {_W3C_NAMES.get(name, name): value for name, value in raw.items() if value != "-"}
    time = f"{data.pop('date', '')}T{data.pop('time', '')}Z"
    for name in ("cs-user-agent", "cs-referer", "cs-cookie"):
        if name in data:
            data[name] = data[name].replace("+", " ")
    query = data.get("cs-uri-query", "")
    stem = data.get("cs-uri-stem", "")
    data["cs-uri-query"] = data["c-uri"] = f"{stem}?{query}" if query else stem
    if "cs-user-agent" in data:
        data["c-useragent"] = data["cs-user-agent"]
    return [_record(shipper.host_of(obj), any_time_us(time), "iis_access", data)]


_W3C_NAMES: Final = {
    "cs(user-agent)": "cs-user-agent",
    "cs(referer)": "cs-referer",
    "cs(cookie)": "cs-cookie",
    "cs(host)": "cs-host",
}


def _record(host: str, time_us: int, channel: str, data: dict[str, Any]) -> Record:
    if not host:
        raise RecordError("no_host", "the line does not say which host it is from")
    if not time_us:
        raise RecordError("bad_time", "the line has no time that can be believed")
    present = {name: value for name, value in data.items() if value not in ("", None)}
    provider = str(present.get("program", ""))
    return Record("log", host, time_us, channel, provider=provider, data=present)


_Made = tuple[str, int, dict[str, Any]]
"""Channel, time (us), data."""


def _access(found: re.Match[str], _text: str) -> _Made:
    vhost, address, user, day, month, year, clock, zone = found.groups()[:8]
    request, status, size, referer, agent = found.groups()[8:]
    time_us = _time_us(year, month, day, clock, f"{zone[:3]}:{zone[3:]}")
    parts = _REQUEST.fullmatch(request)
    method, uri, version = parts.groups() if parts is not None else ("", request, "")
    data = {
        "c-ip": address,
        "cs-username": "" if user == "-" else user,
        "cs-host": vhost,
        "cs-method": method,
        "cs-uri-stem": uri.partition("?")[0],
        "cs-uri-query": uri,
        "c-uri": uri,
        "cs-version": version,
        "sc-status": status,
        "sc-bytes": "" if size == "-" else size,
        "cs-referer": "" if referer == "-" else referer,
        "cs-user-agent": "" if agent == "-" else agent,
        "c-useragent": "" if agent == "-" else agent,
    }
    return "web_access", time_us, data


def _apache(found: re.Match[str], text: str) -> _Made:
    month, day, clock, fraction, year = found.groups()
    time_us = _time_us(year, month, day, clock + (fraction or "")[:7], "Z")
    return "apache_error", time_us, {"message": text[found.end() :]}


def _nginx(found: re.Match[str], text: str) -> _Made:
    year, month, day, clock = found.groups()
    return (
        "nginx_error",
        any_time_us(f"{year}-{month}-{day}T{clock}Z"),
        {"message": text[found.end() :]},
    )


def _time_us(year: str, month: str, day: str, clock: str, zone: str) -> int:
    number = _MONTHS.get(month, 0)
    return any_time_us(f"{year}-{number:02}-{int(day):02}T{clock}{zone}")


def _syslog(found: re.Match[str], text: str, host: str, moment_us: int) -> Record:
    own = lower_host(found[2] or found[7])
    # A shipper on the same host knows its full name; a collector has another.
    host = host if host and (own == "localhost" or host.partition(".")[0] == own) else own
    program = found[3] or found[8]
    written = found[1] or found[5]
    if written:
        time_us = any_time_us(written.replace(",", "."))
    else:
        time_us = _of_year(found[6], moment_us)
        if not time_us:
            message = "a syslog time has no year; send ISO 8601 times, or through a shipper"
            raise RecordError("no_time", message)
    pid = found[4] or found[10] or ""
    name = program.rpartition("/")[2].lower()
    channel = _PROGRAMS.get(name, "syslog")
    message = text[found.end() :]
    data = {"program": program, "pid": "" if pid == "-" else pid, "message": message}
    if channel == "sudo":
        data |= _sudo(message)
    return _record(host, time_us, channel, data)


def _of_year(written: str, moment_us: int) -> int:
    """Returns a time without year in the year of the shipper's time, or the year before if it would
    be more than a day later."""
    if not moment_us:
        return 0
    year = datetime.fromtimestamp(moment_us / 1e6, UTC).year
    month, day, clock = written[:3], written[4:6].strip(), written[7:]
    time_us = _time_us(str(year), month, day, clock, "Z")
    if time_us > moment_us + 86_400_000_000:
        time_us = _time_us(str(year - 1), month, day, clock, "Z")
    return time_us


def _sudo(message: str) -> dict[str, str]:
    """Returns the values of a line of sudo: `alice : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=x`.
    COMMAND is last and may contain anything."""
    head, _, command = message.partition("COMMAND=")
    found = {"COMMAND": command} if command else {}
    for part in head.split(" ; "):
        name, equal, value = part.rpartition(" : ")[2].strip(" ;").partition("=")
        if equal and name in _SUDO:
            found[name] = value
    return found
