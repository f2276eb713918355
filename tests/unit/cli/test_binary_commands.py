"""`vedette binary`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from tests.support.pe_file import pe_file
from vedette.cli.main import app


def test_what_a_file_says_is_printed(tmp_path: Path) -> None:
    program = tmp_path / "a.exe"
    program.write_bytes(pe_file())
    ran = CliRunner().invoke(app, ["binary", "read", str(program), "--data", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.output)
    assert (said["format"], said["version"]["product_name"]) == ("pe", "Sleep Suite")
    assert said["signature"]["result"] == "Unsigned"


def test_roots_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "v.toml").write_text('signature_roots = "/nowhere.pem"\n')
    config = ["--data", str(tmp_path), "--config", str(tmp_path / "v.toml")]
    ran = CliRunner().invoke(app, ["binary", "read", "/bin/true", *config])
    assert ran.exit_code != 0
    assert "/nowhere.pem" in ran.output + str(ran.exception)
