"""Browsers that sign in with an identity of a provider that a test makes lie."""

import json
import secrets
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec

from tests.support.hostile_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    HostileProvider,
)
from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import identities, identity_providers, users
from vedette.state.accounts.identity_providers import Change, Provider
from vedette.state.db.sealing import open_sealing

PUBLIC_URL = "https://edr.example:8443/"


SESSION = "__Host-vedette-session"


ATTEMPT = "__Host-vedette-sign-in"


def known(server: Server, hostile: HostileProvider, **change: Any) -> Provider:
    """The provider as an administrator added it."""
    with state_of(server) as database:
        return identity_providers.add(
            database,
            open_sealing(server.data),
            f"p-{secrets.token_hex(4)}",
            hostile.issuer,
            Change(client_id=CLIENT_ID, secret=CLIENT_SECRET, **change),
            SystemClock().now_us(),
        )


def linked(server: Server, provider: Provider, subject: str = "person") -> str:
    """The name of a new user that a subject is linked to."""
    name, now_us = f"user-{secrets.token_hex(5)}", SystemClock().now_us()
    with state_of(server) as database:
        users.add(database, users.NewUser(name, email=f"{name}@example.test"), now_us)
        identities.link(database, provider.id, subject, name, now_us)
    return name


def browser(server: Server, address: str = "") -> httpx.Client:
    number = secrets.randbelow(2**24)
    own_address = address or f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return server.client(**{"X-Forwarded-For": own_address})


def begin(client: httpx.Client, provider: Provider, next_path: str = "/ui/") -> dict[str, str]:
    """Where a browser is sent to: the parameters."""
    path = f"/ui/sign-in/with/{provider.name}"
    answer = client.get(path, params={"next": next_path})
    assert answer.status_code == 303, answer.text
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    return {name: values[0] for name, values in query.items()}


def finish(
    client: httpx.Client, provider: Provider, state: str, code: str = "a code", **more: str
) -> httpx.Response:
    path = f"/ui/sign-in/with/{provider.name}/callback"
    return client.get(path, params={"code": code, "state": state, **more})


def sign_in(
    client: httpx.Client, hostile: HostileProvider, provider: Provider, next_path: str = "/ui/"
) -> httpx.Response:
    asked = begin(client, provider, next_path)
    hostile.nonce = asked["nonce"]
    return finish(client, provider, asked["state"])


def refused(answer: httpx.Response, words: str = "", status: int = 401) -> None:
    assert answer.status_code == status, answer.text
    assert SESSION not in answer.headers.get("set-cookie", "")
    assert words in answer.text
    assert 'role="alert"' in answer.text


def entries(server: Server, **wanted: str) -> list[dict[str, Any]]:
    with server.analyst() as client:
        found = client.get("/api/v1/audit", params={"rows": "1000", **wanted}).json()["results"]
    return list(found)


def aged(server: Server, cookie: str, seconds: int) -> str:
    """The cookie as if it had been made so long ago."""
    sealing, purpose = open_sealing(server.data), "sign-in with an identity"
    body = msgspec.json.decode(sealing.open(cookie.strip('"'), purpose))
    body["begun_us"] -= seconds * 1_000_000
    return sealing.seal(json.dumps(body), purpose)
