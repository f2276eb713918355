"""Writes detections into the store of a server that is stopped: its rules are other tests'
matter."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from tests.support.forked import FORKS
from tests.support.served import Server, start_server
from vedette.alerting.detection_writer import DetectionWriter
from vedette.bootstrap.write_path import open_engines
from vedette.clock import DrivenClock, SystemClock
from vedette.model.findings.detection import Detection
from vedette.settings.load import load

WRITE_S = 120
DAY_US = 86_400_000_000


@contextmanager
def alerted_server(
    data: Path, detect: Callable[[Server], Sequence[Detection]], *flags: str
) -> Iterator[Server]:
    """A server with alerts. `detect` is given a first run of it, to send telemetry to and to learn
    ids from."""
    running = start_server(data, *flags)
    found = detect(next(running))
    running.close()  # type: ignore[attr-defined]
    write_detections(data, found)
    yield from start_server(data, *flags)


def write_detections(data: Path, found: Sequence[Detection], age_days: int = 0) -> None:
    """Writes them as if that many days ago, by a process of its own."""
    file = data / "detections.json"
    file.write_bytes(msgspec.json.encode(found))
    process = FORKS.Process(target=_write, args=(data, file, age_days))
    process.start()
    process.join(WRITE_S)
    assert process.exitcode == 0


def _write(data: Path, file: Path, age_days: int) -> None:
    settings = load(flags={"data": data}, environ={}).settings
    found = msgspec.json.decode(file.read_bytes(), type=list[Detection])
    with ExitStack() as closing:
        clock = SystemClock()
        engines = open_engines(settings, clock, closing)
        then = DrivenClock(clock.now_us() - age_days * DAY_US) if age_days else clock
        DetectionWriter(engines.telemetry, engines.state, then).write(found)
