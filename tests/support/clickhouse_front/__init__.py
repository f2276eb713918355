"""A ClickHouse server for tests: the embedded engine behind ClickHouse's HTTP protocol.

The front is a process of its own that holds one chDB directory, so several real Vedette servers
can share a store over the HTTP client, which is the one that a cluster is reached by.
`protocol.py` reads requests, `statements.py` says what differs from a server with a Keeper,
`engine.py` runs them, `placement.py` makes several shards of it, each with rows of its own,
`faults.py` makes it fail on request, `handler.py` answers, `__main__.py` is the process.

What it does not have: replication, other machines, users of its own besides the one it is started
with. `ON CLUSTER` runs on the one engine there is; a replicated table is a plain one that
recognises blocks by their token, too.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.ports import free_port

START_S = 60.0
_ROOT = Path(__file__).parents[3]
USER, PASSWORD = "vedette", "a-word-that-is-never-logged"


@dataclass
class Front:
    """A running front."""

    port: int
    directory: Path
    process: "subprocess.Popen[bytes]" = field(repr=False)
    flags: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def dsn(self) -> str:
        return f"clickhouse://{USER}:{PASSWORD}@127.0.0.1:{self.port}/vedette"

    def fail(self, *faults: dict[str, Any]) -> None:
        """Replaces the faults that are to come (`faults.Fault`); none: all goes well again."""
        httpx.post(f"{self.url}/faults", json=faults, timeout=60).raise_for_status()

    def faults_left(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/faults", timeout=60).json()
        return found

    def statements(self) -> list[str]:
        """The newest statements, as they arrived; of inserts without their rows."""
        found: list[str] = httpx.get(f"{self.url}/statements", timeout=60).json()
        return found

    def settings_of(self, pattern: str) -> list[dict[str, str]]:
        """Returns the settings of the newest statements that match a pattern."""
        found = httpx.get(f"{self.url}/settings", timeout=60).json()
        return [settings for text, settings in found if re.search(pattern, text)]

    def placement(self) -> tuple[dict[int, int], list[int]]:
        """The shard of every sensor, of a front with several; and sensors that are on two."""
        found = httpx.get(f"{self.url}/placement", timeout=60).json()
        return {int(one): shard for one, shard in found["places"].items()}, found["split"]

    def ask(self, sql: str) -> list[list[Any]]:
        """Rows of a SELECT."""
        answer = httpx.post(
            self.url,
            content=f"{sql} FORMAT JSONCompact",
            auth=(USER, PASSWORD),
            timeout=60,
        )
        assert answer.is_success, answer.text
        found: list[list[Any]] = json.loads(answer.content)["data"]
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Another process on the same directory and port, after this one has ended."""
        self.process = _launch(self.directory, self.port, self.flags)
        _wait_until_ready(self.url, self.process, self.directory)


@contextmanager
def clickhouse_front(directory: Path, *flags: str) -> Iterator[Front]:
    """A front on a directory, which it makes, until the end."""
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    front = Front(port, directory, _launch(directory, port, flags), flags)
    try:
        _wait_until_ready(front.url, front.process, directory)
        yield front
    finally:
        front.process.terminate()
        try:
            front.process.wait(START_S)
        except subprocess.TimeoutExpired:
            front.kill()


def _launch(directory: Path, port: int, flags: Sequence[str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.support.clickhouse_front", str(directory), str(port)]
    with (directory / "front.log").open("ab") as output:
        return subprocess.Popen(
            [*command, *flags], stdout=output, stderr=subprocess.STDOUT, cwd=_ROOT
        )


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]", directory: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{url}/ping", timeout=60).raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    pytest.fail("the front did not start:\n" + (directory / "front.log").read_text()[-4_000:])
