"""Settings of the application-control server: its token is kept, and given to nobody else."""

import httpx
import pytest

from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role

PATH = "/api/v1/settings/global/platformserver"


def test_settings_are_changed_one_by_one_and_the_token_is_not_shown(analyst: httpx.Client) -> None:
    new = {"server_url": "appcontrol.example", "ssl_certificate_verify": "false"}
    assert analyst.post(PATH, json=new | {"auth_token": "s3cret"}).json()["result"] == "success"
    assert analyst.put(PATH, json={"watchlist_export": True}).status_code == 200
    answer = analyst.get(PATH)
    assert answer.json() == {
        "server_url": "appcontrol.example",
        "ssl_certificate_verify": False,
        "watchlist_export": True,
        "auth_token_set": True,
    }
    assert "s3cret" not in answer.text
    analyst.post(PATH, json={"watchlist_export": False})


def test_another_server_does_not_get_the_token(analyst: httpx.Client) -> None:
    analyst.post(PATH, json={"server_url": "one.example", "auth_token": "t"})
    assert analyst.post(PATH, json={"server_url": "ONE.example"}).json()["auth_token_set"] is True
    assert analyst.post(PATH, json={"server_url": "two.example"}).json()["auth_token_set"] is False
    both = {"server_url": "three.example", "auth_token": "new"}
    assert analyst.post(PATH, json=both).json()["auth_token_set"] is True


@pytest.mark.parametrize("url", ["x.example:8443", "[2001:db8::1]:443", "192.0.2.7", "x_1.a."])
def test_names_and_addresses_are_taken(analyst: httpx.Client, url: str) -> None:
    assert analyst.post(PATH, json={"server_url": url}).json()["server_url"] == url


def test_changes_are_in_the_audit_log_without_the_token(analyst: httpx.Client) -> None:
    analyst.post(PATH, json={"ssl_certificate_verify": True})
    analyst.post(PATH, json={"server_url": "audit.example", "auth_token": "marked1"})
    analyst.post(PATH, json={"auth_token": "marked2", "ssl_certificate_verify": False})
    analyst.post(PATH, json={"ssl_certificate_verify": False})  # changes nothing
    analyst.post(PATH, json={"server_url": "audit2.example", "ssl_certificate_verify": True})
    answer = analyst.get("/api/v1/audit", params={"object": "setting:platformserver", "rows": 3})
    moved, replaced, first = answer.json()["results"]
    assert first["after"] == {"server_url": "audit.example", "auth_token": "(set)"}
    assert replaced["before"] == {"ssl_certificate_verify": True, "auth_token": "(set)"}
    assert replaced["after"] == {"ssl_certificate_verify": False, "auth_token": "(changed)"}
    assert (moved["before"]["auth_token"], moved["after"]["auth_token"]) == ("(set)", "(not set)")
    assert moved["author"] == "admin"
    assert moved["address"]
    assert "marked" not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        {"server_url": "https://x.example"},
        {"server_url": "x.example/path"},
        {"server_url": "user@x.example"},
        {"server_url": "x\r\ny"},
        {"server_url": 5},
        {"server_url": "x.example:0"},
        {"server_url": "x.example:65536"},
        {"server_url": "[:::::]"},
        {"server_url": "[fe80::1%eth0]"},
        {"server_url": ".."},
        {"server_url": "-x"},
        {"server_url": "a" * 300},
        {"ssl_certificate_verify": "maybe"},
        {"watchlist_export": 1},
        {"auth_token": "a b"},
        {"auth_token": 5},
        {"other": True},
        {"server_url": "", "watchlist_export": True},
    ],
)
def test_bad_settings_are_refused(analyst: httpx.Client, body: object) -> None:
    assert analyst.post(PATH, json=body).status_code == 400


def test_it_is_the_administrators(server: Server) -> None:
    group, _ = open_group(server, "without app control")
    token = hire(server, "no-app-control", {group: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.get(PATH).status_code == 403
        assert client.post(PATH, json={"watchlist_export": True}).status_code == 403
