"""A real HAProxy on loopback, with the configuration of `deploy/cluster`."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.support.served import wait_for

CONFIGURATION = Path("deploy/cluster/haproxy/haproxy.cfg")
ADDRESS = "127.0.0.5"
"""That it calls the servers from."""


def on_loopback(text: str, ports: Mapping[str, int], binds: Mapping[int, int]) -> str:
    """The configuration with the port of this machine that each server has, and those that it
    listens on in place of its own."""
    text = re.sub(r"resolvers names\n(    .*\n)+", "", text)  # no names are looked up here
    text, servers = re.subn(
        r"^    server (\S+) \S+:\d+ ",
        lambda found: f"    server {found[1]} 127.0.0.1:{ports[found[1]]} source {ADDRESS} ",
        text,
        flags=re.MULTILINE,
    )
    assert servers == len(ports)
    text = text.replace("maxconn 20000", "maxconn 1000")  # of as few descriptors as there are
    text = re.sub(r" init-addr \S+ resolvers names", "", text)
    return re.sub(
        r"^    bind :(\d+)$",
        lambda found: f"    bind 127.0.0.1:{binds[int(found[1])]}",
        text,
        flags=re.MULTILINE,
    )


@contextmanager
def haproxy(
    folder: Path, ports: Mapping[str, int], binds: Mapping[int, int]
) -> "Iterator[subprocess.Popen[bytes]]":
    """Once it listens, until the end. Skips the test where there is no HAProxy."""
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        pytest.skip("no haproxy on this machine")
    path = folder / "haproxy.cfg"
    path.write_text(on_loopback(CONFIGURATION.read_text(), ports, binds))
    checked = subprocess.run([program, "-c", "-f", path], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([program, "-db", "-f", path], stdout=log, stderr=log)
        try:
            for port in binds.values():
                assert wait_for(partial(_listens, port), True, 60), path.with_suffix(
                    ".log"
                ).read_text()
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
