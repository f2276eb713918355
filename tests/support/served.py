"""A real server in its own process, with the words that users start it with; tests speak to it over
HTTPS only."""

import json
import os
import resource
import ssl
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.forked import Forked, run_program
from tests.support.prepared_data import prepare
from vedette.blobs.local_directory import LocalDirectory
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import teams, tokens, users
from vedette.state.db.database import Database, open_database
from vedette.state.policy import groups

START_S = 180.0
"""A start takes a second and a half of processor time, of which a busy machine gives little."""
STOP_S = 60.0
ASKED_AGAIN_S = 0.05
ASKED_AGAIN_MAX_S = 0.3
"""After which `wait_for` asks again at first, and at last."""


@dataclass(frozen=True)
class Server:
    """Where a running server is, and the credentials it printed."""

    url: str
    token: str
    ingest_token: str
    certificate: Path
    data: Path

    def client(self, **headers: str) -> httpx.Client:
        """An HTTPS client that trusts the server's certificate and nothing else."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        return httpx.Client(base_url=self.url, headers=headers, verify=context, timeout=60)

    def analyst(self) -> httpx.Client:
        return self.client(**{"X-Auth-Token": self.token})

    def sender(self) -> httpx.Client:
        return self.client(Authorization=f"Bearer {self.ingest_token}")


@contextmanager
def state_of(server: Server) -> Iterator[Database]:
    """The state database of a running server, as the command line opens it."""
    database = open_database("", server.data)
    try:
        yield database
    finally:
        database.close()


def blobs_of(server: Server) -> LocalDirectory:
    """The blob store of a running server without a bucket."""
    return LocalDirectory(server.data / "blobs")


def hire(server: Server, name: str, roles: dict[int, Role]) -> str:
    """The API token of a new user with these roles by sensor group."""
    now_us = SystemClock().now_us()
    with state_of(server) as database:
        team = teams.add(database, f"team of {name}", roles)
        user = users.add(database, users.NewUser(name, team_ids=(team.id,)), now_us)
        return tokens.issue(database, tokens.NewToken("api", user_id=user.id), now_us).secret


def open_group(server: Server, name: str) -> tuple[int, str]:
    """A new sensor group: its id, and the secret of an ingest token for it."""
    with state_of(server) as database:
        group = groups.add(database, name)
        new = tokens.NewToken("ingest", name, group_id=group.id)
        return group.id, tokens.issue(database, new, SystemClock().now_us()).secret


def start_server(data: Path, *flags: str) -> Generator[Server, None, None]:
    """Runs `vedette serve` on a data directory until the generator is closed. A new directory has
    the tables already: tests of first starts use `forked` or `launch`."""
    prepare(data, flags)
    process = forked(data, *flags)
    try:
        yield listening(data, process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


serving = contextmanager(start_server)
"""The same for a block."""


def forked(data: Path, *flags: str, descriptors: int = 0) -> Forked:
    """The same as `launch`, in half of the time. `descriptors` is its limit of file descriptors; 0:
    that of the tests."""
    words = ["serve", "--data", str(data), "--port", "0", *flags]
    program = partial(_limited, descriptors) if descriptors else None
    return Forked(words, _environment(), data / "server.log", program)


def _limited(descriptors: int, words: list[str], environment: Mapping[str, str]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    run_program(words, environment)


def launch(data: Path, *flags: str) -> subprocess.Popen[bytes]:
    """Starts `vedette serve` on a data directory; its output goes to `server.log` there."""
    command = [sys.executable, "-m", "vedette", "serve", "--data", str(data), "--port", "0"]
    with (data / "server.log").open("ab") as output:
        return subprocess.Popen(
            [*command, *flags], stdout=output, stderr=subprocess.STDOUT, env=_environment()
        )


def wait_for(
    ask: Any, wanted: Any, timeout_s: float = 20.0, *, pause_max_s: float = ASKED_AGAIN_MAX_S
) -> Any:
    """Ask until the answer is the wanted one; the last answer at the deadline. The longer it takes,
    the more rarely: what is asked is often a search, and twenty in a second take half a core.
    `pause_max_s` is for answers that soon are others again."""
    began = time.monotonic()
    while (answer := ask()) != wanted and (waited_s := time.monotonic() - began) < timeout_s:
        time.sleep(min(max(ASKED_AGAIN_S, waited_s / 10), pause_max_s))
    return answer


def _environment() -> dict[str, str]:
    own = {name: text for name, text in os.environ.items() if not name.startswith("VEDETTE_")}
    # Alerts are those of the rules that a test adds; and a new server is ready a second earlier.
    return own | {"VEDETTE_STARTER_RULES": "false"}


def listening(data: Path, process: "subprocess.Popen[bytes] | Forked") -> Server:
    """The server that a launched process is, once it can be reached."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            found = json.loads((data / "server.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            found = {}
        if found.get("pid") != process.pid:  # none yet, or left behind by one that was killed
            time.sleep(0.05)
            continue
        certificate = Path(found["certificate"])
        return Server(found["url"], found["token"], found["ingest_token"], certificate, data)
    pytest.fail("the server did not start:\n" + (data / "server.log").read_text()[-4_000:])
