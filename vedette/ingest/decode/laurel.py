"""Decoder of laurel: one JSON object per audit event, assembled and enriched.

Bytes other than printable ASCII, `%` and `+` are written `%xx`; `+` is a plus. `ID` is
`seconds.ms:serial`, `PID.EVENT_ID` the id of the event that started the process.
"""

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from msgspec.json import Encoder

from vedette.ingest.decode import shipper
from vedette.ingest.decode.audit_tables import event_id_of
from vedette.ingest.decode.auditd import record_id_of
from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.record import Record, RecordError
from vedette.limits import Limit

AUDIT_IDS_CACHED_MAX: Limit[int] = 16_384
"""Maximum cached audit event ids in parsed form. Every event references the starts of its process
and parent."""


_ID = re.compile(r"(\d{1,12})\.(\d{1,9}):(\d{1,20})")
_ID_CHARS_MAX = 43
_NO_KEY = 0, -1
_encode = Encoder().encode
_PARTS = frozenset({"ID", "NODE", "EXECVE", "PATH", "CWD", "SOCKADDR", "PROCTITLE", "OBJ_PID"})


def recognises(obj: dict[str, Any]) -> bool:
    """Whether `ID` is the id of an audit event."""
    event_id = obj.get("ID")
    return isinstance(event_id, str) and event_key(event_id) != _NO_KEY


def decode(obj: dict[str, Any], raw: bytes = b"") -> list[Record]:
    """`raw` is the text of the object, if any. Raises RecordError: no_host, no_time."""
    time_us, serial = event_key(obj["ID"])
    node = obj.get("NODE")
    host = lower_host(node) if isinstance(node, str) else shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the audit event has no host")
    if not time_us:
        raise RecordError("no_time", "the audit event has no time")
    data = {name: value for name, value in obj.items() if name.isupper()}
    # Escapes are rare, and a single scan of the text is faster than a scan of every value.
    if (not raw or b"%" in raw) and b"%" in _encode(data):
        data = {name: _plain(value) for name, value in data.items()}
    main = "SYSCALL" if "SYSCALL" in data else next(iter(sorted(data.keys() - _PARTS)), "")
    return [
        Record(
            "auditd",
            host,
            time_us,
            "auditd",
            event_id_of(main),
            record_id_of(time_us, serial),
            data={"SERIAL": serial, **data},
        )
    ]


def event_key(text: str) -> tuple[int, int]:
    """Returns time (epoch microseconds) and serial of an event id; (0, -1) if malformed."""
    return _key(text) if len(text) <= _ID_CHARS_MAX else _NO_KEY


@lru_cache(maxsize=AUDIT_IDS_CACHED_MAX)
def _key(text: str) -> tuple[int, int]:
    found = _ID.fullmatch(text)
    if found is None:
        return _NO_KEY
    seconds, fraction, serial = found.groups()
    return int(seconds) * 1_000_000 + int((fraction + "000000")[:6]), int(serial)


def _plain(value: Any) -> Any:
    """Decodes percent-encoding in a value at any depth."""
    if isinstance(value, str):
        return unquote(value, errors="replace") if "%" in value else value
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
