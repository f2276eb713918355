"""Sign-in with identities of a real provider on loopback, set up with the commands that operators
type."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.support.commands import done
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, oidc_provider
from tests.support.ports import free_port
from tests.support.served import Server, start_server

PEOPLE = {
    "ann": {"preferred_username": "ann.oidc", "given_name": "Ann", "groups": ["soc", "staff"]},
    "bob": {"preferred_username": "bob.oidc", "given_name": "Bob", "groups": ["staff"]},
    "eve": {"preferred_username": "eve.oidc", "given_name": "Eve", "groups": ["guests"]},
}


@dataclass(frozen=True)
class Place:
    """The server, and where its provider is to be."""

    server: Server
    folder: Path
    port: int

    @property
    def redirect_uri(self) -> str:
        return f"{self.server.url}/ui/sign-in/with/company/callback"

    def provider(self) -> Any:
        return oidc_provider(self.folder, self.port, self.redirect_uri, PEOPLE)


def run(server: Server, *words: str, given: str = "") -> str:
    return done(*words, "--data", server.data, given=given)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    data, folder = tmp_path_factory.mktemp("oidc"), tmp_path_factory.mktemp("provider")
    listen, port = free_port(), free_port()
    (data / "vedette.toml").write_text(
        f'public_url = "https://127.0.0.1:{listen}"\negress_allow = ["127.0.0.1"]\n'
    )
    for server in start_server(data, "--port", str(listen)):
        assert server.url == f"https://127.0.0.1:{listen}"
        added = run(
            server,
            "oidc",
            "add",
            "company",
            "--issuer",
            f"http://127.0.0.1:{port}",
            "--client-id",
            CLIENT_ID,
            "--secret-stdin",
            "--label",
            "Company account",
            "--scope",
            "openid profile groups",
            given=f"{CLIENT_SECRET}\n",
        )
        assert f"{server.url}/ui/sign-in/with/company/callback" in added
        yield Place(server, folder, port)


def visit(client: httpx.Client, provider: Provider, person: str) -> httpx.Response:
    """Acts as a person's browser after the click: goes to the provider and back."""
    page = client.get("/ui/sign-in?next=/ui/sensors")
    assert "Sign in with Company account" in page.text
    sent = client.get("/ui/sign-in/with/company?next=/ui/sensors")
    assert sent.status_code == 303, sent.text
    back = urlsplit(provider.visit(sent.headers["location"], person))
    assert f"{back.scheme}://{back.netloc}" == str(client.base_url).rstrip("/")
    return client.get(back.path, params=parse_qsl(back.query))


def who(client: httpx.Client) -> str:
    return str(client.get("/api/v1/session").json().get("username"))


def test_an_identity_is_linked_by_command_and_signs_in(place: Place) -> None:
    server = place.server
    with place.provider() as provider, server.client() as client, server.analyst() as admin:
        checked = run(server, "oidc", "check", "company")
        assert f"{provider.issuer}/token" in checked
        refused = visit(client, provider, "ann")
        assert refused.status_code == 401
        assert "No user is linked" in refused.text
        asked = {"kind": "sign-in", "rows": "1"}
        (entry,) = admin.get("/api/v1/audit", params=asked).json()["results"]
        name, _, subject = entry["target"].partition("/")
        assert name == "company"
        assert entry["after"]["refused"] == "identity_unknown"
        run(server, "user", "add", "ann")
        run(server, "oidc", "link", "ann", "--provider", "company", "--subject", subject)
        answer = visit(client, provider, "ann")
        assert answer.status_code == 200, answer.text
        assert "url=/ui/sensors" in answer.text
        assert who(client) == "ann"
        assert client.get("/ui/sensors").status_code == 200
        listed = json.loads(run(server, "oidc", "identities", "--json"))
        (identity,) = [one for one in listed if one["subject"] == subject]
        assert identity["user"] == "ann"
        (link, *_) = admin.get("/api/v1/audit", params={"kind": "identity"}).json()["results"]
        assert (link["action"], link["author_kind"]) == ("create", "command")
        run(server, "oidc", "unlink", str(identity["id"]))
        assert visit(client, provider, "ann").status_code == 401


def test_a_provider_that_makes_users_gives_them_the_teams_of_their_claims(place: Place) -> None:
    server = place.server
    run(server, "team", "add", "Readers", "--access", "Default Group=viewer")
    run(server, "team", "add", "Analysts", "--access", "Default Group=analyst")
    run(
        server,
        "oidc",
        "change",
        "company",
        "--creates-users",
        "--team-claim",
        "groups",
        "--team",
        "soc=Analysts",
        "--team",
        "staff=Readers",
    )
    roles = {}
    with place.provider() as provider:
        for person in ("ann", "bob"):
            with server.client() as client:
                assert visit(client, provider, person).status_code == 200
                assert who(client) == f"{person}.oidc"
                groups = client.get("/api/v1/session").json()["groups"]
                roles[person] = [one["access_category"] for one in groups]
        with server.client() as client:
            answer = visit(client, provider, "eve")
            assert answer.status_code == 401
            assert "does not belong to a team" in answer.text
    assert roles == {"ann": ["Analyst"], "bob": ["Viewer"]}
    run(server, "oidc", "change", "company", "--no-creates-users")


def test_a_code_or_an_answer_is_good_once(place: Place) -> None:
    server = place.server
    with place.provider() as provider, server.client() as client, server.client() as thief:
        sent = client.get("/ui/sign-in/with/company")
        back = urlsplit(provider.visit(sent.headers["location"], "bob"))
        params = dict(parse_qsl(back.query))
        # Somebody who saw the answer has neither the cookie nor, with an attempt of their own, the
        # verifier: the provider refuses the code (RFC 7636).
        assert thief.get(back.path, params=params).status_code == 401
        own = thief.get("/ui/sign-in/with/company")
        state = dict(parse_qsl(urlsplit(own.headers["location"]).query))["state"]
        stolen = thief.get(back.path, params=params | {"state": state})
        assert stolen.status_code == 401
        assert "denied the sign-in" in stolen.text


def test_an_address_that_is_not_registered_is_refused_by_the_provider(place: Place) -> None:
    with place.provider() as provider, place.server.client() as client:
        sent = client.get("/ui/sign-in/with/company", headers={"Host": "evil.example"})
        params = dict(parse_qsl(urlsplit(sent.headers["location"]).query))
        assert params["redirect_uri"] == place.redirect_uri
        params["redirect_uri"] = "https://evil.example/ui/sign-in/with/company/callback"
        answer = httpx.get(f"{provider.issuer}/authorize", params=params, timeout=60)
        assert answer.status_code == 400


def test_a_provider_that_comes_back_with_other_keys_is_believed(place: Place) -> None:
    with place.server.client() as client, place.provider() as provider:
        assert visit(client, provider, "bob").status_code == 200
    for name in ("private.json", "public.json"):
        (place.folder / name).unlink()
    with place.server.client() as client:
        down = client.get("/ui/sign-in/with/company")  # its metadata is remembered
        assert down.status_code == 303
        with place.provider() as provider:
            assert visit(client, provider, "bob").status_code == 200
            assert who(client) == "bob.oidc"


def test_signing_out_ends_the_session_and_the_next_sign_in_begins_another(place: Place) -> None:
    with place.server.client() as client, place.provider() as provider:
        assert visit(client, provider, "bob").status_code == 200
        state = client.get("/api/v1/session").json()
        headers = {"X-CSRF-Token": state["csrf_token"]}
        assert client.post("/api/v1/permalink", json={}).status_code == 403
        assert client.delete("/api/v1/session", headers=headers).status_code == 200
        assert client.get("/api/v1/session").status_code == 401
        assert visit(client, provider, "bob").status_code == 200
        listed = client.get("/api/v1/session/list").json()
        assert [one["is_current"] for one in listed].count(True) == 1
