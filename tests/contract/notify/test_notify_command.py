"""`vedette notify test` against real receivers."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from tests.support.ports import free_port
from tests.support.receivers import (
    collector,
    http_receiver,
    mail_server,
    tcp_receiver,
)
from vedette.cli.main import app


def run(data: Path, *words: str, **settings: object) -> Result:
    named = {"egress_allow": "127.0.0.1,::1", **settings}
    pairs = [word for name, value in named.items() for word in ("--set", f"{name}={value}")]
    return CliRunner().invoke(app, ["notify", "test", "--data", str(data), *words, *pairs])


def test_each_kind_is_tried_at_once(tmp_path: Path) -> None:
    lines: list[bytes] = []
    with mail_server() as box, http_receiver() as got, tcp_receiver(collector(lines)) as port:
        found = run(
            tmp_path,
            "--email",
            "ann@corp.example",
            "--syslog",
            "--webhook",
            smtp_host="127.0.0.1",
            smtp_port=box.port,
            smtp_security="none",
            syslog_host="127.0.0.1",
            syslog_port=port,
            syslog_transport="tcp",
            webhook_url=got.url,
            webhook_template="slack",
        )
    assert found.exit_code == 0, found.output
    assert found.output.count("sent to") == 3
    assert box.recipients == ["ann@corp.example"]
    assert b"Vedette test message" in lines[0]
    assert json.loads(got.posts[0].body)["text"].startswith("Vedette test message")
    assert "key=1" not in found.output


def test_the_error_of_the_other_side_is_one_line(tmp_path: Path) -> None:
    port = free_port()
    found = run(tmp_path, "--url", f"http://127.0.0.1:{port}/secret")
    assert found.exit_code == 2
    assert found.output.count("\n") == 1
    assert "refused" in found.output
    assert "secret" not in found.output


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    for words, text in (
        ([], "--email"),
        (["--webhook"], "webhook_url"),
        (["--email", "a@b.example"], "smtp_host"),
        (["--syslog"], "syslog_host"),
        (["--url", "https://x.example/", "--template", "none"], "template"),
    ):
        found = run(tmp_path, *words)
        assert (found.exit_code, text in found.output) == (2, True), found.output
