"""A server as a child process: start, wait until ready, stop in order.

It gets a session of its own, so that Ctrl-C at the terminal reaches only the parent, which
then stops it with SIGTERM. Its log goes to `server.log` in its data directory. What it prints,
the secrets of a first start, is kept in memory (`printed`) and never written to a file.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from vedette.bootstrap.local_access import LocalAccess, read_access
from vedette.cli.options import local_headers
from vedette.errors import StartError
from vedette.limits import (
    COMMAND_REQUEST_TIMEOUT_S,
    READY_REQUEST_TIMEOUT_S,
    SERVER_LOG_TAIL_CHARS,
    SERVER_START_POLL_S,
    SERVER_START_S,
    SERVER_STOP_S,
)
from vedette.simulate.bulk_client import tls_context


class ServerProcess:
    """`python -m vedette serve` on a data directory."""

    def __init__(self, data: Path, port: int | None = None, arguments: Sequence[str] = ()) -> None:
        """Starts it; a `port` of None takes the one from the settings.

        Raises StartError when a server runs there already.
        """
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        running = read_access(data)
        if running is not None:
            raise StartError(f"a server runs on {data} already: {running.url}, pid {running.pid}")
        self.data = data
        self._log_path = data / "server.log"
        options = [] if port is None else ["--port", str(port)]
        command = [sys.executable, "-m", "vedette", "serve", "--data", str(data), *options]
        log = os.open(self._log_path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._printed: list[str] = []
        threading.Thread(target=self._keep_printed, daemon=True).start()

    def _keep_printed(self) -> None:
        """Until the child closes its output, so that it never waits for a reader."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self._printed.append(line.decode(errors="replace").rstrip("\n"))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def printed(self) -> str:
        """What it printed so far: address and secrets, on its first start only."""
        return "\n".join(self._printed)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self, timeout_s: float = SERVER_START_S) -> LocalAccess:
        """Raises StartError with the end of its log when it ends or does not become ready."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self.is_running:
                raise StartError(f"the server did not start:\n{self.log_tail()}")
            access = read_access(self.data)
            if access is not None and access.pid == self.pid and _is_ready(access):
                return access
            time.sleep(SERVER_START_POLL_S)
        raise StartError(f"the server was not ready after {timeout_s} s:\n{self.log_tail()}")

    def stop(self) -> int:
        """Stops it in order and gives its exit code; it is killed only when it hangs."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(SERVER_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def log_tail(self) -> str:
        return self._log_path.read_text(errors="replace")[-SERVER_LOG_TAIL_CHARS:]


def api_client(access: LocalAccess, timeout_s: float = COMMAND_REQUEST_TIMEOUT_S) -> httpx.Client:
    """A client with the token of `server.json` that trusts the server's certificate."""
    certificate = Path(access.certificate) if access.certificate else None
    return httpx.Client(
        base_url=access.url,
        headers=local_headers(access),
        verify=tls_context(certificate),
        timeout=timeout_s,
    )


def _is_ready(access: LocalAccess) -> bool:
    try:
        with api_client(access, timeout_s=READY_REQUEST_TIMEOUT_S) as client:
            return client.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False
