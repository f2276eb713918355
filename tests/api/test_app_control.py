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


@pytest.mark.parametrize(
    "body",
    [
        {"server_url": "https://x.example"},
        {"server_url": "x.example/path"},
        {"server_url": "user@x.example"},
        {"server_url": "x\r\ny"},
        {"server_url": 5},
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
