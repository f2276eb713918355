"""The real Linux sensor as a process, for tests that run as root.

Its own audit rules watch one user that nobody else is, and its files one empty file system, so
that tests do not see each other, and nobody else's files are read. What the tests change of the
machine's audit system is given back, whatever happens.
"""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.sensor import secret_of
from tests.support.served import Server, wait_for
from vedette.sensor.kernel import fanotify
from vedette.sensor.kernel.audit import AuditControl

UID = 51_234
TIMEOUT_S = 40.0
ROOT = Path(__file__).parents[2]
_SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@functools.cache
def missing_privilege() -> str:
    """Why the sensor cannot be tested on this machine; empty when it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux"
    try:
        control = AuditControl()
        owner = control.status()["pid"]
        control.close()
        fanotify.Group(asks=True).close()
    except OSError as error:
        return f"needs the kernel's audit system and fanotify: {error}"
    return f"the audit system belongs to process {owner}" if owner else ""


def program(name: str) -> str:
    """A system program by its full path; skips the test where it is missing."""
    found = shutil.which(name, path=_SYSTEM_PATH)
    if found is None:
        pytest.skip(f"{name} is missing")
    return found


@contextmanager
def file_system() -> Iterator[Path]:
    """An empty file system of its own, for everybody to write to. Not in pytest's folders:
    those are closed to other users."""
    folder = Path(tempfile.mkdtemp(prefix="vedette-", dir="/tmp"))
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "none", folder], capture_output=True, check=False
    )
    if done.returncode:
        folder.rmdir()
        pytest.skip(f"cannot mount: {done.stderr!r}")
    folder.chmod(0o1777)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)
        folder.rmdir()


@dataclass
class Sensor:
    """A running sensor and the settings it was started with."""

    server: Server
    folder: Path
    hostname: str
    process: "subprocess.Popen[bytes]"

    @property
    def log(self) -> str:
        return (self.folder / "sensor.log").read_text()

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> int:
        """The exit status. A sensor that does not end is killed: tests that follow need the audit
        system, and the next sensor gives back what this one held."""
        self.process.send_signal(how)
        try:
            return self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def record(self, client: httpx.Client) -> dict[str, Any]:
        """Its record, once it has enrolled."""
        asked = {"hostname": self.hostname}
        rows: list[dict[str, Any]] = []
        deadline = time.monotonic() + TIMEOUT_S
        while not rows and time.monotonic() < deadline:
            found = client.get("/api/v1/sensor", params=asked).json()
            # The parameter finds names that contain this one, too.
            rows = [row for row in found if row["computer_dns_name"] == self.hostname]
            time.sleep(0.0 if rows else 0.3)
        assert rows, self.log
        return rows[0]

    def wait_for_state(self, name: str) -> dict[str, Any]:
        """A file of its data folder, once it is there."""
        path = self.folder / "data" / name
        wait_for(path.exists, True, TIMEOUT_S)
        found: dict[str, Any] = json.loads(path.read_text())
        return found


def write_settings(server: Server, folder: Path, hostname: str, **more: object) -> Path:
    settings = {
        "server_url": server.url,
        "group_secret": more.get("group_secret") or secret_of(server),
        "ca_pem_file": server.certificate,
        "data_dir": folder / "data",
        "hostname": hostname,
        "audit_uid": UID,
        **more,
    }
    path = folder / "sensorsettings.ini"
    lines = [f"{name} = {value}" for name, value in settings.items()]
    path.write_text("\n".join(["[sensor]", *lines, ""]))
    return path


def launch(
    server: Server, folder: Path, hostname: str, *before: str, command: list[str] | None = None
) -> Sensor:
    """Starts the sensor with the settings in the folder. `before`: words before the command."""
    run = command or [sys.executable, "-m", "vedette.sensor"]
    with (folder / "sensor.log").open("wb") as log:
        process = subprocess.Popen(
            [*before, *run, "--settings", str(folder / "sensorsettings.ini")],
            stdout=log,
            stderr=log,
            cwd=ROOT,
        )
    return Sensor(server, folder, hostname, process)


@contextmanager
def running(server: Server, folder: Path, hostname: str, **more: object) -> Iterator[Sensor]:
    """The sensor, from its first check-in to its regular end."""
    folder.mkdir(exist_ok=True)
    write_settings(server, folder, hostname, **more)
    sensor = launch(server, folder, hostname)
    try:
        wait_for(lambda: "missing:" in sensor.log, True, TIMEOUT_S)
        sensor.wait_for_state("identity.json")
        yield sensor
    finally:
        if sensor.process.poll() is None:
            sensor.stop()
        print(sensor.log)


def as_user(script: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs a shell script as the user that the audit rules apply to."""
    who = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
    return subprocess.run(
        [*who, "/bin/bash", "-c", script],
        cwd=folder,
        env={"PATH": _SYSTEM_PATH, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def audit_state() -> tuple[dict[str, int], list[bytes]]:
    """The status of the audit system without its counters, and its rules."""
    control = AuditControl()
    try:
        counts = {"lost", "backlog", "mask"}
        status = {name: value for name, value in control.status().items() if name not in counts}
        return status, control.rules()
    finally:
        control.close()


def found(client: httpx.Client, query: str) -> int:
    """Returns the number of processes that match a query."""
    answer = client.get("/api/v1/process", params={"q": query, "rows": 0})
    assert answer.status_code == 200, answer.text
    total: int = answer.json()["total_results"]
    return total


def wait_until_found(client: httpx.Client, query: str) -> bool:
    return bool(wait_for(lambda: found(client, query) > 0, True, TIMEOUT_S))
