"""`vedette group secret` and `vedette package`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from vedette.cli.main import app
from vedette.state.db.database import open_database
from vedette.state.sensors import enrolment, sensor_packages
from vedette.state.start import start


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that a server was started on."""
    database = open_database("", tmp_path)
    start(database, 1_700_000_000_000_000)
    database.close()
    return tmp_path


def run(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--data", str(data)])


def rows(data: Path, *arguments: str) -> Any:
    result = run(data, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("group", ["1", "Default Group"])
def test_the_secret_of_a_group_is_that_of_its_installers(data: Path, group: str) -> None:
    (shown,) = rows(data, "group", "secret", group)
    database = open_database("", data)
    assert shown["secret"] == enrolment.current_secret(database, 1)
    database.close()


def test_a_secret_is_rotated_and_the_old_one_revoked(data: Path) -> None:
    (first,) = rows(data, "group", "secret", "1")
    both = rows(data, "group", "secret", "1", "--rotate")
    assert [one["revoked"] for one in both] == ["", ""]
    old, new = rows(data, "group", "secret", "1", "--revoke", str(first["id"]))
    assert (bool(old["revoked"]), new["revoked"]) == (True, "")


def test_all_secrets_can_be_ended(data: Path) -> None:
    rows(data, "group", "secret", "1", "--rotate")
    assert all(one["revoked"] for one in rows(data, "group", "secret", "1", "--revoke-all"))
    refused = run(data, "group", "secret", "1")
    assert refused.exit_code == 2
    assert "--rotate" in refused.stderr


@pytest.mark.parametrize("arguments", [("404",), ("Nobody",), ("1", "--revoke", "9")])
def test_what_does_not_exist_is_refused(data: Path, arguments: tuple[str, ...]) -> None:
    assert run(data, "group", "secret", *arguments).exit_code == 2


def test_a_package_is_added_listed_and_removed(data: Path) -> None:
    file = data / "sensor.pyz"
    file.write_bytes(b"content")
    added = run(data, "package", "add", str(file), "--os", "linux", "--version", "2.0.0")
    assert added.exit_code == 0, added.output
    (shown,) = rows(data, "package", "list")
    assert (shown["os_type"], shown["version"], shown["size"]) == ("linux", "2.0.0", 7)
    assert (data / "packages" / shown["sha256"]).read_bytes() == b"content"
    assert run(data, "package", "remove", "--os", "linux").exit_code == 0
    assert rows(data, "package", "list") == []


def test_a_package_for_an_unknown_system_is_refused(data: Path) -> None:
    file = data / "x"
    file.write_bytes(b"x")
    assert run(data, "package", "add", str(file), "--os", "beos", "--version", "1").exit_code == 2
    database = open_database("", data)
    assert sensor_packages.package_of(database, "beos") is None
    database.close()
