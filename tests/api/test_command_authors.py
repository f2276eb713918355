"""Who stands in the audit log for a command that goes through the running server: whoever typed it.
Nobody else can choose a name."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from tests.support.commands import done
from tests.support.served import Server, hire, start_server, state_of
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import tokens
from vedette.state.db.author import OPERATOR_NAME_CHARS_MAX

HEADER = "X-Vedette-Operator"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("authors")
    yield from start_server(data, "--set", "trusted_proxies=127.0.0.0/8")


def note(client: httpx.Client, view: str, **headers: str) -> httpx.Response:
    body = {"view": view, "format": "csv", "rows": 1}
    return client.post("/api/v1/export", json=body, headers=headers)


def author_of(server: Server, view: str) -> tuple[str, str, str]:
    with server.analyst() as client:
        found = client.get("/api/v1/audit", params={"object": f"export:{view}"}).json()
    (entry,) = found["results"]
    return entry["author_kind"], entry["author"], entry["address"]


@pytest.mark.parametrize(
    ("sent", "name"),
    [("root", "root"), ("CORP%5Cann%20b", "CORP\\ann b"), ("%C3%A9va", "éva"), ("a%25b", "a%b")],
)
def test_a_command_is_its_typists(server: Server, sent: str, name: str) -> None:
    view = f"typed_{sent.encode().hex()}"
    with server.analyst() as command:  # the token of server.json
        assert note(command, view, **{HEADER: sent}).status_code == 200
    assert author_of(server, view) == ("command", name, "127.0.0.1")


def test_without_the_header_the_token_is_its_users(server: Server) -> None:
    with server.analyst() as command:
        assert note(command, "unsaid").status_code == 200
    assert author_of(server, "unsaid") == ("user", "admin", "127.0.0.1")


@pytest.mark.parametrize(
    "sent",
    ["", "%20root", "a%0Ab", "a%00b", "%FF", "x" * (OPERATOR_NAME_CHARS_MAX + 1), "%E2%80%AEtoor"],
)
def test_no_account_has_such_a_name(server: Server, sent: str) -> None:
    with server.analyst() as command:
        refused = note(command, "refused", **{HEADER: sent})
    assert (refused.status_code, refused.json()["reason"]) == (400, "bad_request")


def test_ordinary_tokens_and_sessions_choose_no_name(server: Server) -> None:
    with state_of(server) as database:
        admin = tokens.NewToken("api", "own", user_id=1)
        secret = tokens.issue(database, admin, SystemClock().now_us()).secret
    with server.client(**{"X-Auth-Token": secret}) as client:
        assert note(client, "by_admin", **{HEADER: "root"}).status_code == 200
        assert note(client, "by_admin2", **{HEADER: "a%00"}).status_code == 200
        client.put("/api/user/admin", json={"password": "a-password-of-ours"}).raise_for_status()
    with server.client(**{"X-Auth-Token": hire(server, "ann", {1: Role.VIEWER})}) as client:
        assert note(client, "by_ann", **{HEADER: "root"}).status_code == 200
    with server.client() as client:
        sent = {"username": "admin", "password": "a-password-of-ours"}
        client.headers["X-CSRF-Token"] = client.post("/api/v1/session", json=sent).json()[
            "csrf_token"
        ]
        assert note(client, "by_session", **{HEADER: "root"}).status_code == 200
    for view, user in (("admin", "admin"), ("admin2", "admin"), ("ann", "ann")):
        assert author_of(server, f"by_{view}")[:2] == ("user", user)
    assert author_of(server, "by_session")[:2] == ("user", "admin")


def test_from_another_machine_the_servers_own_token_chooses_no_name(server: Server) -> None:
    with server.analyst() as command:
        outside = {HEADER: "root", "X-Forwarded-For": "203.0.113.9"}
        assert note(command, "outside", **outside).status_code == 200
    assert author_of(server, "outside") == ("user", "admin", "203.0.113.9")


def test_a_certificate_is_of_who_asked_for_it_at_the_command_line(
    server: Server, tmp_path: Path
) -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    file = tmp_path / "certificate.json"
    done("completeness", "certificate", file, "--from", "-1h", "--data", server.data)
    with server.analyst() as client:
        params = {"kind": "completeness certificate"}
        newest = client.get("/api/v1/audit", params=params).json()["results"][0]
    assert (newest["author_kind"], newest["author"]) == ("command", me)
    assert orjson.loads(file.read_bytes())["statement"]["made_for"] == f"command {me}"


def test_an_export_of_alerts_is_in_the_log(server: Server, tmp_path: Path) -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    words = ("alerts", "export", tmp_path / "out.jsonl", "--from", "2026-01-01")
    done(*words, "--data", server.data)
    assert author_of(server, "alerts")[:2] == ("command", me)
    with server.analyst() as client:
        found = client.get("/api/v1/audit", params={"object": "export:alerts"}).json()["results"]
    assert found[0]["after"]["format"] == "jsonl"
    assert found[0]["after"]["params"].startswith("from=2026-01-01T00%3A00%3A00")


def test_a_token_that_only_reads_notes_its_export(server: Server) -> None:
    with state_of(server) as database:
        new = tokens.NewToken("api", "reads", user_id=1, is_read_only=True)
        secret = tokens.issue(database, new, SystemClock().now_us()).secret
    with server.client(**{"X-Auth-Token": secret}) as client:
        assert note(client, "read_only").status_code == 200
