"""A server whose searches have no time for all that they are asked for: each reads the newest part
of what is stored in some windows."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.contract.store.rows import partial, store
from tests.support.forked import FORKS, Forked, run_program
from tests.support.prepared_data import prepare
from tests.support.served import START_S, STOP_S, Server, listening
from vedette.bootstrap.write_path import open_engines
from vedette.clock import SystemClock
from vedette.search import deadline
from vedette.settings.load import load

WINDOWS = 24
WINDOW_MS = 300_000
HOSTILE = "<b>host</b>"


@contextmanager
def hurried_server(data: Path) -> Iterator[Server]:
    """With a process, `p0.exe` and so on, in each of the last windows."""
    prepare(data, ())
    writer = FORKS.Process(target=_write, args=(data,))
    writer.start()
    writer.join(START_S)
    assert writer.exitcode == 0
    words = ["serve", "--data", str(data), "--port", "0", "--accept-store"]
    process = Forked(words, {}, data / "server.log", _hurried)
    try:
        yield listening(data, process)
    finally:
        process.terminate()
        process.wait(STOP_S)


def _hurried(words: list[str], environment: Mapping[str, str]) -> None:
    """A server whose searches have no time for all that they are asked for. The share is `Final`
    for the product; without it only a store that is slow for its deadline would be read in part."""
    deadline._WHOLE_SHARE = 0.0  # type: ignore[misc]
    run_program(words, environment)


def _write(data: Path) -> None:
    """A process in each of the last windows."""
    settings = load(flags={"data": data}, environ={}).settings
    with ExitStack() as closing:
        engines = open_engines(settings, SystemClock(), closing)
        newest_ms = SystemClock().now_us() // 1_000 // WINDOW_MS * WINDOW_MS
        for number in range(WINDOWS):
            window_ms = newest_ms - number * WINDOW_MS
            times = dict.fromkeys(("start", "last_update", "last_server_update"), window_ms * 1_000)
            row = partial(
                number + 1,
                window_ms=window_ms,
                partition_ms=window_ms,
                hostname=HOSTILE,
                process_name=f"p{number}.exe",
                **times,
            )
            store(engines.telemetry, row)
