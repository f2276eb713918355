"""Whether all that was sent is stored, over HTTP and by command (docs/completeness.md)."""

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.support.served import Server, hire, open_group, start_server
from tests.support.sysmon import Host
from vedette.cli.main import app
from vedette.model.principal import Role

ROUTE = "/api/v1/completeness"
SYSMON = "Microsoft-Windows-Sysmon/Operational"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A separate server, so that the hosts of this module are its only data."""
    yield from start_server(tmp_path_factory.mktemp("completeness"))


@pytest.fixture(scope="module")
def analyst(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


def records(name: str, count: int) -> list[dict[str, Any]]:
    """Creations of processes, numbered from 1."""
    host = Host(name)
    parent = host.process(4, "System")
    return [host.created(host.process(100 + n, f"C:\\{n}.exe"), parent) for n in range(count)]


def send(server: Server, sent: list[dict[str, Any]], secret: str = "") -> None:
    token = secret or server.ingest_token
    with server.client(Authorization=f"Bearer {token}") as sender:
        assert sender.post("/api/v1/ingest", json=sent).status_code == 200


def report(client: httpx.Client, name: str, **params: str) -> dict[str, Any]:
    answer = client.get(ROUTE, params={"from": "-1h", "hostname": name, **params})
    assert answer.status_code == 200, answer.text
    (sensor,) = answer.json()["sensors"]
    return dict(sensor)


def channel(client: httpx.Client, name: str) -> dict[str, Any]:
    (found,) = report(client, name)["channels"]
    return dict(found)


def test_numbers_that_are_missing_are_named_until_they_arrive(
    server: Server, analyst: httpx.Client
) -> None:
    made = records("gaps.example", 20)
    send(server, [*made[:5], *made[8:12], *made[13:]])
    found = channel(analyst, "gaps.example")
    assert (found["channel"], found["verdict"], found["missing"]) == (SYSMON, "gaps", 4)
    assert found["gaps"] == [{"first": 6, "last": 8}, {"first": 13, "last": 13}]
    assert (found["first"], found["last"], found["received"]) == (1, 20, 16)
    send(server, made[5:8])
    assert channel(analyst, "gaps.example")["gaps"] == [{"first": 13, "last": 13}]
    send(server, made[12:13])
    found = channel(analyst, "gaps.example")
    assert (found["verdict"], found["missing"], found["received"]) == ("open", 0, 20)


def test_records_that_arrive_and_are_not_stored_are_no_gaps(
    server: Server, analyst: httpx.Client
) -> None:
    made = records("left-out.example", 6)
    for record in (made[1], made[2]):  # a kind that nothing is made of
        record["winlog"]["event_id"] = "4"
    made[4]["winlog"]["event_data"]["UtcTime"] = "2199-01-01 00:00:00.000"
    send(server, made)
    found = channel(analyst, "left-out.example")
    assert (found["missing"], found["received"]) == (0, 6)
    assert sum(found["unstored"].values()) >= 1
    assert found["verdict"] == ("refused" if "rejected" in found["unstored"] else "open")


def test_a_source_without_numbers_is_neither_complete_nor_incomplete(
    server: Server, analyst: httpx.Client
) -> None:
    line = (
        "type=SYSCALL msg=audit({0}.123:{1}): arch=c000003e syscall=59 success=yes exit=0 "
        'ppid=1 pid={1} auid=0 uid=0 comm="id" exe="/usr/bin/id" key=(null)'
    )
    lines = "\n".join(f"node=audit.example {line.format(1_700_000_000, n)}" for n in (501, 507))
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", content=lines).status_code == 200
    found = report(analyst, "audit.example")
    assert found["verdict"] == "unnumbered"
    assert not any(one["missing"] for one in found["channels"])


def test_a_user_is_told_of_the_sensors_of_their_groups_alone(server: Server) -> None:
    group_id, secret = open_group(server, "completeness")
    send(server, records("mine.example", 3), secret)
    send(server, records("theirs.example", 3))
    token = hire(server, "completeness-viewer", {group_id: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        body = viewer.get(ROUTE, params={"from": "-1h"}).json()
        assert [one["hostname"] for one in body["sensors"]] == ["mine.example"]
        assert body["total_results"] == 1
        signed = viewer.get(f"{ROUTE}/certificate", params={"from": "-1h"}).json()
        assert "theirs.example" not in json.dumps(signed)
        assert signed["statement"]["sees_all_groups"] is False
        with server.analyst() as admin:
            theirs = report(admin, "theirs.example")["sensor_id"]
        unseen = viewer.get(ROUTE, params={"from": "-1h", "sensor_id": theirs})
        unknown = viewer.get(ROUTE, params={"from": "-1h", "sensor_id": 999_999})
        assert unseen.status_code == unknown.status_code == 404
        assert unseen.text.replace(str(theirs), "999999") == unknown.text


def test_one_sensor_is_asked_for_alone_and_pages_as_many_are(
    server: Server, analyst: httpx.Client
) -> None:
    send(server, records("alone.example", 1))
    number = report(analyst, "alone.example")["sensor_id"]
    asked = {"from": "-1h", "sensor_id": str(number)}
    for more, sensors in ({}, 1), ({"start": "1"}, 0), ({"rows": "0"}, 0):
        body = analyst.get(ROUTE, params=asked | more).json()
        assert (body["total_results"], len(body["sensors"])) == (1, sensors)
    for other in {"group_id": "1"}, {"hostname": "alone.example"}:
        assert analyst.get(ROUTE, params=asked | other).status_code == 400


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"from": "yesterday"},
        {"from": "-40d"},
        {"from": "2199-01-01"},
        {"from": "-1h", "rows": -1},
    ],
)
def test_a_time_that_cannot_be_answered_for_is_refused(
    analyst: httpx.Client, params: dict[str, Any]
) -> None:
    assert analyst.get(ROUTE, params=params).status_code == 400


def test_a_certificate_is_verified_by_the_key_and_not_after_a_change(
    server: Server, analyst: httpx.Client, tmp_path: Path
) -> None:
    send(server, records("certified.example", 3))
    data, file = str(server.data), tmp_path / "incident.json"
    made = run("certificate", str(file), "--from", "-1h", "--host", "certified", "--data", data)
    assert made.exit_code == 0, made.output
    key = run("key", "--data", data).output.strip()
    for arguments in (["--key", key], ["--data", data]):
        good = run("verify", str(file), *arguments)
        assert good.exit_code == 0, good.output
        assert "certified.example" in good.output
    body = json.loads(file.read_text())
    body["statement"]["sensors"][0]["channels"][0]["missing"] = 1
    file.write_text(json.dumps(body))
    assert run("verify", str(file), "--key", key).exit_code == 2
    entries = analyst.get("/api/v1/audit", params={"kind": "completeness certificate"}).json()
    newest = entries["results"][0]
    account = pwd.getpwuid(os.getuid()).pw_name
    assert (newest["author_kind"], newest["author"]) == ("command", account)


def test_a_certificate_that_another_key_signed_is_refused(server: Server, tmp_path: Path) -> None:
    """The key in the file is not believed: whoever forges a statement brings a key along."""
    from base64 import b64encode

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    forger = Ed25519PrivateKey.generate()
    message = b'vedette-statement\n{"kind":"completeness"}'
    body = {
        "statement": {"kind": "completeness"},
        "public_key": b64encode(forger.public_key().public_bytes_raw()).decode(),
        "signature": b64encode(forger.sign(message)).decode(),
    }
    (tmp_path / "forged.json").write_text(json.dumps(body))
    found = run("verify", str(tmp_path / "forged.json"), "--data", str(server.data))
    assert found.exit_code == 2
    assert "is from another server" in found.output


def test_the_command_says_what_is_missing_by_its_exit_code(server: Server) -> None:
    made = records("by-command.example", 5)
    send(server, [made[0], made[4]])
    shown = run("show", "--host", "by-command", "--data", str(server.data))
    assert shown.exit_code == 1
    assert "2-4" in shown.output


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["completeness", *arguments])
