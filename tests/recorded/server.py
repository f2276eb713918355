"""A server of its own for one set: started as users start it, fed with `vedette import`."""

import json
import os
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.recorded.event_table import LISTS

START_S = 120.0
STOP_S = 60.0
PAGE_ROWS = 1_000

EVENT_LISTS = (*LISTS, "processblock")
_COUNTS = frozenset(f"{name}_count" for name in EVENT_LISTS)

_VEDETTE = (sys.executable, "-m", "vedette")


Tally = Counter[tuple[str, int, str]]
"""Records by channel in lower case, event id and outcome."""


def tally_of(summary: dict[str, Any]) -> Tally:
    """Returns the counts in the summary of an import, by outcome: events, record, duplicate,
    not_kept, rejected."""
    tally: Tally = Counter()
    for channel, event_id, outcome, count in summary["tally"]:
        tally[channel.lower(), event_id, outcome] += count
    return tally


class Server:
    """A running server; everything is asked over HTTPS."""

    def __init__(self, data: Path, access: dict[str, Any]) -> None:
        self.data = data
        self._client = httpx.Client(
            base_url=access["url"],
            headers={"X-Auth-Token": access["token"]},
            verify=ssl.create_default_context(cafile=access["certificate"]),
            timeout=120,
        )

    def close(self) -> None:
        self._client.close()

    def take(self, *paths: Path) -> dict[str, Any]:
        """The summary of an import through this server."""
        return take(self.data, *paths)

    def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        """The JSON answer of a route; names of parameters with `__` for a dot."""
        renamed = {name.replace("__", "."): value for name, value in parameters.items()}
        answer = self._client.get(path, params=renamed)
        assert answer.status_code == 200, f"{path} {parameters}: {answer.text[:2_000]}"
        body: dict[str, Any] = answer.json()
        return body

    def segments(self, query: str = "") -> list[dict[str, Any]]:
        """All segments that a query finds, read page by page."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.get(
                "/api/v1/process", q=query, rows=PAGE_ROWS, start=len(found), sort="start asc"
            )
            found += page["results"]
            if not page["results"] or len(found) >= page["total_results"]:
                assert len(found) == page["total_results"]
                return found

    def events(self, segments: list[dict[str, Any]]) -> dict[str, list[Any]]:
        """All events of a process by list, read window by window; `segments` are all of it."""
        lists: dict[str, list[Any]] = {}
        total = sum(count for s in segments for name, count in s.items() if name in _COUNTS)
        at = 0
        while at < total:
            path = f"/api/v4/process/{segments[0]['id']}/0/event"
            process = self.get(path, svc__event_start=at)["process"]
            page = {name: process.get(f"{name}_complete") or [] for name in EVENT_LISTS}
            for name, events in page.items():
                lists.setdefault(name, []).extend(events)
                at += len(events)
            assert any(page.values()), f"{path}: {at} events of {total}"
        return lists


def take(data: Path, *paths: Path) -> dict[str, Any]:
    """The summary of `vedette import`, through the server that runs on a data directory if any."""
    done = subprocess.run(
        [*_VEDETTE, "import", *map(str, paths), "--data", str(data), "--json"],
        capture_output=True,
        check=False,
        text=True,
        env=_environment(),
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@contextmanager
def running(data: Path) -> Iterator[Server]:
    """A server on a data directory, ended with SIGTERM."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*_VEDETTE, "serve", "--data", str(data), "--port", "0"],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(),
        )
        try:
            server = Server(data, _access(data, process))
            try:
                yield server
            finally:
                server.close()
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _access(data: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            access: dict[str, Any] = json.loads((data / "server.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.05)
        else:
            return access
    raise AssertionError("no server:\n" + (data / "server.log").read_text()[-4_000:])


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("VEDETTE_")}
