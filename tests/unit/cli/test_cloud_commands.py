"""`vedette cloud role` and `vedette cloud app`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.support.started_state import put_started_state
from vedette.cli.main import app
from vedette.state.accounts import audit_trail
from vedette.state.db.database import open_database


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that a server was started on."""
    put_started_state(tmp_path, 1_700_000_000_000_000)
    return tmp_path


def run(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["cloud", *arguments, "--data", str(data)])


def rows(data: Path, *arguments: str) -> Any:
    result = run(data, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_role_is_added_changed_and_deleted(data: Path) -> None:
    permissions = ("--permission", "_API.Device:org.Kits:execute", "--permission", "device:READ")
    assert (
        run(data, "role", "add", "updates", *permissions, "--group", "Default Group").exit_code == 0
    )
    (role,) = rows(data, "role", "list")
    assert role["permissions"] == "device:read, org.kits:execute"
    assert role["groups"] == "1"
    words = ("--rename", "reads", "--permission", "_ConnectorType.SIEM", "--all-groups")
    assert run(data, "role", "change", "updates", *words).exit_code == 0
    (role,) = rows(data, "role", "list")
    assert (role["name"], role["groups"]) == ("reads", "all")
    assert role["permissions"] == "connector:siem"
    assert run(data, "role", "add", "reads").exit_code == 2
    assert run(data, "role", "add", "x", "--permission", "device:fly").exit_code == 2
    assert run(data, "role", "delete", "reads").exit_code == 0
    assert rows(data, "role", "list") == []
    assert run(data, "role", "delete", "reads").exit_code == 2


def test_every_permission_of_the_platform_is_listed(data: Path) -> None:
    shown = CliRunner().invoke(app, ["cloud", "role", "permissions"], env={"COLUMNS": "200"}).output
    for name in (
        "_API.Device:org.Kits:execute",
        "_API.Device:device:read",
        "_ConnectorType.SIEM",
        "_ConnectorType.API",
    ):
        assert name in shown


def test_an_app_shows_its_secret_once(data: Path) -> None:
    assert run(data, "role", "add", "r", "--permission", "device:read").exit_code == 0
    words = ("--role", "r", "--token-ttl", "600", "--description", "patches")
    made = rows(data, "app", "add", "robot", *words)
    assert made["auth_token"] == f"{made['secret']}/{made['id']}"
    assert len(made["secret"]) == 40
    listed = run(data, "app", "list", "--json")
    assert made["secret"] not in listed.output
    (shown,) = json.loads(listed.stdout)
    expected = {"kind": "oauth", "token_ttl_s": 600, "roles": "r", "enabled": True}
    assert {name: shown[name] for name in expected} == expected
    again = rows(data, "app", "secret", "robot")
    assert again["id"] == made["id"]
    assert again["secret"] != made["secret"]
    assert made["secret"].encode() not in (data / "state.db").read_bytes()
    assert run(data, "app", "change", "robot", "--disable", "--rename", "bot").exit_code == 0
    assert rows(data, "app", "list")[0]["enabled"] is False
    assert rows(data, "app", "add", "key", "--key")["id"] != made["id"]
    assert run(data, "app", "delete", "bot").exit_code == 0
    assert [one["kind"] for one in rows(data, "app", "list")] == ["key"]
    assert run(data, "app", "secret", "bot").exit_code == 2


def test_what_the_commands_do_is_audited(data: Path) -> None:
    run(data, "role", "add", "r", "--permission", "device:read")
    secret = rows(data, "app", "add", "robot", "--role", "r")["secret"]
    run(data, "app", "secret", "robot")
    run(data, "app", "delete", "robot")
    database = open_database("", data)
    _, found = audit_trail.search(database, audit_trail.Search(rows=100))
    database.close()
    actions = {(one.kind, one.action) for one in found}
    assert actions >= {
        ("cloud role", "create"),
        ("cloud app", "create"),
        ("cloud app", "change"),
        ("cloud app", "delete"),
    }
    assert secret not in repr(found)


def test_a_new_signing_key_has_an_id(data: Path) -> None:
    first = run(data, "app", "new-signing-key")
    assert first.exit_code == 0, first.output
    second = run(data, "app", "new-signing-key", "--at-once")
    assert second.output.startswith("signing key ")
    assert second.output != first.output
