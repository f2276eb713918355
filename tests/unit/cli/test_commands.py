"""The commands that work on the state database and the settings."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.support.started_state import put_started_state
from tests.support.unlisted_folder import too_deep
from vedette import __version__
from vedette.cli.main import COMMANDS, app, with_absolute_paths
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.settings import Settings
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import open_database


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that a server was started on."""
    put_started_state(tmp_path, 1_700_000_000_000_000)
    return tmp_path


def _run(*arguments: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


def _json(*arguments: str | Path) -> Any:
    result = _run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_version_is_printed() -> None:
    assert _run("--version").stdout == f"vedette {__version__}\n"


def test_a_mistyped_command_is_answered_with_its_neighbour() -> None:
    refused = _run("imprt")
    assert refused.exit_code == 2
    assert "Did you mean 'import'?" in refused.output


def test_only_the_command_that_is_typed_is_imported() -> None:
    code = "import sys, vedette.cli.main; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules = set(ended.stdout.split())
    assert "vedette.cli.main" in modules
    assert not {"sqlalchemy", "pyarrow", "chdb", "fastapi", "httpx"} & modules


def test_a_command_on_a_current_database_does_without_its_migrations(data: Path) -> None:
    code = (
        "import sys\nfrom vedette.cli.main import app\n"
        "try:\n    app(sys.argv[1:])\nexcept SystemExit as end:\n"
        "    print(end.code, 'sqlalchemy' in sys.modules, 'alembic' in sys.modules)"
    )
    words = [sys.executable, "-c", code, "token", "list", "--data", str(data)]
    ended = subprocess.run(words, check=True, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == "0 True False"


def test_a_user_can_be_added_shown_listed_and_removed(data: Path) -> None:
    assert _run("user", "add", "Alice", "--email", "a@b", "--data", data).exit_code == 0
    assert _json("user", "show", "alice", "--data", data)["email"] == "a@b"
    assert [user["username"] for user in _json("user", "list", "--data", data)] == [
        "admin",
        "alice",
    ]
    assert "alice" in _run("user", "list", "--data", data).stdout
    assert _run("user", "remove", "alice", "--data", data).exit_code == 0
    assert _run("user", "show", "alice", "--data", data).exit_code == 2


def test_a_password_is_read_from_standard_input(data: Path) -> None:
    added = _run("user", "add", "a", "--password-stdin", "--data", data, text="correct horse\n")
    assert added.exit_code == 0
    assert _json("user", "show", "a", "--data", data)["has_password"] is True
    changed = _run("user", "passwd", "a", "--data", data, text="another one\nanother one\n")
    assert changed.exit_code == 0
    assert "horse" not in added.output + changed.output


def test_an_issued_token_works_and_a_revoked_one_does_not(data: Path) -> None:
    issued = _json("token", "issue", "--user", "admin", "--expires-days", "1", "--data", data)
    database = open_database("", data)
    principal = Tokens(database, SystemClock()).authenticate(issued["secret"], issued["id"])
    assert principal is not None
    assert principal.name == "admin"
    assert _run("token", "revoke", issued["id"], "--data", data).exit_code == 0
    assert Tokens(database, SystemClock()).authenticate(issued["secret"]) is None
    database.close()
    listed = {token["id"]: token for token in _json("token", "list", "--data", data)}
    assert listed[issued["id"]]["state"] == "revoked"
    assert issued["secret"] not in json.dumps(listed)


def test_the_secret_is_printed_once(data: Path) -> None:
    output = _run("token", "issue", "--ingest", "--data", data).output
    secret = output.split("secret")[1].split()[0]
    assert len(secret) == 40
    assert output.count(secret) == 1


def test_a_group_can_suppress_children_and_stop_doing_so(data: Path) -> None:
    def suppresses() -> list[bool]:
        return [group["suppress_children"] for group in _json("group", "list", "--data", data)]

    assert suppresses() == [False]
    reported = ("group", "suppress-children", "Default Group")
    assert _run(*reported, "--data", data).exit_code == 0
    assert suppresses() == [True]
    assert _run(*reported, "--off", "--data", data).exit_code == 0
    assert suppresses() == [False]
    assert _run("group", "suppress-children", "nope", "--data", data).exit_code != 0


def test_an_ingest_token_belongs_to_the_named_group(data: Path) -> None:
    assert _run("group", "add", "Servers", "--data", data).exit_code == 0
    issued = _json("token", "issue", "--ingest", "--group", "Servers", "--data", data)
    holders = {token["id"]: token["holder"] for token in _json("token", "list", "--data", data)}
    assert holders[issued["id"]] == "Servers"
    assert [group["name"] for group in _json("group", "list", "--data", data)] == [
        "Default Group",
        "Servers",
    ]


def test_a_team_gives_its_members_a_role(data: Path) -> None:
    access = ("--access", "Default Group=analyst")
    assert _run("team", "add", "soc", *access, "--data", data).exit_code == 0
    assert _run("user", "add", "alice", "--team", "soc", "--data", data).exit_code == 0
    assert _json("team", "list", "--data", data)[0]["access"] == {"Default Group": "Analyst"}
    issued = _json("token", "issue", "--user", "alice", "--data", data)
    database = open_database("", data)
    principal = Tokens(database, SystemClock()).authenticate(issued["secret"])
    database.close()
    assert principal is not None
    assert principal.roles == ((1, Role.ANALYST),)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("user", "add", "two words"), "a user name must begin with"),
        (("user", "add", "admin"), "user 'admin' already exists"),
        (("user", "add", "a", "--team", "nope"), "--team nope: unknown team"),
        (("user", "change", "admin", "--team", "a", "--no-teams"), "--team and --no-teams"),
        (("user", "disable", "admin"), "administrator must remain"),
        (("user", "change", "nobody"), "user 'nobody' not found"),
        (("team", "remove", "nope"), "team 'nope' not found"),
        (("group", "rename", "nope", "x"), "sensor group 'nope' not found"),
        (("group", "remove", "Default Group"), "default group cannot be deleted"),
        (("user", "remove", "admin"), "administrator must remain"),
        (("token", "issue"), "specify either"),
        (("token", "issue", "--ingest", "--user", "admin"), "specify either"),
        (("token", "issue", "--ingest", "--group", "nope"), "sensor group 'nope' not found"),
        (("token", "revoke", "nope"), "token 'nope' not found"),
        (("team", "add", "soc", "--access", "Default Group=king"), "must be GROUP=ROLE"),
        (("group", "add", "Default Group"), "already"),
    ],
)
def test_a_refusal_is_one_line_and_exit_code_2(
    data: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = _run(*arguments, "--data", data)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("vedette: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_directory_without_a_server_is_refused_and_left_empty(tmp_path: Path) -> None:
    result = _run("user", "list", "--data", tmp_path)
    assert result.exit_code == 2
    assert "no server data" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_config_show_shows_where_each_value_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vedette.toml").write_text("retention_days = 7\n")
    monkeypatch.setenv("VEDETTE_STATE_DSN", "postgresql://u:hunter2@db/state")
    shown = _json("config", "show", "--data", tmp_path, "--set", "stream-ttl-s=5")
    assert (shown["retention_days"]["value"], shown["retention_days"]["origin"]) == (7, "file")
    assert shown["retention_days"]["place"].endswith("vedette.toml:1")
    assert shown["stream_ttl_s"]["origin"] == "flag"
    assert shown["state_dsn"]["origin"] == "environment"
    assert shown["http"]["origin"] == "default"
    output = _run("config", "show", "--data", tmp_path).output
    assert "hunter2" not in output + json.dumps(shown)
    assert "file " in output


def test_config_show_says_meaning_unit_and_default(tmp_path: Path) -> None:
    shown = _json("config", "show", "--data", tmp_path, "--set", "retention_days=7")
    days = shown["retention_days"]
    assert (days["value"], days["unit"]) == (7, "days")
    assert (days["default"], bool(days["meaning"])) == (Settings().retention_days, True)
    table = _run("config", "show", "--data", tmp_path).stdout
    for heading in ("unit", "default", "meaning"):
        assert heading in table
    assert days["meaning"] in table


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("--port", "99999"), "--port: listen_port: must be at most"),
        (("--host", "0.0.0.0", "--http"), "--http: http: tokens would cross"),
        (("--set", "listen_port=x"), "--set listen_port: listen_port: must be"),
        (("--set", "nope=1"), "--set nope: unknown setting"),
        (("--set", "listen-port=1", "--port", "99999"), "--port: listen_port"),
    ],
)
def test_an_error_names_the_argument_that_was_typed(
    tmp_path: Path, arguments: tuple[str, ...], place: str
) -> None:
    result = _run("serve", "--data", tmp_path, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"vedette: {place}")


def test_a_user_is_changed_disabled_and_enabled(data: Path) -> None:
    _run("team", "add", "soc", "--data", data)
    _run("user", "add", "ann", "--data", data)
    changed = _run(
        "user", "change", "ann", "--email", "a@b.example", "--team", "soc", "--data", data
    )
    assert changed.stdout == "changed user ann\n"
    user = _json("user", "show", "ann", "--data", data)
    assert (user["email"], user["teams"], user["is_enabled"]) == ("a@b.example", ["soc"], True)
    assert _run("user", "disable", "ann", "--data", data).exit_code == 0
    assert not _json("user", "show", "ann", "--data", data)["is_enabled"]
    assert _run("user", "enable", "ann", "--data", data).exit_code == 0
    _run("user", "change", "ann", "--no-teams", "--global-admin", "--data", data)
    user = _json("user", "show", "ann", "--data", data)
    assert (user["teams"], user["is_global_admin"], user["is_enabled"]) == ([], True, True)


def test_a_team_is_changed_and_removed(data: Path) -> None:
    _run("group", "add", "lab", "--data", data)
    _run("team", "add", "soc", "--access", "Default Group=viewer", "--data", data)
    changed = _run(
        "team",
        "change",
        "soc",
        "--rename",
        "hunters",
        "--access",
        "lab=analyst",
        "--no-access",
        "Default Group",
        "--data",
        data,
    )
    assert changed.exit_code == 0, changed.stderr
    (team,) = _json("team", "list", "--data", data)
    assert (team["name"], team["access"]) == ("hunters", {"lab": "Analyst"})
    again = _run("team", "change", "hunters", "--no-access", "Default Group", "--data", data)
    assert "--no-access Default Group" in again.stderr
    assert _run("team", "remove", "hunters", "--data", data).exit_code == 0
    assert _json("team", "list", "--data", data) == []


def test_a_group_is_renamed_and_removed(data: Path) -> None:
    _run("group", "add", "lab", "--data", data)
    assert _run("group", "rename", "lab", "forensics", "--data", data).exit_code == 0
    assert "forensics" in [group["name"] for group in _json("group", "list", "--data", data)]
    taken = _run("group", "rename", "forensics", "Default Group", "--data", data)
    assert (taken.exit_code, "already" in taken.stderr) == (2, True)
    assert _run("group", "remove", "forensics", "--data", data).exit_code == 0
    assert [group["name"] for group in _json("group", "list", "--data", data)] == ["Default Group"]


@pytest.mark.parametrize("assignment", ["nope=1", "listen_port=x", "listen_port"])
def test_a_bad_setting_is_a_refusal(tmp_path: Path, assignment: str) -> None:
    result = _run("config", "show", "--data", tmp_path, "--set", assignment)
    assert (result.exit_code, result.stdout) == (2, "")
    assert assignment.partition("=")[0] in result.stderr


def test_a_team_is_disabled_and_enabled(data: Path) -> None:
    _run("team", "add", "soc", "--access", "Default Group=viewer", "--data", data)
    for verb, is_enabled in (("disable", False), ("enable", True)):
        assert _run("team", verb, "soc", "--data", data).exit_code == 0
        (team,) = _json("team", "list", "--data", data)
        assert (team["is_enabled"], team["access"]) == (is_enabled, {"Default Group": "Viewer"})
    assert "team 'nope' not found" in _run("team", "disable", "nope", "--data", data).stderr


def test_a_command_receives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    received: list[object] = []
    single = typer.Typer(add_completion=False)

    @single.command()
    def command(
        paths: list[Path], given: Path | None = None, default: Path = Path("here"), word: str = "w"
    ) -> None:
        received.extend((*paths, given, default, word))

    wrapped = with_absolute_paths(typer.main.get_command(single))
    wrapped(["a", "../b", "--given", "c"], standalone_mode=False)
    wrapped(["/a"], standalone_mode=False)
    assert received == [
        tmp_path / "a",
        tmp_path / "../b",
        tmp_path / "c",
        tmp_path / "here",
        "w",
        Path("/a"),
        None,
        tmp_path / "here",
        "w",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_receives_absolute_paths(name: str) -> None:
    functions = [leaf.callback for leaf in leaves(COMMANDS[name].load(name))]
    assert functions
    assert {one.__name__ for one in functions} == {"run_absolute"}


def leaves(command: Any) -> list[Any]:
    """The commands of a group, and of groups in it; a command itself."""
    inner = getattr(command, "commands", None)
    return [command] if inner is None else [leaf for one in inner.values() for leaf in leaves(one)]


def test_a_backup_without_a_folder_that_cannot_be_listed_is_none(
    data: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("backups")
    monkeypatch.chdir(place)
    (data / "telemetry").mkdir()
    assert _run("backup", "create", "whole", "--data", data).exit_code == 0
    too_deep(data)
    refused = _run("backup", "create", "broken", "--data", data)
    assert refused.exit_code == 2
    assert "no backup was made" in refused.output
    assert "File name too long" in refused.output
    listed = [_run("backup", "list", name).stdout for name in ("whole", "broken")]
    assert [text.count("MB") for text in listed] == [1, 1]
    assert len(listed[0].splitlines()) == len(listed[1].splitlines()) + 1
    assert str(place / "whole") in str(_json("audit", "list", "--data", data))


def test_validating_a_feed_reads_attributes_of_misp_and_refuses_what_has_no_indicator(
    tmp_path: Path,
) -> None:
    event = {"uuid": "5f1e0000-0000-4000-8000-000000000017", "info": "Campaign"}
    listed = [
        {"type": "sha256", "value": "ab" * 32, "to_ids": True, "event_id": "7", "Event": event},
        {
            "type": "domain",
            "value": "evil.example",
            "to_ids": True,
            "event_id": "7",
            "Event": event,
        },
    ]
    file = tmp_path / "misp.json"
    for found, code, text in (
        (listed, 0, "misp: 1 reports, 2 indicators"),
        ([], 2, "document: it was read as misp and has no indicators"),
    ):
        file.write_text(json.dumps({"response": {"Attribute": found}}))
        done = _run("feed", "validate", file)
        assert (done.exit_code, text in done.output) == (code, True), done.output
