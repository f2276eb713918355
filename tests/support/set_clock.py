"""A server with a wall clock that a test sets."""

from collections.abc import Mapping
from pathlib import Path

from vedette.bootstrap.serving import serve
from vedette.clock import SystemClock
from vedette.settings.load import load


class SetClock(SystemClock):
    """The machine's clock, set ahead or back by the content of a file."""

    def __init__(self, offset: Path) -> None:
        self._offset = offset

    def now_us(self) -> int:
        return super().now_us() + int(float(self._offset.read_text()) * 1_000_000)


def serve_with_set_clock(words: list[str], _environment: Mapping[str, str]) -> None:
    """A server on the data directory that is the first word. The second is a file with the seconds
    that its clock is ahead of the machine's."""
    data, offset = Path(words[0]), Path(words[1])
    flags = {"data": data, "listen_port": 0, "retention_days": 30, "starter_rules": False}
    serve(load(flags=flags, environ={}), SetClock(offset))
