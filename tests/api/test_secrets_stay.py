"""Secrets of every kind, given where they belong and where they do not: none of them is found in
the log, an error, the metrics or the audit trail."""

import base64
import secrets
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.cloud import ORG
from tests.support.commands import done, vedette
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, start_server, wait_for
from vedette.model.principal import Role
from vedette.state.accounts import license as licenses
from vedette.web.http.credentials import SESSION_COOKIE

APP_CONTROL = "/api/v1/settings/global/platformserver"
SMTP = "marked-smtp-" + secrets.token_hex(12)
FORWARDERS = f"/data_forwarder/v2/orgs/{ORG}/configs"
PROVIDER = Ed25519PrivateKey.generate()
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    public = tmp_path_factory.mktemp("provider") / "public.pem"
    public.write_bytes(
        PROVIDER.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    yield from start_server(
        tmp_path_factory.mktemp("secrets"),
        "--set",
        f"license_provider_key={public}",
        "--set",
        "log_level=debug",
        "--set",
        f"smtp_password={SMTP}",
        "--set",
        "smtp_username=mailer",
        "--set",
        "smtp_host=127.0.0.1",
    )


def ok(answer: httpx.Response) -> httpx.Response:
    assert answer.is_success, answer.text
    return answer


@pytest.fixture(scope="module")
def marked(server: Server) -> dict[str, str]:
    """Secrets by kind, each of which the server has accepted or issued in its proper place."""
    kinds = ("password", "feed", "app", "bucket")
    found = {name: f"marked-{name}-{secrets.token_hex(12)}" for name in kinds}
    enrolment = secret_of(server)
    with server.analyst() as client:
        user = {"username": "marked", "first_name": "M", "last_name": "D", "teams": []}
        user |= {"email": "m@example.test", "global_admin": False}
        ok(client.post("/api/user", json=user | {"password": found["password"]}))
        feed = {"feed_url": "https://127.0.0.1:9/feed", "name": "marked", "username": "ann"}
        ok(client.post("/api/v1/feed", json=feed | {"password": found["feed"]}))
        control = {"server_url": "control.example", "auth_token": found["app"]}
        ok(client.post(APP_CONTROL, json=control))
        bucket = {"kind": "s3", "bucket": "marked", "endpoint": "http://127.0.0.1:9"}
        bucket |= {"access_key_id": "AKID", "secret_access_key": found["bucket"]}
        forwarder = {"name": "marked", "types": ["alert"], "destination": bucket}
        made = ok(client.post(FORWARDERS, json=forwarder)).json()
        client.post(f"{FORWARDERS}/{made['id']}/healthcheck")
        api = ok(client.post("/api/v1/token", json={"name": "marked", "user": "marked"})).json()
        ingest = ok(client.post("/api/v1/token", json={"name": "in", "group_id": 1})).json()
        app = ok(client.post("/api/v1/cloud/app", json={"name": "marked"})).json()
    with server.client() as client:
        sent = {"username": "marked", "password": found["password"]}
        session = ok(client.post("/api/v1/session", json=sent)).json()
        (cookie,) = client.cookies.values()
        client.headers["X-CSRF-Token"] = session["csrf_token"]
        proof = {"password": found["password"]}
        totp = ok(client.post("/api/v1/secondfactor", json=proof)).json()
        pair = (app["id"], app["secret"])
        grant = {"grant_type": "client_credentials"}
        access = ok(client.post("/csp/gateway/am/api/auth/token", data=grant, auth=pair)).json()
    license_text, backup_key = licensed(server), backed_up(server)
    with server.client() as client:
        sensor = enrol(client, "marked.corp.example", enrolment)
    return found | {
        "smtp": SMTP,
        "api token": api["secret"],
        "ingest token": ingest["secret"],
        "app secret": app["secret"],
        "access token": access["access_token"],
        "session": cookie,
        "csrf": session["csrf_token"],
        "totp": parse_qs(urlsplit(totp["uri"]).query)["secret"][0],
        "enrolment": enrolment,
        "sensor key": sensor.key,
        "license": license_text,
        "backup key": backup_key,
        "administrator": server.token,
        "first ingest token": server.ingest_token,
    }


def licensed(server: Server) -> str:
    """The text of a license that is in force."""
    private = server.data.with_name("provider.pem")
    private.write_bytes(
        PROVIDER.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    text = licenses.issue(private, "*", 500, "")
    with server.analyst() as client:
        ok(client.post("/api/license", json={"license": text}))
        refused = client.post("/api/license", json={"license": f"{text}x"})
    assert (refused.status_code, text in refused.text) == (400, False)
    return text


def backed_up(server: Server) -> str:
    """The key of an encrypted backup; the same with a wrong one."""
    place, key = server.data.with_name("place"), server.data.with_name("backup-key")
    done("backup", "key", key)
    printed = done("backup", "create", place, "--key", key, "--data", server.data)
    secret, wrong = key.read_text().strip(), server.data.with_name("wrong-key")
    assert secret not in printed
    wrong.write_text(f"{secret}zz\n")
    wrong.chmod(0o600)
    refused = vedette("backup", "list", place, "--key", wrong)
    assert (refused.returncode, secret in refused.stdout + refused.stderr) == (2, False)
    return secret


def misplaced(client: httpx.Client, secret: str) -> Iterator[httpx.Response]:
    """Answers to a secret where none belongs, and to one that is wrong or of another type."""
    basic = base64.b64encode(f"{secret}:{secret}".encode()).decode()
    for headers in (
        {"X-Auth-Token": secret + "x"},
        {"Authorization": f"Bearer {secret}x"},
        {"Authorization": f"Basic {basic}"},
        {"Authorization": f"Strange {secret}"},
        {"Cookie": f"{SESSION_COOKIE}={secret}; {secret}={secret}"},
        {secret.replace(" ", "-")[:60]: secret},
    ):
        yield client.get("/api/v1/sensor", headers=headers)
        yield client.post("/_bulk", headers=headers | JSON, content=b'{"index": {}}\n{}\n')
    yield client.get("/api/v1/process", params={"token": secret})
    yield client.get(f"/nothing/{secret}")
    yield client.put("/healthz", headers={"X-Auth-Token": secret})
    for path in (
        "/api/v1/session",
        "/sensor/v1/enrol",
        "/osquery/enroll",
        "/csp/gateway/am/api/auth/token",
        "/api/v1/feed",
        "/api/user",
        "/api/license",
        FORWARDERS,
        APP_CONTROL,
    ):
        for content in (
            f'{{"password": "{secret}"',
            f'{{"password": ["{secret}"], "enroll_secret": ["{secret}"], "secret": ["{secret}"]}}',
            f'{{"username": "nobody", "password": "{secret}", "secret": "{secret}"}}',
            f'{{"license": "{secret}", "destination": {{"secret_access_key": "{secret}"}}}}',
            f"grant_type=client_credentials&client_id=x&client_secret={secret}x",
        ):
            yield client.post(path, headers=JSON, content=content.encode())


def test_no_secret_is_found_where_others_read(server: Server, marked: dict[str, str]) -> None:
    answers: list[tuple[str, str, str]] = []
    with server.client() as client:
        for kind, secret in marked.items():
            for answer in misplaced(client, secret):
                assert answer.status_code < 500, (kind, answer.text)
                if secret in answer.text or secret in str(answer.headers):
                    request = answer.request
                    answers.append((kind, f"{request.method} {request.url.path}", answer.text))
    assert answers == []
    with server.analyst() as client:
        deadline = time.monotonic() + 20
        while "marked" not in (log := (server.data / "server.log").read_text()):
            assert time.monotonic() < deadline, log[-2_000:]
        places = {
            "log": log.split("This server is new", 1)[-1].partition("{")[2],
            "metrics": ok(client.get("/metrics")).text,
            "audit": ok(client.get("/api/v1/audit", params={"format": "ndjson"})).text,
            "feeds": ok(client.get("/api/v1/feed")).text,
            "users": ok(client.get("/api/users")).text,
            "tokens": ok(client.get("/api/v1/token")).text,
            "app control": ok(client.get(APP_CONTROL)).text,
            "license": ok(client.get("/api/license")).text,
            "forwarders": ok(client.get(FORWARDERS)).text,
        }
    leaks = [
        (kind, place, text[max(0, text.index(secret) - 200) :][:300])
        for kind, secret in marked.items()
        for place, text in places.items()
        if secret in text
    ]
    assert leaks == []
    assert "marked" in places["audit"]
    assert "/nothing/" in places["log"]


def test_a_code_of_the_second_factor_is_not_logged(server: Server, marked: dict[str, str]) -> None:
    code = pyotp.TOTP(marked["totp"]).now()
    sent = {"username": "marked", "password": marked["password"], "code": code}
    with server.client() as client:
        client.post("/api/v1/session", json=sent)
    assert f'"{code}"' not in (server.data / "server.log").read_text()


def test_a_key_in_the_address_of_a_feed_is_for_administrators(server: Server) -> None:
    """Many publishers want it there. What cannot be fetched is told with the address."""
    key = f"marked-{secrets.token_hex(12)}"
    feed = {
        "name": "keyed",
        "feed_url": f"https://127.0.0.1:9/feed.json?key={key}",
        "enabled": True,
    }
    with server.analyst() as client:
        path = f"/api/v1/feed/{ok(client.post('/api/v1/feed', json=feed)).json()['id']}"
        ok(client.post(f"{path}/synchronize", json={}))
        assert wait_for(lambda: bool(client.get(path).json()["last_error"]), True, 60)
        shown = ok(client.get(path)).json()
        assert shown["feed_url"].endswith(key)
        assert shown["last_error"].startswith("https://127.0.0.1:9/feed.json?...: ")
        other = {"feed_url": f"https://127.0.0.1:9/feed.json?key=other-{key}"}
        ok(client.put(path, json=other))
        changed, *_ = ok(client.get("/api/v1/audit?object=feed:keyed")).json()["results"]
        assert changed["before"] == {"feed_url": "https://127.0.0.1:9/feed.json?..."}
        assert changed["after"] == {"feed_url": "(changed)"}
        tried = client.post("/api/v1/feed/preview", json=feed | other)
        assert key not in tried.text
        read = [client.get("/api/v1/audit?rows=1000").text, client.get("/metrics").text]
        assert not any(key in one for one in read)
    token = hire(server, "feed-viewer", {1: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        for of in (
            "/api/v1/feed",
            path,
            f"{path}/errors",
            path.replace("/api/v1/feed", "/ui/feeds"),
        ):
            assert key not in ok(viewer.get(of)).text, of
        assert ok(viewer.get(path)).json()["feed_url"] == "https://127.0.0.1:9/feed.json?..."
    assert key not in (server.data / "server.log").read_text()
