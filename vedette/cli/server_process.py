"""Runs a server as a child process: start, wait until ready, stop in order.

The child has its own session, so that Ctrl-C at the terminal reaches only the parent, which then
stops the child with SIGTERM. Its log goes to `server.log` in its data directory. Its output, the
secrets of a first start, is kept in memory (`printed`) and never written to a file.
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
from vedette.limits import Limit
from vedette.simulate.bulk_client import tls_context

SERVER_START_S: Limit[int] = 60
"""Seconds until a server that a command starts must be ready. It may have to replay a log of
commits."""

SERVER_STOP_S: Limit[int] = 90
"""Seconds for such a server to finish pending work when it stops."""

SERVER_LOG_TAIL_CHARS: Limit[int] = 1_500
"""Characters from the end of its log that are printed if it does not start: the last traceback."""

SERVER_START_POLL_S: Limit[float] = 0.1
"""Seconds between checks whether a server that a command started is ready."""

COMMAND_REQUEST_TIMEOUT_S: Limit[float] = 60.0
"""Timeout of a request from a command to its server (s)."""

READY_REQUEST_TIMEOUT_S: Limit[float] = 5.0
"""Timeout of a readiness request (s). A busy server is asked again."""


class ServerProcess:
    """`python -m vedette serve` on a data directory."""

    def __init__(self, data: Path, port: int | None = None, arguments: Sequence[str] = ()) -> None:
        """Starts the server; without `port` it uses the port in the settings.

        Raises StartError if a server already runs on the directory.
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
        """Reads output until the child closes it, so that the child never blocks on a full pipe."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self._printed.append(line.decode(errors="replace").rstrip("\n"))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def printed(self) -> str:
        """Output so far: address and secrets, on the first start only."""
        return "\n".join(self._printed)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self, timeout_s: float = SERVER_START_S) -> LocalAccess:
        """Waits until the server is ready. Raises StartError with the end of its log if it ends or
        does not become ready."""
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
        """Stops the server in order and returns its exit code; kills it only if it hangs."""
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
    """Returns a client that has the token of `server.json` and trusts the server's certificate."""
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
