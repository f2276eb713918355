"""An event causes a message and a response, through a complete server; administrators see the
outbox."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.ports import free_port
from tests.support.receivers import HttpReceiver, http_receiver, mail_server
from tests.support.sensor import PlayedSensor, enrol, event, secret_of
from tests.support.served import Server, hire, open_group, start_server, state_of, wait_for
from vedette.model.principal import Role
from vedette.notify.targets import webhook_target
from vedette.state.accounts import users
from vedette.state.policy import actions

SIGMA = "/api/v1/sigma"
OUTBOX = "/api/v1/outbox"
POLICY = "/api/v1/response_policy"
RULE = """title: A test | of = messages
id: 5c1f0a52-4a3e-4a56-9a33-0000000000{number:02}
level: critical
logsource:
  product: linux
  category: process_creation
detection:
  selection:
    CommandLine|contains: '{word}'
  condition: selection
"""


@pytest.fixture(scope="module")
def mail_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, mail_port: int) -> Iterator[Server]:
    settings = {
        "egress_allow": "127.0.0.1,::1",
        "smtp_host": "127.0.0.1",
        "smtp_port": mail_port,
        "smtp_security": "none",
        "mail_digest_s": 0,
    }
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    yield from start_server(tmp_path_factory.mktemp("server"), *flags)


@pytest.fixture(scope="module")
def analyst(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


@pytest.fixture(scope="module")
def receiver() -> Iterator[HttpReceiver]:
    with http_receiver() as found:
        yield found


@pytest.fixture(scope="module")
def sensor(server: Server) -> Iterator[PlayedSensor]:
    with server.client() as client:
        yield enrol(client, "target.corp.example", secret_of(server))


def add_rule(analyst: httpx.Client, number: int, word: str) -> str:
    answer = analyst.post(SIGMA, json={"text": RULE.format(number=number, word=word)})
    assert answer.status_code == 200, answer.text
    found = answer.json()["results"][0]
    assert found["reason"] == "", found
    return str(found["id"])


def run(sensor: PlayedSensor, cmdline: str, pid: int, **members: Any) -> None:
    now_us = int(time.time() * 1e6)
    values = {"path": "/usr/bin/curl", "cmdline": cmdline, "md5": f"{pid:032x}", **members}
    answer = sensor.send([event("start", now_us, pid, now_us, **values)], number=pid)
    assert answer.status_code == 200, answer.text


def test_an_event_becomes_a_post_and_a_mail(
    server: Server,
    analyst: httpx.Client,
    receiver: HttpReceiver,
    sensor: PlayedSensor,
    mail_port: int,
) -> None:
    rule = f"{SIGMA}/{add_rule(analyst, 1, 'first-word')}"
    with state_of(server) as database:
        users.change(database, "admin", users.UserChanges(email="admin@corp.example"))
    body = {"enabled": True, "url": receiver.url, "secret": "key"}
    assert analyst.put(f"{rule}/action_type/http", json=body).status_code == 200
    assert analyst.put(f"{rule}/action_type/email", json={"enabled": True}).status_code == 200
    with mail_server(port=mail_port) as box:
        run(sensor, "curl first-word", 501)
        assert wait_for(lambda: len(receiver.posts), 1) == 1
        assert wait_for(lambda: len(box.mails), 1) == 1
    post = receiver.posts[0]
    reported = json.loads(post.body)
    assert reported["title"] == "A test | of = messages"
    assert reported["host"]["hostname"] == "target.corp.example"
    assert reported["process"]["cmdline"] == "curl first-word"
    assert post.headers["webhook-signature"].startswith("v1,")
    assert box.recipients == ["admin@corp.example"]
    found = {one["target"].split(":")[0]: one for one in analyst.get(OUTBOX).json()}
    assert wait_for(lambda: sum(one["waiting"] for one in analyst.get(OUTBOX).json()), 0) == 0
    assert set(found) >= {"http", "email"}
    assert "vedette_outbox_messages_total" in analyst.get("/metrics").text


def test_an_analyst_of_another_group_is_told_nothing(
    server: Server, analyst: httpx.Client, receiver: HttpReceiver, sensor: PlayedSensor
) -> None:
    group, _ = open_group(server, "of nobody's hosts")
    token = hire(server, "curious", {group: Role.ANALYST})
    rule = f"{SIGMA}/{add_rule(analyst, 2, 'second-word')}"
    with server.client(**{"X-Auth-Token": token}) as client:
        for action, more in (("http", {"url": receiver.url}), ("email", {})):
            path = f"{rule}/action_type/{action}"
            assert client.put(path, json={"enabled": True, **more}).status_code == 200
    before = len(receiver.posts)
    run(sensor, "curl second-word", 502)
    path = f"{OUTBOX}/message?state=discarded"
    assert wait_for(lambda: len(analyst.get(path).json()), 2) == 2
    assert len(receiver.posts) == before


def test_what_fails_is_seen_retried_and_discarded(
    analyst: httpx.Client, receiver: HttpReceiver, sensor: PlayedSensor
) -> None:
    rule = f"{SIGMA}/{add_rule(analyst, 3, 'third-word')}"
    body = {"enabled": True, "url": f"{receiver.url}&bad"}
    analyst.put(f"{rule}/action_type/http", json=body)
    receiver.status = 422
    try:
        run(sensor, "curl third-word", 503)
        run(sensor, "curl third-word again", 504)
        dead = wait_for(lambda: len(analyst.get(f"{OUTBOX}/message").json()), 2)
        assert dead == 2
    finally:
        receiver.status = 200
    first, second = analyst.get(f"{OUTBOX}/message", params={"state": "dead"}).json()
    assert "422" in first["error"]
    answer = analyst.post(f"{OUTBOX}/discard", json={"ids": [second["id"]]}).json()
    assert answer == {"result": "success", "count": 1}
    before = len(receiver.posts)
    answer = analyst.post(f"{OUTBOX}/retry", json={"target": first["target"]}).json()
    assert answer == {"result": "success", "count": 1}
    assert wait_for(lambda: len(receiver.posts), before + 1) == before + 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("retry", {}),
        ("retry", {"ids": "all"}),
        ("retry", {"ids": [True]}),
        ("retry", {"ids": [1 << 40]}),
        ("discard", {}),
        ("discard", {"ids": list(range(1, 5_000))}),
    ],
)
def test_a_bad_change_of_the_outbox_is_refused(
    analyst: httpx.Client, path: str, body: object
) -> None:
    assert analyst.post(f"{OUTBOX}/{path}", json=body).status_code == 400


def test_a_target_is_tried_and_the_message_says_that_it_is_a_test(
    server: Server, analyst: httpx.Client, receiver: HttpReceiver, mail_port: int
) -> None:
    rule = f"{SIGMA}/{add_rule(analyst, 30, 'thirtieth-word')}"
    url = f"{receiver.url}&tried"
    analyst.put(f"{rule}/action_type/http", json={"enabled": True, "url": url})
    with state_of(server) as database, database.reading() as connection:
        target = webhook_target(actions.webhooks(connection)[-1])
    before = len(receiver.posts)
    answer = analyst.post(f"{OUTBOX}/test", json={"target": target})
    assert answer.status_code == 200, answer.text
    assert wait_for(lambda: len(receiver.posts), before + 1) == before + 1
    reported = json.loads(receiver.posts[-1].body)
    assert reported["title"] == "Vedette test message"
    assert reported["severity"] == 0
    group, _ = open_group(server, "of a mailed user")
    hire(server, "mailed", {group: Role.VIEWER})
    with state_of(server) as database:
        users.change(database, "mailed", users.UserChanges(email="mailed@corp.example"))
        number = users.id_of(database, "mailed")
    with mail_server(port=mail_port) as box:
        tried = {"target": f"email:{number}"}
        assert analyst.post(f"{OUTBOX}/test", json=tried).status_code == 200
        assert wait_for(lambda: box.recipients, ["mailed@corp.example"])
    reported_by = analyst.get("/api/v1/audit", params={"action": "run"}).text
    assert target in reported_by


def test_an_action_is_tried_by_who_may_change_it(
    server: Server, analyst: httpx.Client, receiver: HttpReceiver
) -> None:
    rule = f"{SIGMA}/{add_rule(analyst, 31, 'word-31')}/action_type"
    assert analyst.post(f"{rule}/http/test").status_code == 409
    assert analyst.post(f"{rule}/alert/test").status_code in {400, 409}
    group, _ = open_group(server, "of a trying analyst")
    token = hire(server, "trying", {group: Role.ANALYST})
    viewer = hire(server, "watching", {group: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        body = {"enabled": True, "url": f"{receiver.url}&of-a-group"}
        assert client.put(f"{rule}/http", json=body).status_code == 200
        before = len(receiver.posts)
        answer = client.post(f"{rule}/http/test")
        assert answer.status_code == 200, answer.text
        assert wait_for(lambda: len(receiver.posts), before + 1) == before + 1
        assert "of-a-group" not in answer.text
    with server.client(**{"X-Auth-Token": viewer}) as client:
        assert client.post(f"{rule}/http/test").status_code == 403


def test_a_target_is_not_tried_by_others_nor_without_end(
    server: Server, analyst: httpx.Client
) -> None:
    for target, status in (("http:nowhere", 404), ("syslog", 404), ("email:x", 404), ("", 400)):
        answer = analyst.post(f"{OUTBOX}/test", json={"target": target})
        assert answer.status_code == status, answer.text
    answers = [analyst.post(f"{OUTBOX}/test", json={"target": "http:often"}) for _ in range(9)]
    assert [one.status_code for one in answers][-1] == 429
    group, _ = open_group(server, "that tries nothing")
    token = hire(server, "tries-nothing", {group: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.post(f"{OUTBOX}/test", json={"target": "syslog"}).status_code == 403


def test_the_outbox_and_the_policies_are_the_administrators(server: Server) -> None:
    group, _ = open_group(server, "without an outbox")
    token = hire(server, "no-outbox", {group: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        for path in (OUTBOX, f"{OUTBOX}/message", POLICY, f"{POLICY}/1", "/api/v1/response"):
            assert client.get(path).status_code == 403
        assert client.post(POLICY, json={"name": "x", "action": "ban"}).status_code == 403


def test_a_rule_isolates_a_host_and_what_was_done_is_on_record(
    server: Server, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    rule_id = add_rule(analyst, 4, "fourth-word")
    body = {"name": "contain", "action": "isolate", "rule_ids": [rule_id], "hosts_never": ["DC*"]}
    made = analyst.post(POLICY, json=body).json()
    assert (made["enabled"], made["hosts_never"], made["username"]) == (False, ["dc*"], "admin")
    one = f"{POLICY}/{made['id']}"
    assert analyst.put(one, json=made | {"enabled": True}).json()["result"] == "success"
    run(sensor, "curl fourth-word", 505)

    def state() -> list[str]:
        return [one["state"] for one in analyst.get("/api/v1/response").json()]

    assert wait_for(state, ["done"]) == ["done"]
    shown = analyst.get(f"/api/v1/sensor/{sensor.id}").json()
    assert shown["network_isolation_enabled"] is True
    (done,) = analyst.get("/api/v1/response").json()
    assert (done["rule_id"], done["subject"], done["ends"] > done["done"]) == (
        rule_id,
        str(sensor.id),
        True,
    )
    # The record that comes back with another change decides nothing, a person's order does.
    path = f"/api/v1/sensor/{sensor.id}"
    assert analyst.put(path, json=shown | {"notes": "seen"}).status_code == 204
    assert state() == ["done"]
    assert analyst.put(path, json={"network_isolation_enabled": False}).status_code == 204
    assert state() == ["taken_over"]
    assert analyst.delete(one).json() == {"result": "success"}
    assert analyst.get(one).status_code == 404
    assert state() == ["taken_over"]


def test_two_policies_of_one_name_are_a_conflict(analyst: httpx.Client) -> None:
    body = {"name": "twice", "action": "ban"}
    assert analyst.post(POLICY, json=body).status_code == 200
    assert analyst.post(POLICY, json=body).status_code == 409


def test_the_key_of_secrets_is_the_owners(server: Server) -> None:
    assert (Path(server.data) / "secrets.key").stat().st_mode & 0o077 == 0
