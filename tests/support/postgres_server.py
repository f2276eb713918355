"""A private PostgreSQL, on a socket in a temporary folder and, where it is wanted, on loopback."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest

from tests.support.memory import in_memory
from tests.support.ports import free_port

START_S = 20
INITDB_OPTIONS = ("-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--no-locale")


@dataclass
class Postgres:
    """A running server. `dsn` names its own database on the socket."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]" = field(repr=False)
    _command: list[str | Path] = field(repr=False)
    _owner: dict[str, Any] = field(repr=False)

    @property
    def dsn(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder}" + (
            f"&port={self.port}" if self.port else ""
        )

    def new_database(self, name: str) -> str:
        """Makes an empty database beside its own; returns its DSN."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.dsn.replace("/postgres?", f"/{name}?")

    def kill(self) -> None:
        """Kills all processes of the server at once, like a power failure."""
        self.signal(signal.SIGKILL)
        self.process.wait()

    def signal(self, number: int) -> None:
        """To every process of the server: each connection has one of its own."""
        pids = [self.process.pid, *_children(self.process.pid)]
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def restart(self) -> None:
        """Another one on the same data, after this one has ended."""
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        self.process = _launch(self.folder, self._command, self._owner)
        _wait_until_ready(self.dsn, self.process)


@contextmanager
def postgres_server(*, on_loopback: bool = False) -> Iterator[Postgres]:
    """A new one until the end. Skips the test where there are no programs of PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL programs (initdb, postgres) on this machine")
    # Sockets need short paths.
    with (
        TemporaryDirectory(prefix="vedette-pg-", dir="/tmp") as name,
        in_memory(Path(name)) as folder,
    ):
        owner = _unprivileged(folder)
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", *INITDB_OPTIONS],
            check=True,
            capture_output=True,
            cwd=folder,
            **owner,
        )
        port = free_port() if on_loopback else 0
        settings = [f"unix_socket_directories={folder}", "fsync=off", "max_connections=200"]
        settings += (
            ["listen_addresses=127.0.0.1", f"port={port}"] if port else ["listen_addresses="]
        )
        command: list[str | Path] = [programs / "postgres", "-D", folder / "data"]
        for setting in settings:
            command += ["-c", setting]
        server = Postgres(folder, port, _launch(folder, command, owner), command, owner)
        try:
            _wait_until_ready(server.dsn, server.process)
            yield server
        finally:
            server.signal(signal.SIGCONT)
            server.process.send_signal(signal.SIGQUIT)
            server.process.wait(START_S)


def _children(parent: int) -> list[int]:
    found: list[int] = []
    for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
        found += map(int, tasks.read_text().split())
    return found


def _programs() -> Path | None:
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres", known["nobody"])
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _launch(
    folder: Path, command: list[str | Path], owner: dict[str, Any]
) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **owner)


def _wait_until_ready(dsn: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline or server.poll() is not None:
                raise
            time.sleep(0.1)
