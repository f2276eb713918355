"""Logs of the simulated fleet, to import."""

from itertools import islice
from pathlib import Path

from vedette.simulate.day import iter_events
from vedette.simulate.fleet import build_fleet

START_US = 1_780_300_800 * 1_000_000


def written(path: Path, events: int, hosts: int) -> Path:
    """A log of so many events of a small fleet, one line each."""
    fleet = build_fleet(11, hosts, only="windows")
    day = iter_events(fleet, START_US, events=events, stories=())
    with path.open("wb") as file:
        for at_us, stream, body in islice(day, events):
            file.write(b"".join(stream.frame(at_us, body)).partition(b"\n")[2])
    return path
