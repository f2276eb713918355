"""Users, teams, tokens, the license and the audit log over HTTPS."""

import secrets
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc import jwt
from joserfc.jwk import OKPKey

from tests.support.served import Server, hire
from vedette.errors import BadRequestError
from vedette.model.principal import Role
from vedette.state.accounts import license as licenses


def new_name() -> str:
    return f"user-{secrets.token_hex(6)}"


def test_a_user_is_created_changed_and_deleted(analyst: httpx.Client) -> None:
    name = new_name()
    body = {
        "username": name.upper(),
        "first_name": "Bo",
        "last_name": "B",
        "email": "b@example.org",
    }
    made = analyst.post("/api/user", json=body | {"password": "a long password", "teams": []})
    assert made.json()["result"] == "success"
    user = analyst.get(f"/api/user/{name}").json()
    assert (user["username"], user["first_name"], user["teams"]) == (name, "Bo", [])
    assert "a long password" not in made.text
    assert analyst.post("/api/user", json=body).status_code == 409
    changed = analyst.put(f"/api/user/{name}", json=user | {"first_name": "Bob"})
    assert changed.json()["first_name"] == "Bob"
    assert analyst.delete(f"/api/user/{name}").json() == {"result": "success"}
    assert analyst.get(f"/api/user/{name}").status_code == 404


def test_a_disabled_user_is_out_at_once(server: Server, analyst: httpx.Client) -> None:
    name = new_name()
    token = hire(server, name, {1: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.get("/api/info").status_code == 200
        analyst.put(f"/api/user/{name}", json={"enabled": False})
        assert client.get("/api/info").status_code == 401


def test_a_user_reads_themselves_and_nobody_else(server: Server) -> None:
    name = new_name()
    token = hire(server, name, {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.get(f"/api/user/{name}").json()["username"] == name
        assert client.get("/api/user/admin").status_code == 404
        assert client.get("/api/users").status_code == 403


def test_nobody_raises_themselves(server: Server) -> None:
    name = new_name()
    token = hire(server, name, {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        tries = (
            ("PUT", f"/api/user/{name}", {"global_admin": True}),
            ("POST", "/api/user", {"username": new_name(), "global_admin": True}),
            ("POST", "/api/team", {"name": new_name(), "group_access": []}),
            ("PUT", "/api/team/1", {"group_access": []}),
            ("POST", "/api/v1/token", {"user": "admin"}),
            ("POST", "/api/v1/token", {"group_id": 1}),
            ("POST", "/api/v1/token", {"expires_days": 0}),
            ("PATCH", "/api/v1/approvedlist/enabled", {"state": True}),
        )
        answers = [client.request(method, path, json=body) for method, path, body in tries]
    assert {answer.status_code for answer in answers} <= {400, 403}


def test_the_last_administrator_stays(analyst: httpx.Client) -> None:
    assert analyst.put("/api/user/admin", json={"global_admin": False}).status_code == 409
    assert analyst.delete("/api/user/admin").status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"username": ""},
        {"username": "a b"},
        {"username": "x", "password": "short"},
        {"username": "x", "teams": ["1x"]},
        {"username": "x", "teams": [999_999]},
        {"username": "x", "global_admin": "yes"},
        {"username": "x", "wheel": True},
        {"username": ["x"]},
    ],
)
def test_a_bad_user_is_refused(analyst: httpx.Client, body: dict[str, object]) -> None:
    assert analyst.post("/api/user", json=body).status_code == 400


def test_a_team_gives_roles_and_takes_them(server: Server, analyst: httpx.Client) -> None:
    name = new_name()
    access = [{"group_id": 1, "access_category": "Analyst", "group_name": "Default Group"}]
    team = analyst.post("/api/team", json={"name": name, "group_access": access}).json()
    assert team["group_access"] == access
    assert analyst.get(f"/api/team/{team['id']}").json() == team
    user = new_name()
    analyst.post("/api/user", json={"username": user, "teams": [{"id": team["id"]}]})
    secret = analyst.post("/api/v1/token", json={"user": user}).json()["secret"]
    with server.client(**{"X-Auth-Token": secret}) as client:
        assert client.get("/api/v1/banning/bannedlist").status_code == 200
        none = [{"group_id": 1, "access_category": "No Access"}]
        analyst.put(f"/api/team/{team['id']}", json={"group_access": none})
        assert client.get("/api/v1/banning/bannedlist").status_code == 403
    assert analyst.delete(f"/api/team/{team['id']}").json() == {"result": "success"}
    assert analyst.get(f"/api/team/{team['id']}").status_code == 404


def test_a_token_is_shown_once_used_and_revoked(server: Server) -> None:
    name = new_name()
    token = hire(server, name, {1: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        issued = client.post("/api/v1/token", json={"name": "script", "expires_days": 3}).json()
        listed = client.get("/api/v1/token").json()
        assert {one["holder"] for one in listed} == {name}
        assert issued["secret"] not in str(listed)
        with server.client(**{"X-Auth-Token": issued["secret"]}) as other:
            assert other.get("/api/info").status_code == 200
            revoked = client.delete(f"/api/v1/token/{issued['id']}")
            assert revoked.json() == {"result": "success"}
            assert other.get("/api/info").status_code == 401


def test_a_token_of_somebody_else_does_not_exist(server: Server, analyst: httpx.Client) -> None:
    token = hire(server, new_name(), {1: Role.ADMINISTRATOR})
    theirs = analyst.post("/api/v1/token", json={"name": "mine"}).json()["id"]
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.delete(f"/api/v1/token/{theirs}").status_code == 404
        assert client.get("/api/v1/token", params={"user": "admin"}).status_code == 403


def test_the_audit_log_names_who_did_what(analyst: httpx.Client) -> None:
    name = new_name()
    analyst.post("/api/user", json={"username": name})
    made = analyst.get("/api/v1/audit", params={"kind": "user", "target": name}).json()
    (entry,) = made["results"]
    assert (entry["author"], entry["action"], entry["author_kind"]) == ("admin", "create", "user")
    assert entry["address"] == "127.0.0.1"
    assert entry["request_id"]
    assert made["head"]["number"] >= entry["number"]


def test_the_audit_log_is_exported_without_formulas(analyst: httpx.Client) -> None:
    name = f"=cmd-{secrets.token_hex(4)}"
    analyst.post("/api/team", json={"name": name, "group_access": []})
    query = {"target": name, "format": "csv"}
    lines = analyst.get("/api/v1/audit", params=query).text.splitlines()
    assert lines[0].startswith("number,timestamp")
    assert f"'{name}" in lines[1]
    query["format"] = "ndjson"
    assert len(analyst.get("/api/v1/audit", params=query).text.splitlines()) == 1


@pytest.mark.parametrize(
    "query", [{"from": "yesterday"}, {"rows": "all"}, {"format": "xml"}, {"start": "-1"}]
)
def test_a_bad_question_to_the_audit_log_is_refused(
    analyst: httpx.Client, query: dict[str, str]
) -> None:
    assert analyst.get("/api/v1/audit", params=query).status_code == 400


def test_a_server_without_a_license_says_so_and_works(analyst: httpx.Client) -> None:
    status = analyst.get("/api/license").json()
    assert status["license_valid"] is False
    assert status["license_end_date"] == "9999-12-31"
    assert status["license_request_block"]
    assert analyst.get("/api/v1/license").json() == status
    assert analyst.post("/api/license", json={"license": "a.b.c"}).status_code == 400
    assert analyst.post("/api/v1/license", json={}).status_code == 400


def test_a_license_is_checked(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    token = licenses.issue(private, "server-1", 500, "2020-01-31")
    found = licenses.checked(token, public, "server-1")
    assert (found.sensors, found.end_us) == (500, 1_580_515_199_000_000)
    with pytest.raises(BadRequestError, match="another server"):
        licenses.checked(token, public, "server-2")
    for claims in ({"exp": 10**15}, {"exp": -1}, {"sensors": True}, {"sensors": "5"}):
        signing = OKPKey.import_key(private.read_bytes())
        bad = jwt.encode(
            {"alg": "Ed25519"}, {"aud": "*", "sensors": 5} | claims, signing, algorithms=["Ed25519"]
        )
        with pytest.raises(BadRequestError, match="has no sensor count"):
            licenses.checked(bad, public, "server-1")
    other = Ed25519PrivateKey.generate().public_key()
    public.write_bytes(
        other.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    with pytest.raises(BadRequestError, match="signature"):
        licenses.checked(token, public, "server-1")
    head, body, _ = token.split(".")
    with pytest.raises(BadRequestError):
        licenses.checked(f"{head}.{body}.", public, "server-1")
    unsigned = "eyJhbGciOiJub25lIn0." + body + "."
    with pytest.raises(BadRequestError):
        licenses.checked(unsigned, public, "server-1")


def test_counts_for_a_dashboard(analyst: httpx.Client) -> None:
    counts = analyst.get("/api/v1/dashboard/statistics").json()
    assert counts["sensor_count"] >= counts["active_sensor_count"] >= 0


def test_the_audit_log_says_whether_it_is_whole_and_who_exported_it(analyst: httpx.Client) -> None:
    name = new_name()
    analyst.post("/api/user", json={"username": name})
    analyst.post("/api/user", json={"username": f"{name}-2"})
    found = analyst.get("/api/v1/audit", params={"object": f"user:{name}", "verify": "true"}).json()
    assert [one["target"] for one in found["results"]] == [name]
    assert found["chain"]["is_whole"] is True
    assert found["chain"]["entries"] >= found["results"][0]["number"]
    assert analyst.get("/api/v1/audit", params={"rows": "1"}).json()["chain"] is None
    assert analyst.get("/api/v1/audit", params={"object": name}).status_code == 400
    exported = analyst.get("/api/v1/audit", params={"format": "ndjson", "target": name})
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert len(exported.text.splitlines()) == 2
    asked = {"object": "audit log:ndjson", "rows": "1"}
    (entry,) = analyst.get("/api/v1/audit", params=asked).json()["results"]
    assert (entry["action"], entry["author"]) == ("read", "admin")


def test_an_installer_that_is_fetched_is_in_the_audit_log(analyst: httpx.Client) -> None:
    before = analyst.get("/api/v1/audit", params={"kind": "installer"}).json()["total_results"]
    assert analyst.get("/api/v1/group/1/installer/linux").status_code == 200
    found = analyst.get("/api/v1/audit", params={"kind": "installer"}).json()
    assert found["total_results"] == before + 1
    assert found["results"][0]["target"].startswith("linux of ")


def test_a_token_issues_none_that_outlives_it(server: Server, analyst: httpx.Client) -> None:
    short = analyst.post("/api/v1/token", json={"user": "admin", "expires_days": 2}).json()
    path = "/api/v1/token"
    with server.client(**{"X-Auth-Token": short["secret"]}) as client:
        for days in (0, 3, 365):
            for more in ({}, {"user": "admin"}, {"group_id": 1}):
                assert client.post(path, json={"expires_days": days} | more).status_code == 403
        assert client.post(path, json={"expires_days": 1}).status_code == 200
        assert client.post(path, json={}).json()["expires"] == short["expires"]
    assert analyst.post(path, json={"expires_days": 0}).json()["expires"] is None
