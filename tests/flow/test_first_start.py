"""Output of the first start of a server, and the errors of a start that fails."""

import re
import socket
from pathlib import Path

from tests.support.commands import vedette
from tests.support.served import launch, listening


def refused(*words: str) -> str:
    """The one line with which `vedette serve` refuses to start."""
    done = vedette("serve", *words)
    assert done.returncode != 0
    return next(line for line in done.stderr.splitlines() if line.startswith("vedette: "))


def test_the_console_that_the_first_start_names_opens_in_a_browser(tmp_path: Path) -> None:
    process = launch(tmp_path)
    try:
        server = listening(tmp_path, process)
        printed = (tmp_path / "server.log").read_text()
        console = re.search(r"^ *console +(\S+)$", printed, re.MULTILINE)
        assert console is not None, printed
        with server.client(Accept="text/html") as client:
            page = client.get(console[1], follow_redirects=True)
        assert (page.status_code, page.headers["content-type"][:9]) == (200, "text/html")
    finally:
        process.terminate()
        process.wait(60)


def test_a_port_that_is_taken_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused("--data", str(tmp_path), "--port", port)
    assert f"port {port}: Address already in use" in said
    assert "--port" in said


def test_a_setting_that_does_not_exist_is_named_once_as_typed(tmp_path: Path) -> None:
    said = refused("--data", str(tmp_path), "--set", "listen_prot=1")
    assert said.startswith("vedette: --set listen_prot: unknown setting")
    assert "listen_port" in said
