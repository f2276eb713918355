"""`vedette serve` with a wall clock that a test sets.

`python -m tests.support.set_clock DATA FILE`: FILE holds the seconds that the clock is ahead of the
machine's."""

import sys
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


def main() -> None:
    data, offset = Path(sys.argv[1]), Path(sys.argv[2])
    flags = {"data": data, "listen_port": 0, "retention_days": 30}
    serve(load(flags=flags, environ={}).settings, SetClock(offset))


if __name__ == "__main__":
    main()
