"""`vedette group secret` and `vedette package`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.support.started_state import put_started_state
from vedette.cli.main import app
from vedette.model.host import Sighting
from vedette.state.db.database import open_database
from vedette.state.sensors import enrolment, key_replacement, sensor_packages
from vedette.state.sensors.host_registry import Sensors


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that a server was started on."""
    put_started_state(tmp_path, 1_700_000_000_000_000)
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
    assert (
        data / "blobs/packages" / shown["sha256"][:2] / shown["sha256"]
    ).read_bytes() == b"content"
    assert run(data, "package", "remove", "--os", "linux").exit_code == 0
    assert rows(data, "package", "list") == []


def test_a_package_for_an_unknown_system_is_refused(data: Path) -> None:
    file = data / "x"
    file.write_bytes(b"x")
    assert run(data, "package", "add", str(file), "--os", "beos", "--version", "1").exit_code == 2
    database = open_database("", data)
    assert sensor_packages.package_of(database, "beos") is None
    database.close()


def test_a_new_secret_has_an_end_and_a_number_of_uses(data: Path) -> None:
    rows(data, "group", "secret", "1")
    _, new = rows(data, "group", "secret", "1", "--rotate", "--expires-days", "2", "--uses", "3")
    assert (bool(new["expires"]), new["uses"], new["uses_max"]) == (True, 0, 3)
    assert run(data, "group", "secret", "1", "--uses", "3").exit_code == 2


def add_host(data: Path, hostname: str) -> None:
    database = open_database("", data)
    Sensors(database).resolve({hostname: Sighting()}, 1, 1_700_000_000_000_000)
    database.close()


def test_an_alias_of_a_host_is_added_listed_and_removed(data: Path) -> None:
    add_host(data, "web.corp.example")
    assert run(data, "host", "alias", "add", "old-web", "web.corp.example").exit_code == 0
    (one,) = rows(data, "host", "alias", "list")
    assert (one["alias"], one["hostname"]) == ("old-web", "web.corp.example")
    assert run(data, "host", "alias", "add", "old-web", "web.corp.example").exit_code == 2
    assert run(data, "host", "alias", "add", "other", "nobody").exit_code == 2
    assert run(data, "host", "alias", "remove", "old-web").exit_code == 0
    assert rows(data, "host", "alias", "list") == []
    assert run(data, "host", "alias", "remove", "old-web").exit_code == 2


@pytest.mark.parametrize(("verb", "left"), [("approve", [True]), ("reject", [])])
def test_a_re_enrolment_that_waits_is_decided(data: Path, verb: str, left: list[bool]) -> None:
    add_host(data, "web.corp.example")
    assert run(data, "sensor", verb, "1").exit_code == 2
    database = open_database("", data)
    claim = key_replacement.Claim("sensor", "m-2")
    key_replacement.request_approval(database, 1, claim, 1_700_000_000_000_000)
    (waiting,) = rows(data, "sensor", "pending")
    assert (waiting["hostname"], waiting["machine_id"]) == ("web.corp.example", "m-2")
    assert run(data, "sensor", verb, "1").exit_code == 0
    assert [bool(one["approved"]) for one in rows(data, "sensor", "pending")] == left
    assert key_replacement.history(database, 1)[0].username == "(command line)"
    database.close()


def test_a_token_lives_as_long_as_the_setting_says(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = ("token", "issue", "--ingest")
    ids = [rows(data, *issue, *more)["id"] for more in ((), ("--never-expires",))]
    monkeypatch.setenv("VEDETTE_TOKEN_LIFETIME_DAYS", "0")
    ids += [rows(data, *issue)["id"], rows(data, *issue, "--expires-days", "3")["id"]]
    expires = {one["id"]: bool(one["expires"]) for one in rows(data, "token", "list")}
    assert [expires[one] for one in ids] == [True, False, False, True]
    assert run(data, *issue, "--never-expires", "--expires-days", "3").exit_code == 2
