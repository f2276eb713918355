"""Debian's headless chromium, driven over a pipe by its DevTools protocol."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
PLAYWRIGHT_FLAGS = ("--no-sandbox", "--ignore-certificate-errors")
"""A browser that takes the servers' own certificates for good. Where each page ignores their errors
for itself, a request is begun anew for each connection with such a certificate, and given up with
`ERR_TOO_MANY_RETRIES` in the end; and nothing of it is kept in the cache, as real readers have it.
"""
ANSWER_S = 60.0
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--ignore-certificate-errors", "--remote-debugging-pipe",
)  # fmt: skip
_EXEC = """
import os, sys
read, write, *words = sys.argv[1:]
os.dup2(int(read), 3)
os.dup2(int(write), 4)
os.execv(words[0], words)
"""
"""The browser reads from descriptor 3 and writes to 4."""


@dataclass
class Page:
    """A page, and what the browser reported of it."""

    read: int
    write: int
    session: str = ""
    number: int = 0
    buffer: bytes = b""
    events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; returns its result."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self.number:
                assert "error" not in found, found
                return dict(found["result"])
            self.events.append(found)

    def evaluate(self, script: str) -> Any:
        """The JSON value of a script."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """The value of a script as soon as it is true."""
        end = time.monotonic() + ANSWER_S
        while not (value := self.evaluate(script)):
            assert time.monotonic() < end, (script, self.faults())
            time.sleep(0.1)
        return value

    def faults(self) -> list[str]:
        """Errors of the console, uncaught exceptions, and violations of the security policy."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    found.append(str(params["exceptionDetails"])[:500])
                case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                    found.append(str(params["args"])[:500])
                case "Log.entryAdded" if params["entry"]["level"] == "error":
                    found.append(params["entry"]["text"][:500])
                case "Audits.issueAdded" if "SecurityPolicy" in params["issue"]["code"]:
                    found.append(str(params["issue"])[:500])
                case _:
                    pass
        return found

    def urls(self) -> set[str]:
        """Everything that was requested."""
        return {
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        }

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            assert select.select([self.read], [], [], ANSWER_S)[0], "the browser is silent"
            piece = os.read(self.read, 1 << 16)
            assert piece, "the browser has ended"
            self.buffer += piece
        first, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(first))


def _high_pipe() -> tuple[int, int]:
    """A pipe whose descriptors are above those that the browser uses."""
    low = os.pipe()
    high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in low]
    for one in low:
        os.close(one)
    return high[0], high[1]


@contextmanager
def browser_page(profile: Path) -> Iterator[Page]:
    """An empty page of a new browser."""
    assert CHROMIUM is not None
    (to_read, to_write), (from_read, from_write) = _high_pipe(), _high_pipe()
    words = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        [sys.executable, "-c", _EXEC, str(to_read), str(from_write), *words],
        pass_fds=(to_read, from_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    page = Page(from_read, to_write)
    try:
        target = page.call("Target.createTarget", url="about:blank")["targetId"]
        attached = page.call("Target.attachToTarget", targetId=target, flatten=True)
        page.session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network", "Audits"):
            page.call(f"{domain}.enable")
        yield page
    finally:
        os.close(to_write)
        os.close(from_read)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
