"""Identity providers and identities over the API: what administrators set up, and bad input."""

import secrets
from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire
from vedette.model.principal import Role

PROVIDERS = "/api/v1/identity_provider"
IDENTITIES = "/api/v1/identity"


def body(**change: Any) -> dict[str, Any]:
    mark = secrets.token_hex(4)
    return {
        "name": f"p-{mark}",
        "issuer": f"https://id.example/{mark}",
        "client_id": "console",
        "client_secret": "hidden",
        **change,
    }


def test_a_provider_is_added_changed_listed_and_deleted(analyst: httpx.Client) -> None:
    sent = body(label="Company")
    made = analyst.post(PROVIDERS, json=sent).json()
    assert (made["name"], made["label"], made["has_secret"]) == (sent["name"], "Company", True)
    assert (made["creates_users"], made["enabled"], made["teams"]) == (False, True, [])
    assert "hidden" not in str(made)
    path = f"{PROVIDERS}/{made['id']}"
    changed = analyst.put(path, json=made | {"label": "Other", "enabled": False}).json()
    assert (changed["label"], changed["enabled"], changed["has_secret"]) == ("Other", False, True)
    assert analyst.get(path).json() == changed
    assert changed in analyst.get(PROVIDERS).json()
    assert analyst.put(path, json={"client_secret": ""}).json()["has_secret"] is False
    asked = {"object": f"identity provider:{sent['name']}"}
    actions = [
        one["action"] for one in analyst.get("/api/v1/audit", params=asked).json()["results"]
    ]
    assert actions == ["change", "change", "create"]
    assert analyst.delete(path).json() == {"result": "success"}
    assert analyst.get(path).status_code == 404


def test_an_identity_is_linked_listed_and_unlinked(server: Server, analyst: httpx.Client) -> None:
    made = analyst.post(PROVIDERS, json=body()).json()
    name = f"linked-{secrets.token_hex(4)}"
    analyst.post("/api/user", json={"username": name}).raise_for_status()
    link = {"username": name, "provider": made["name"], "subject": "8f14e45f"}
    linked = analyst.post(IDENTITIES, json=link).json()
    assert (linked["username"], linked["issuer"]) == (name, made["issuer"])
    assert linked in analyst.get(IDENTITIES).json()
    assert analyst.post(IDENTITIES, json=link).status_code == 409
    assert analyst.post(IDENTITIES, json=link | {"username": "nobody-at-all"}).status_code == 404
    assert analyst.post(IDENTITIES, json=link | {"provider": "none"}).status_code == 404
    path = f"{IDENTITIES}/{linked['id']}"
    assert analyst.delete(path).json() == {"result": "success"}
    assert analyst.delete(path).status_code == 404
    analyst.delete(f"{PROVIDERS}/{made['id']}").raise_for_status()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "A b"},
        {"name": None},
        {"issuer": "http://id.example"},
        {"issuer": "https://id.example?x=y"},
        {"issuer": "https://id.example#x"},
        {"issuer": "https://user:pass@id.example"},
        {"issuer": "ftp://id.example"},
        {"issuer": "javascript:alert(1)"},
        {"issuer": ""},
        {"issuer": None},
        {"issuer": 7},
        {"client_id": ""},
        {"client_id": None},
        {"client_secret": ["x"]},
        {"scope": "profile email"},
        {"creates_users": True},
        {"creates_users": "perhaps"},
        {"teams": {"*": 1}},
        {"teams": [{"value": "*"}]},
        {"teams": [{"value": 7, "team_id": 1}]},
        {"teams": [{"value": "*", "team_id": 999_999}]},
        {"teams": [{"value": "*", "team_id": "x"}]},
        {"username_claim": "a b"},
        {"global_admin": True},
    ],
)
def test_a_bad_provider_is_refused(analyst: httpx.Client, change: dict[str, Any]) -> None:
    sent = body(**change)
    answer = analyst.post(PROVIDERS, json=sent)
    assert answer.status_code == 400, answer.text
    assert sent["name"] not in [one["name"] for one in analyst.get(PROVIDERS).json()]


def test_neither_name_nor_issuer_can_be_changed(analyst: httpx.Client) -> None:
    made = analyst.post(PROVIDERS, json=body()).json()
    path = f"{PROVIDERS}/{made['id']}"
    for change in ({"name": "other"}, {"issuer": "https://other.example"}):
        assert analyst.put(path, json=change).status_code == 400
    assert analyst.post(PROVIDERS, json=body(name=made["name"])).status_code == 409
    assert analyst.post(PROVIDERS, json=body(issuer=made["issuer"])).status_code == 409
    analyst.delete(path).raise_for_status()


def test_an_administrator_of_a_group_links_nobody(server: Server, analyst: httpx.Client) -> None:
    """With a link they would be whom they want."""
    token = hire(server, f"linker-{secrets.token_hex(4)}", {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        link = {"username": "admin", "provider": "company", "subject": "me"}
        assert client.post(IDENTITIES, json=link).status_code == 403
        assert client.post(PROVIDERS, json=body()).status_code == 403
        assert client.get(IDENTITIES).status_code == 403


def test_without_a_public_address_a_sign_in_says_so(analyst: httpx.Client, server: Server) -> None:
    made = analyst.post(PROVIDERS, json=body(issuer="http://127.0.0.1:9/x")).json()
    try:
        assert made["redirect_uri"] is None
        with server.client() as client:
            answer = client.get(f"/ui/sign-in/with/{made['name']}")
            assert answer.status_code == 503
            assert "public_url" in answer.text
    finally:
        analyst.delete(f"{PROVIDERS}/{made['id']}").raise_for_status()
