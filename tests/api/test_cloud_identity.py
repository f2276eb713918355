"""The identity platform: tokens of apps and users, what ends them, and guessing."""

import base64
import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from tests.support.cloud import access_token, client_of, make_app
from tests.support.served import Server, hire, start_server, state_of, wait_for
from vedette.model.principal import Role
from vedette.state.accounts import audit_trail
from vedette.state.accounts.app_guesses import APP_GUESSES_OF_ADDRESS_MAX

TOKEN = "/csp/gateway/am/api/auth/token"
AUTHORIZE = "/csp/gateway/am/api/auth/api-tokens/authorize"
APPS, ROLES = "/api/v1/cloud/app", "/api/v1/cloud/role"
PROBE = "/api/alerts/v7/orgs/VEDETTE/alerts/_search"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own: guessing locks out the address of all tests."""
    yield from start_server(tmp_path_factory.mktemp("guarded"))


def made(answer: httpx.Response) -> dict:  # type: ignore[type-arg]
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_token_of_an_app_is_a_jwt_that_its_public_key_proves(server: Server) -> None:
    app = make_app(server, "proved", "org.kits:EXECUTE", "device READ", ttl_s=600)
    body = made(access_token(server, app))
    assert body["expires_in"] == 600
    assert body["token_type"] == "bearer"
    assert set(body["scope"].split()) == {"_API.Device:org.Kits:execute", "_API.Device:device:read"}
    with server.client() as client:
        keys = KeySet.import_key_set(client.get("/.well-known/jwks.json").json())
    token = jwt.decode(body["access_token"], keys, algorithms=["ES256"])
    assert token.claims["exp"] - token.claims["iat"] == 600
    assert all("d" not in key.as_dict(private=None) for key in keys.keys)


def test_the_default_lifetime_of_a_token_is_half_an_hour(server: Server) -> None:
    app = make_app(server, "usual", "device:read")
    assert made(access_token(server, app))["expires_in"] == 1800


def test_id_and_secret_may_stand_in_the_form(server: Server) -> None:
    app = make_app(server, "in form", "device:read")
    form = {"grant_type": "client_credentials", "client_id": app.id, "client_secret": app.secret}
    with server.client() as client:
        assert made(client.post(TOKEN, data=form))["access_token"]


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({}, 400),
        ({"grant_type": "password"}, 400),
        ({"grant_type": "client_credentials", "client_id": "x"}, 400),
        ({"grant_type": "client_credentials", "client_id": "x", "client_secret": "y"}, 401),
    ],
)
def test_what_is_no_request_for_a_token_is_refused(
    server: Server, form: dict[str, str], status: int
) -> None:
    with server.client() as client:
        answer = client.post(TOKEN, data=form)
    assert answer.status_code == status
    assert answer.json()["message"]


def test_a_form_of_a_gigabyte_is_refused_unread(server: Server) -> None:
    with server.client() as client:
        answer = client.post(TOKEN, content=b"a=" + b"x" * 2_000_000)
    assert answer.status_code == 413


def test_an_app_calls_with_each_of_the_three_headers(server: Server) -> None:
    app = make_app(server, "three ways", "device:read")
    key = make_app(server, "one way", "device:read", kind="key")
    token = made(access_token(server, app))["access_token"]
    path = "/appservices/v6/orgs/VEDETTE/devices/_search"
    for headers in (
        {"Authorization": f"Bearer {token}"},
        {"X-Auth-Token": f"{app.secret}/{app.id}"},
        {"X-Auth-Token": f"{key.secret}/{key.id}"},
    ):
        with server.client(**headers) as client:
            assert client.post(path, json={}).status_code == 200
        # Something is added to the secret, or to the parts of the token.
        broken = {
            name: text.replace("/", "0/").replace(".", "0.") for name, text in headers.items()
        }
        with server.client(**broken) as client:
            assert client.post(path, json={}).status_code == 401


def test_a_native_key_gets_no_access_tokens(server: Server) -> None:
    key = make_app(server, "native", "device:read", kind="key")
    assert access_token(server, key).status_code == 401


def test_an_access_token_calls_nothing_of_the_server_api(server: Server) -> None:
    app = make_app(server, "no server api", "device:read", "org.alerts:read")
    token = made(access_token(server, app))["access_token"]
    for headers in ({"Authorization": f"Bearer {token}"}, {"X-Auth-Token": app.auth_token}):
        with server.client(**headers) as client:
            for path in ("/api/info", "/api/v1/sensor", "/api/v1/cloud/app", "/metrics"):
                assert client.get(path).status_code == 403


@pytest.mark.parametrize(
    "change",
    ["signature", "algorithm none", "other key", "payload", "garbage"],
)
def test_a_token_that_is_not_ours_is_401(server: Server, change: str) -> None:
    app = make_app(server, f"forged {change}", "device:read")
    token = made(access_token(server, app))["access_token"]
    header, payload, signature = token.split(".")

    def encoded(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    forged = {
        "signature": f"{header}.{payload}.{signature[:-4]}AAAA",
        "algorithm none": f"{encoded({'alg': 'none', 'typ': 'JWT'})}.{payload}.",
        "other key": f"{encoded({'alg': 'ES256', 'kid': 'nobody'})}.{payload}.{signature}",
        "payload": f"{header}.{encoded(claims | {'exp': 9_999_999_999})}.{signature}",
        "garbage": "a.b.c",
    }[change]
    with server.client(Authorization=f"Bearer {forged}") as client:
        assert client.get("/api/info").status_code == 401
    with server.client(Authorization=f"Bearer {token}") as client:
        assert client.get("/api/info").status_code == 403


def test_an_app_is_managed_by_administrators_and_its_secret_shown_once(
    server: Server, analyst: httpx.Client
) -> None:
    role = made(
        analyst.post(
            ROLES,
            json={"name": "reader", "permissions": ["_API.Device:device:read"], "groups": [1]},
        )
    )
    assert role["permissions"] == ["device:read"]
    assert role["groups"] == [1]
    new = {"name": "managed", "description": "<b>x</b>", "token_ttl_s": 60, "roles": [role["id"]]}
    app = made(analyst.post(APPS, json=new))
    place = f"{APPS}/{app['id']}"
    assert len(app["secret"]) == 40
    assert "secret" not in made(analyst.get(place))
    changed = made(analyst.put(place, json={"token_ttl_s": 120, "org_role": "owner"}))
    assert (changed["token_ttl_s"], changed["org_role"]) == (120, "owner")
    assert analyst.post(APPS, json=new).status_code == 409
    assert analyst.put(place, json={"token_ttl_s": 5}).status_code == 400
    assert analyst.put(place, json={"roles": [987654]}).status_code == 400
    unknown = {"name": "r", "permissions": ["device:fly"]}
    assert analyst.post(ROLES, json=unknown).status_code == 400
    assert analyst.delete(f"{ROLES}/{role['id']}").status_code == 200
    assert made(analyst.get(place))["permissions"] == []
    assert analyst.delete(place).status_code == 200
    assert analyst.get(place).status_code == 404
    with state_of(server) as database:
        _, found = audit_trail.search(database, audit_trail.Search(kind="cloud app", rows=100))
    entries = [one for one in found if one.target == "managed"]
    assert {one.action for one in entries} == {"create", "change", "delete"}
    assert app["secret"] not in repr(entries)


def test_a_new_secret_ends_the_old_one_and_its_tokens(
    server: Server, analyst: httpx.Client
) -> None:
    app = make_app(server, "renewed", "device:read")
    token = made(access_token(server, app))["access_token"]
    with server.client(Authorization=f"Bearer {token}") as client:
        assert client.get("/api/info").status_code == 403
        made(analyst.post(f"{APPS}/{app.id}/secret"))
        assert client.get("/api/info").status_code == 401
    with client_of(server, app) as client:
        assert client.get("/api/info").status_code == 401
    assert access_token(server, app).status_code == 401


def test_an_app_that_is_switched_off_has_no_tokens(server: Server, analyst: httpx.Client) -> None:
    app = make_app(server, "switched", "device:read")
    token = made(access_token(server, app))["access_token"]
    made(analyst.put(f"{APPS}/{app.id}", json={"enabled": False}))
    with server.client(Authorization=f"Bearer {token}") as client:
        assert client.get("/api/info").status_code == 401
    assert access_token(server, app).status_code == 401


def test_the_access_token_of_a_user_ends_with_their_api_token(
    server: Server, analyst: httpx.Client
) -> None:
    secret = hire(server, "token-swapper", {1: Role.VIEWER})
    with server.client() as client:
        body = made(client.post(AUTHORIZE, data={"api_token": secret}))
        assert "_API.Alert:org.alerts:read" in body["scope"].split()
        assert "_API.Device:org.Kits:execute" not in body["scope"].split()
        assert client.post(AUTHORIZE, data={"refresh_token": "0" * 40}).status_code == 401
    with server.client(Authorization=f"Bearer {body['access_token']}") as client:
        assert client.get("/api/info").status_code == 200
        (token,) = [
            one for one in analyst.get("/api/v1/token").json() if one["holder"] == "token-swapper"
        ]
        assert analyst.delete(f"/api/v1/token/{token['id']}").status_code == 200
        assert wait_for(lambda: client.get("/api/info").status_code, 401) == 401
        with server.client() as other:
            assert other.post(AUTHORIZE, data={"api_token": secret}).status_code == 401


def test_a_burst_of_wrong_secrets_is_locked_out_at_the_limit(guarded: Server) -> None:
    app = make_app(guarded, "guessed", "device:read")
    assert access_token(guarded, app).status_code == 200

    def guess(_: int) -> int:
        with guarded.client() as client:
            return client.post(
                TOKEN,
                data={"grant_type": "client_credentials"},
                auth=(app.id, secrets.token_hex(20)),
            ).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(guess, range(3 * APP_GUESSES_OF_ADDRESS_MAX)))
    assert statuses.count(401) == APP_GUESSES_OF_ADDRESS_MAX
    assert statuses.count(429) == 2 * APP_GUESSES_OF_ADDRESS_MAX
    late = access_token(guarded, app)
    assert (late.status_code, late.json()["reason"]) == (429, "locked_out")
    with client_of(guarded, app) as client:
        assert client.get("/api/info").status_code == 429
    other = make_app(guarded, "neighbour", "device:read")
    made(access_token(guarded, other))
