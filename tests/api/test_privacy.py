"""Data that a sensor group hides, from its settings to searches and the audit log."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.support.served import Server, open_group, start_server, wait_for
from tests.support.sysmon import Host
from vedette.cli.main import app

PATTERN = r"--password (\S+)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A separate server: tests search its log and state for hidden data."""
    yield from start_server(tmp_path_factory.mktemp("privacy"))


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


def sent(server: Server, secret: str, name: str, password: str) -> None:
    host = Host(name)
    made = host.created(
        host.process(70, "C:\\a.exe", f"a.exe --password {password}"), host.process(4, "System")
    )
    made["winlog"]["event_data"]["User"] = "CORP\\annabelmarker"
    with server.client(Authorization=f"Bearer {secret}") as sender:
        assert sender.post("/api/v1/ingest", json=[made]).json()["rejected"] == 0


def found(admin: httpx.Client, name: str) -> dict[str, Any]:
    body = admin.get("/api/v1/process", params={"q": f"hostname:{name} process_name:a.exe"}).json()
    return dict(body["results"][0])


def test_a_change_over_the_api_applies_at_once_and_is_audited(
    server: Server, admin: httpx.Client
) -> None:
    group_id, secret = open_group(server, "hides")
    wanted = {"pseudonymise_users": True, "secret_patterns": [PATTERN]}
    assert admin.put(f"/api/v3/group/{group_id}", json=wanted).status_code == 200
    shown = admin.get(f"/api/v3/group/{group_id}").json()[0]
    assert {name: shown[name] for name in wanted} == wanted
    sent(server, secret, "one.example", "markedHunter2")
    sent(server, secret, "two.example", "markedHunter2")
    one, two = found(admin, "one.example"), found(admin, "two.example")
    assert one["cmdline"] == two["cmdline"]  # equal values stay equal
    assert one["username"] == two["username"] != "CORP\\annabelmarker"
    searched = admin.get("/api/v1/process", params={"q": "markedHunter2"}).json()
    assert searched["total_results"] == 0
    entries = admin.get("/api/v1/audit", params={"kind": "group"}).json()["results"]
    assert any("secret_patterns" in str(entry["after"]) for entry in entries)
    for file in ("server.log", "state.db", "state.db-wal"):
        if (server.data / file).exists():
            held = (server.data / file).read_bytes()
            assert b"markedHunter2" not in held
            assert b"annabelmarker" not in held


@pytest.mark.parametrize("patterns", [["("], ["a*"], ["x"] * 33, "x", [7], ["x" * 1_001]])
def test_patterns_that_cannot_be_used_are_refused(
    server: Server, admin: httpx.Client, patterns: object
) -> None:
    answer = admin.put("/api/v3/group/1", json={"secret_patterns": patterns})
    assert answer.status_code == 400
    assert "secret_patterns" in answer.json()["message"]


def test_the_command_changes_it_while_the_server_runs(server: Server, admin: httpx.Client) -> None:
    _, secret = open_group(server, "by command")
    words = ["group", "privacy", "by command", "--data", str(server.data)]
    assert "secret patterns: 0" in CliRunner().invoke(app, words).output
    changed = CliRunner().invoke(app, [*words, "--users", "--secret", PATTERN])
    assert changed.exit_code == 0, changed.output
    numbers = iter(range(100))

    def is_hidden() -> bool:
        name = f"c{next(numbers)}.example"
        sent(server, secret, name, "markedSecond")
        return "markedSecond" not in found(admin, name)["cmdline"]

    assert wait_for(is_hidden, True)
    assert CliRunner().invoke(app, [*words, "--secret", "("]).exit_code == 2
