"""Times as the wire formats write them, cheaply: the text of a second is made once."""

from datetime import UTC, datetime
from functools import lru_cache

MILLIS: tuple[bytes, ...] = tuple(b"%03d" % n for n in range(1000))


@lru_cache(maxsize=8192)
def second_text(second: int) -> tuple[bytes, bytes]:
    """Date and clock of an epoch second, UTC: (b"2026-03-01", b"07:05:09")."""
    moment = datetime.fromtimestamp(second, UTC)
    return moment.strftime("%Y-%m-%d").encode(), moment.strftime("%H:%M:%S").encode()


def utc_text(at_us: int) -> bytes:
    """Sysmon's UtcTime: `2026-03-01 07:05:09.123`."""
    second, micros = divmod(at_us, 1_000_000)
    date, clock = second_text(second)
    return b"%b %b.%b" % (date, clock, MILLIS[micros // 1000])


def iso_text(at_us: int) -> bytes:
    """ISO 8601 with nine decimals, as Endpoint Security prints it:
    `2026-03-01T07:05:09.123456000Z`."""
    second, micros = divmod(at_us, 1_000_000)
    date, clock = second_text(second)
    return b"%bT%b.%06d000Z" % (date, clock, micros)


def json_text(text: str) -> bytes:
    """The inside of a JSON string. For our own texts: no control characters but line breaks."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").encode()
