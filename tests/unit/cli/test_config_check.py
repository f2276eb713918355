"""`vedette config check`: what is wrong with settings, all of it, with its place."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vedette.cli.main import app


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VEDETTE_CONFIG", "VEDETTE_LISTEN_PORT", "VEDETTE_RETENTION_DAYS"):
        monkeypatch.delenv(name, raising=False)


def checked(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    ran = CliRunner().invoke(app, ["config", "check", "--json", *arguments])
    return ran.exit_code, json.loads(ran.stdout)


def errors(*arguments: str) -> str:
    code, findings = checked(*arguments)
    assert code == 2
    wrong = [one for one in findings if one["severity"] == "error"]
    assert all(one["remedy"] for one in wrong)
    return "\n".join(one["text"] for one in wrong)


def written(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines))
    return str(path)


def test_settings_that_a_server_could_start_with_pass(tmp_path: Path) -> None:
    code, findings = checked("--data", str(tmp_path), "--set", "listen_port=0")
    assert code == 0
    assert {one["severity"] for one in findings} == {"ok"}
    assert list(tmp_path.iterdir()) == []  # nothing was made


def test_every_wrong_entry_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEDETTE_RETENTION_DAYS", "many")
    file = written(
        tmp_path / "v.toml",
        "# settings",
        'listen_prot = "8443"',
        "listen_port = 99999",
        'http = "perhaps"',
        "retention_bytes = 5",
    )
    text = errors("--config", file)
    assert f"{file}:2: listen_prot: unknown setting; did you mean listen_port?" in text
    assert f"{file}:3: listen_port: must be at most 65535" in text
    assert f"{file}:4: http: must be true or false" in text
    assert "VEDETTE_RETENTION_DAYS: retention_days:" in text
    assert ":5:" not in text


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    assert "v.toml" in errors("--config", written(tmp_path / "v.toml", "listen_port = = 3"))


def test_settings_that_do_not_go_together_are_named(tmp_path: Path) -> None:
    file = written(tmp_path / "v.toml", 'tls_cert = "cert.pem"')
    assert f"{file}:1: tls_cert, tls_key: set both or neither" in errors("--config", file)


def test_all_is_named_in_one_run(tmp_path: Path) -> None:
    """Reports unknown settings, contradictory settings and missing files."""
    file = written(
        tmp_path / "v.toml",
        "retention_dais = 3",
        'trusted_proxies = ["10.0.0.0/8", "ten", "eleven"]',
        "queue_bytes_max = 1024",
        'smtp_ca = "no-ca.pem"',
        'tls_ciphers = "ROT13"',
        'tls_cert = "no-cert.pem"',
        'blob_endpoint = "https://bucket.example/path"',
    )
    text = errors("--config", file, "--data", str(tmp_path / "data"))
    for line, named in (
        (1, "retention_dais: unknown setting"),
        (2, "trusted_proxies: 'ten' is not an address"),
        (2, "trusted_proxies: 'eleven' is not an address"),
        (3, "commit_bytes_max: must not be above"),
        (4, f"smtp_ca: {tmp_path / 'no-ca.pem'}: No such file"),
        (5, "tls_ciphers: 'ROT13'"),
        (6, "tls_cert, tls_key: set both or neither"),
        (7, "blob_endpoint: requires blob_bucket"),
        (7, "blob_endpoint: must be https://host:port"),
    ):
        assert f"{file}:{line}: {named}" in text


def test_a_wrong_value_makes_no_other_one_wrong(tmp_path: Path) -> None:
    """Nothing is said of what depends on it."""
    file = written(
        tmp_path / "v.toml",
        "tls_cert = 5",
        'tls_key = "key.pem"',
        'listen_prt = "192.0.2.1"',
        "proxy_protocol = true",
        "trusted_proxies = 7",
    )
    code, findings = checked("--config", file, "--data", str(tmp_path / "data"))
    wrong = [one["text"] for one in findings if one["severity"] == "error"]
    assert code == 2
    assert [one.removeprefix(f"{file}:").split(": ")[:2] for one in wrong] == [
        ["3", "listen_prt"],
        ["1", "tls_cert"],
        ["5", "trusted_proxies"],
        ["2", "tls_key"],
    ]
    assert not any(one["check"] == "port" for one in findings)


def test_nothing_is_guessed_where_the_file_cannot_be_read(tmp_path: Path) -> None:
    file = written(tmp_path / "v.toml", "listen_port = = 3")
    assert len(checked("--config", file, "--set", "tls_cert=x")[1]) == 1


def test_what_a_flag_or_a_variable_sets_is_named_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEDETTE_SMTP_CA", "no-ca.pem")
    text = errors("--data", str(tmp_path), "--set", "tls_key=key.pem")
    assert "--set tls_key: tls_cert, tls_key: set both or neither" in text
    assert f"VEDETTE_SMTP_CA: smtp_ca: {Path('no-ca.pem').absolute()}: No such file" in text


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    file = written(
        tmp_path / "v.toml",
        f'data = "{tmp_path / "data"}"',
        'tls_cert = "no-cert.pem"',
        'tls_key = "no-key.pem"',
        'smtp_ca = "no-ca.pem"',
        'tls_ciphers = "ROT13"',
    )
    text = errors("--config", file)
    for name in ("tls_cert", "tls_key", "smtp_ca", "tls_ciphers"):
        assert f"{name}: " in text


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    assert "Not a directory" in errors("--data", str(place / "data"))


def test_a_data_directory_that_is_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for name, said in (("there", "written"), ("absent", "made")):
        _, findings = checked("--data", name, "--set", "listen_port=0")
        assert f"data: {tmp_path / name} can be {said}" in [one["text"] for one in findings]


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = errors("--data", str(tmp_path), "--set", f"listen_port={port}")
    assert f"port {port}: Address already in use" in text


def test_an_address_of_another_machine_is_named(tmp_path: Path) -> None:
    assert "192.0.2.1" in errors("--data", str(tmp_path), "--set", "listen_host=192.0.2.1")


def test_a_database_that_is_away_is_named_without_its_password(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    dsn = f"postgresql://vedette:hunter2@127.0.0.1:{port}/vedette"
    text = errors("--data", str(tmp_path), "--set", f"state_dsn={dsn}")
    assert f"state_dsn: 127.0.0.1 port {port}" in text
    assert "hunter2" not in text
