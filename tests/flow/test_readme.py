"""README.md, docs/first-server.md and docs/first-host.md as a reader follows them: the code blocks
run in order in a copy of the repository, as the server's machine and, from a network namespace, as
another host.

What is not run as it stands is in `Copy.run`, `Copy.serve` and `FIRST_SECTION`, nowhere else.
"""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.linux_network import Cable, cable
from tests.support.linux_sensor import program
from tests.support.ports import free_port

# One cable at a time on this machine: the tests of the Linux sensor use the same addresses.
pytestmark = pytest.mark.xdist_group("audit")

ROOT = Path(__file__).parents[2]
README, FIRST_SERVER, FIRST_HOST = (
    (ROOT / name).read_text()
    for name in ("README.md", "docs/first-server.md", "docs/first-host.md")
)
FIRST_SECTION = {
    "make demo": ".venv/bin/vedette demo",
    "make test": "scripts/run-tests .venv/bin/python",
}
"""The section `Two commands`: what each would run, which is this test run among others."""
START_S = 60.0
_DEFAULT_PORT = "8443"
_NAME = socket.gethostname().lower()
_GENERATED = (".git", ".venv", "demo-data", "data", ".*_cache", ".hypothesis")


def code_blocks(text: str) -> list[str]:
    """Returns the code blocks of a page, in order."""
    return re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


COMMANDS = code_blocks(README)
SERVER_BLOCKS = code_blocks(FIRST_SERVER)
HOST_BLOCKS = code_blocks(FIRST_HOST)


@dataclass
class Copy:
    """A clean copy of the repository and the terminals of its user."""

    folder: Path
    port: int
    server: "subprocess.Popen[bytes] | None" = None
    exports: list[str] = field(default_factory=list)
    """Lines that set variables in the user's terminal, with the values that were printed."""

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith("VEDETTE_") and not name.lower().endswith("_proxy")
        }
        return kept | {"VEDETTE_LISTEN_PORT": str(self.port), "PYTHONPATH": str(self.folder)}

    @property
    def printed(self) -> str:
        return (self.folder / "printed").read_text()

    def serve(self, command: str) -> None:
        """Run `vedette serve` as in a terminal of its own, until it listens."""
        self.stop()
        words = command.split()
        with (self.folder / "printed").open("ab") as output:
            self.server = subprocess.Popen(
                words, cwd=self.folder, env=self.environment, stdout=output, stderr=output
            )
        deadline = time.monotonic() + START_S
        while not (self.folder / "data" / "server.json").exists():
            assert self.server.poll() is None, self.printed[-4_000:]
            assert time.monotonic() < deadline, self.printed[-4_000:]
            time.sleep(0.1)

    def stop(self) -> None:
        """Ctrl-C."""
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            assert self.server.wait(START_S) == 0
            self.server = None

    def run(self, block: str, host: "OtherHost | None" = None) -> str:
        """Standard output of a block, which must succeed; on another host when one is given."""
        for name, label in {"TOKEN": "API token", "INGEST": "ingest token"}.items():
            if f"export {name}=..." in block:
                value = re.search(rf"^ *{label} +(\S+)$", self.printed, re.MULTILINE)
                assert value is not None, self.printed
                block = block.replace(f"export {name}=...", f"export {name}={value[1]}")
        block = block.replace(_DEFAULT_PORT, str(self.port))
        if host is not None:
            block = block.replace("server.example", host.server_name)
            block = block.replace("sudo sh", f"DESTDIR={host.root} sh")
        self.exports += [line for line in block.splitlines() if line.startswith("export ")]
        done = subprocess.run(
            [*(host.cable.enter if host else []), "sh", "-ec", "\n".join([*self.exports, block])],
            cwd=host.folder if host else self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}{done.stdout}"
        return done.stdout


@dataclass(frozen=True)
class OtherHost:
    """A host at the other end of a cable; `server_name` is what it calls the server."""

    cable: Cable
    folder: Path
    server_name: str = _NAME

    @property
    def root(self) -> Path:
        """Where its sensor is installed."""
        return self.folder / "root"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A copy as `git clone` and `make` leave it; its `.venv` is the environment of the tests."""
    folder = tmp_path_factory.mktemp("readme") / "vedette"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_GENERATED))
    script = folder / ".venv" / "bin" / "vedette"
    script.parent.mkdir(parents=True)
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m vedette "$@"\n')
    script.chmod(0o755)
    made = Copy(folder, free_port())
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def own_server(copy: Copy) -> list[str]:
    """Returns the output of the blocks of docs/first-server.md after the first."""
    serve, *rest = SERVER_BLOCKS
    copy.serve(serve)
    return [copy.run(block) for block in rest]


@pytest.fixture(scope="module")
def other_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherHost]:
    with cable() as made, resolving(made, _NAME):
        yield OtherHost(made, tmp_path_factory.mktemp("other"))


@contextmanager
def resolving(made: Cable, name: str) -> Iterator[None]:
    """The server's name is in `/etc/hosts` of the namespace."""
    folder = Path("/etc/netns") / made.namespace
    has_parent = folder.parent.exists()
    folder.mkdir(parents=True)
    try:
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{made.outside[0]} {name}\n")
        yield
    finally:
        shutil.rmtree(folder)
        if not has_parent:
            folder.parent.rmdir()


@pytest.fixture(scope="module")
def open_server(copy: Copy, own_server: list[str], other_host: OtherHost) -> Copy:
    """The server, restarted on all addresses, and its certificate on the other host."""
    copy.serve(HOST_BLOCKS[0])
    shutil.copy(copy.folder / "data/tls/cert.pem", other_host.folder)
    return copy


def test_these_tests_run_every_code_block() -> None:
    assert [len(COMMANDS), len(SERVER_BLOCKS), len(HOST_BLOCKS)] == [1, 5, 3]
    assert (README + FIRST_SERVER + FIRST_HOST).count("```") == 2 * 9


def test_the_two_commands_are_targets_of_make(copy: Copy) -> None:
    named = [line.partition("#")[0].strip() for line in COMMANDS[0].splitlines()]
    assert named == list(FIRST_SECTION)
    for command, runs in FIRST_SECTION.items():
        assert runs in copy.run(command.replace("make", f"{program('make')} -n"))


def test_other_targets_of_make_in_the_text_exist(copy: Copy) -> None:
    for target in set(re.findall(r"`make ([\w-]+)", README)):
        assert copy.run(f"{program('make')} -n {target}")


def test_links_lead_to_files_of_the_repository() -> None:
    links = re.findall(r"\]\(([^)#]+)", README)
    assert len(links) > 5
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_figure_is_one_of_the_performance_page() -> None:
    pages = sorted((ROOT / "docs").glob("performance*.md"))
    text = "\n".join(page.read_text() for page in pages)
    rows = re.findall(r"^\| [^|]+\| ([^|]+) \|$", README.partition("## Figures")[2], re.MULTILINE)
    assert len(rows) > 5
    numbers = [number for row in rows[1:] for number in re.findall(r"\d[\d,]*(?:\.\d+)?", row)]
    assert not [number for number in numbers if not re.search(rf"(?<![\d.,]){number}\b", text)]


def test_the_event_that_is_sent_is_stored_and_found(own_server: list[str]) -> None:
    assert own_server[0] == ""
    assert json.loads(own_server[1])["stored"] == 1
    found = json.loads(own_server[2])
    assert found["total_results"] == 1
    assert found["results"][0]["cmdline"] == "vssadmin delete shadows /all"


def test_the_event_raises_an_alert(copy: Copy, own_server: list[str]) -> None:
    assert json.loads(own_server[3])["total_results"] in {0, 1}
    deadline = time.monotonic() + START_S
    while json.loads(copy.run(SERVER_BLOCKS[4]))["total_results"] != 1:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_demo_of_the_text_prints_searches_that_find_what_it_says(copy: Copy) -> None:
    named = re.search(r"`(\.venv/bin/vedette demo [^`]+)`", README)
    assert named is not None
    environment = copy.environment | {"VEDETTE_LISTEN_PORT": "0", "PYTHONUNBUFFERED": "1"}
    lines: list[str] = []
    with subprocess.Popen(
        named[1].split(), cwd=copy.folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("Ctrl-C"):
                try:
                    check_printed(copy, lines)
                finally:
                    demo.send_signal(signal.SIGINT)
    assert demo.returncode == 0
    assert any(line.startswith("Ready") for line in lines)


def check_printed(copy: Copy, lines: list[str]) -> None:
    """The searches that a demo printed, as typed by its reader, while it runs."""
    text = "\n".join(lines)
    address = re.search(r"^ *address +(\S+)$", text, re.MULTILINE)
    token = re.findall(r"^ *API token +(\S+)", text, re.MULTILINE)[-1]
    searches = text.partition("The starter pack")[0]
    queries = re.findall(r"^ (\S.*?) {2,}([\d,]+) {2,}\S", searches, re.MULTILINE)
    assert address is not None, text
    assert len(queries) == 5, text
    trusting = ssl.create_default_context(cafile=str(copy.folder / "demo-data/tls/cert.pem"))
    with httpx.Client(base_url=address[1], verify=trusting) as client:
        for query, count in queries:
            answer = client.get(
                "/api/v1/process", params={"q": query}, headers={"X-Auth-Token": token}
            )
            assert f"{answer.json()['total_results']:,}" == count != "0", query
    calls = [line.strip() for line in lines if line.strip().startswith("curl ")]
    assert ["/process?" in call for call in calls] == [True, False]
    assert all(json.loads(copy.run(call))["total_results"] > 0 for call in calls)


def test_another_host_reaches_the_server_by_its_name(
    open_server: Copy, other_host: OtherHost
) -> None:
    asked = HOST_BLOCKS[1]
    assert json.loads(open_server.run(asked, other_host))["ready"] is True


def test_the_sensor_is_installed_on_another_host_and_can_join(
    open_server: Copy, other_host: OtherHost
) -> None:
    open_server.run(HOST_BLOCKS[2], other_host)
    settings = other_host.root / "etc/vedette-sensor"
    text = (settings / "sensorsettings.ini").read_text()
    stated = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    assert stated["server_url"] == f"https://{_NAME}:{open_server.port}"
    joining = {
        "secret": stated["group_secret"],
        "host": {"hostname": "other.example", "machine_id": "m-7", "os_type": "linux"},
        "sensor_version": "1.0.0",
    }
    asked = f"curl --fail -s --cacert {settings / stated['ca_pem_file']} {stated['server_url']}"
    answer = open_server.run(f"{asked}/sensor/v1/enrol -d '{json.dumps(joining)}'", other_host)
    assert json.loads(answer)["key"]
    (installed,) = (other_host.root / "usr/lib/vedette-sensor").iterdir()
    assert re.fullmatch(r"[\d.]+\n", open_server.run(f"python3 -I {installed} version", other_host))


def test_another_host_reaches_the_server_by_an_address_as_the_text_says(
    open_server: Copy, other_host: OtherHost
) -> None:
    address = other_host.cable.outside[1]
    open_server.stop()
    assert "delete `data/tls` and start with that address" in " ".join(FIRST_HOST.split())
    shutil.rmtree(open_server.folder / "data/tls")
    local = SERVER_BLOCKS[0].strip()
    open_server.serve(f"{local} " + _option("--host").replace("192.0.2.10", address))
    shutil.copy(open_server.folder / "data/tls/cert.pem", other_host.folder)
    by_address = OtherHost(other_host.cable, other_host.folder, address)
    asked = HOST_BLOCKS[1]
    assert json.loads(open_server.run(asked, by_address))["ready"] is True


def _option(name: str) -> str:
    """An option that the text gives in brackets."""
    found = re.search(rf"\(`({name} [^`]+)`\)", FIRST_HOST)
    assert found is not None
    return found[1]
