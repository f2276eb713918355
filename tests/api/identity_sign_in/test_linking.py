"""Whom an identity is: links, users that providers make, and what ends with them."""

import secrets
import time

import httpx
import pytest

from tests.support.hostile_provider import (
    CLIENT_SECRET,
    HostileProvider,
    hostile_provider,
)
from tests.support.identity_sign_in import (
    ATTEMPT,
    SESSION,
    begin,
    browser,
    entries,
    finish,
    known,
    linked,
    refused,
    sign_in,
)
from tests.support.served import Server, state_of
from vedette.model.principal import Role
from vedette.state.accounts import teams

pytestmark = pytest.mark.xdist_group("identity sign-in")


def test_answers_of_two_providers_are_not_mixed_up(own: Server, hostile: HostileProvider) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    with hostile_provider() as second, browser(own) as client:
        other = known(own, second)
        asked = begin(client, provider)
        refused(finish(client, other, asked["state"]), "in another browser")
        asked = begin(client, provider)
        hostile.nonce = asked["nonce"]
        refused(finish(client, provider, asked["state"], iss=second.issuer))
        assert hostile.codes == second.codes == []
        asked = begin(client, provider)
        hostile.nonce = asked["nonce"]
        answer = finish(client, provider, asked["state"], iss=hostile.issuer)
        assert answer.status_code == 200


def test_a_subject_of_another_issuer_is_somebody_else(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    name = linked(own, provider)
    with hostile_provider() as second, browser(own) as client:
        other = known(own, second)
        second.claims = {"email": f"{name}@example.test", "preferred_username": name}
        refused(sign_in(client, second, other), "No user is linked")
        # And a token that claims the first issuer is not of the second.
        second.claims = {"iss": hostile.issuer}
        refused(sign_in(client, second, other))
    (entry, *_) = [
        one
        for one in entries(own, kind="sign-in", target=other.name)
        if one["after"]["refused"] == "identity_unknown"
    ]
    assert entry["target"] == f"{other.name}/person"


def test_nobody_gets_a_user_by_themselves_unless_the_provider_makes_users(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    fresh = f"fresh-{secrets.token_hex(4)}"
    hostile.claims = {"preferred_username": fresh, "groups": ["*", "admins"]}
    with browser(own) as client:
        refused(sign_in(client, hostile, provider), "No user is linked")
    with own.analyst() as client:
        assert client.get(f"/api/user/{fresh}").status_code == 404


def test_a_user_that_is_made_has_the_teams_of_the_claims_and_no_more(
    own: Server, hostile: HostileProvider
) -> None:
    mark = secrets.token_hex(4)
    with state_of(own) as database:
        viewing, acting, apart = (
            teams.add(database, f"{name} {mark}", {1: role}).id
            for name, role in (
                ("viewing", Role.VIEWER),
                ("acting", Role.ANALYST),
                ("apart", Role.ADMINISTRATOR),
            )
        )
    provider = known(
        own,
        hostile,
        creates_users=True,
        team_claim="groups",
        teams=(("staff", viewing), ("soc", acting)),
    )
    hostile.subject, name = f"s-{mark}", f"made-{mark}"
    hostile.claims = {
        **{"preferred_username": name, "given_name": "Ann", "email": "ann@example.test"},
        **{"groups": ["staff", "soc", "apart", "*"], "global_admin": True, "teams": [apart]},
    }
    with browser(own) as client:
        assert sign_in(client, hostile, provider).status_code == 200
        state = client.get("/api/v1/session").json()
        assert (state["username"], state["global_admin"]) == (name, False)
        assert [one["access_category"] for one in state["groups"]] == ["Analyst"]

        with own.analyst() as admin:
            made = admin.get(f"/api/user/{name}").json()
            assert (made["first_name"], made["has_password"]) == ("Ann", False)
            # A team that an administrator gave stays, whatever the claims say later.
            given = [*(one["id"] for one in made["teams"]), apart]
            admin.put(f"/api/user/{name}", json={"teams": given}).raise_for_status()
        hostile.claims["groups"] = "staff"
        assert sign_in(client, hostile, provider).status_code == 200
        with own.analyst() as admin:
            now = {one["id"] for one in admin.get(f"/api/user/{name}").json()["teams"]}
        assert now == {viewing, apart}
        # Without any of them nobody is let in, and the sessions that are left see nothing of them.
        hostile.claims["groups"] = []
        refused(sign_in(client, hostile, provider), "does not belong to a team")
        with own.analyst() as admin:
            now = {one["id"] for one in admin.get(f"/api/user/{name}").json()["teams"]}
        assert now == {apart}


@pytest.mark.parametrize("claimed", ["admin", "ADMIN"])
def test_a_claimed_name_of_another_user_is_not_given(
    own: Server, hostile: HostileProvider, claimed: str
) -> None:
    with state_of(own) as database:
        team = teams.add(database, f"team {secrets.token_hex(4)}", {1: Role.VIEWER})
    provider = known(own, hostile, creates_users=True, teams=(("*", team.id),))
    hostile.claims = {"preferred_username": claimed}
    with browser(own) as client:
        refused(sign_in(client, hostile, provider), "has this user name")
        hostile.claims = {"preferred_username": "a b\u202ec"}
        refused(sign_in(client, hostile, provider), "incomplete user data")
        hostile.claims, hostile.subject = {"preferred_username": 7}, "unnamed"
        assert sign_in(client, hostile, provider).status_code == 200
        assert client.get("/api/v1/session").json()["username"].startswith(provider.name)


def test_sessions_end_with_the_identity_its_user_and_its_provider(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)

    def ended(client: httpx.Client) -> bool:
        deadline = time.monotonic() + 20
        while client.get("/api/v1/session").status_code != 401:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    with own.analyst() as admin, browser(own) as client:
        name = linked(own, provider)
        assert sign_in(client, hostile, provider).status_code == 200
        listed = admin.get("/api/v1/identity").json()
        (identity,) = [one for one in listed if one["username"] == name]
        assert (identity["issuer"], identity["subject"]) == (hostile.issuer, "person")
        assert identity["last_used"]
        admin.delete(f"/api/v1/identity/{identity['id']}").raise_for_status()
        assert ended(client)
        refused(sign_in(client, hostile, provider), "No user is linked")

        name = linked(own, provider)
        assert sign_in(client, hostile, provider).status_code == 200
        admin.put(f"/api/user/{name}", json={"enabled": False}).raise_for_status()
        assert ended(client)
        refused(sign_in(client, hostile, provider), "is disabled")
        admin.put(f"/api/user/{name}", json={"enabled": True}).raise_for_status()

        assert sign_in(client, hostile, provider).status_code == 200
        path = f"/api/v1/identity_provider/{provider.id}"
        admin.put(path, json={"enabled": False}).raise_for_status()
        assert ended(client)
        assert client.get(f"/ui/sign-in/with/{provider.name}").status_code == 404
        assert provider.name not in client.get("/ui/sign-in").text
        admin.put(path, json={"enabled": True}).raise_for_status()
        assert client.get("/api/v1/session").status_code == 401
        assert provider.name in client.get("/ui/sign-in").text

        assert sign_in(client, hostile, provider).status_code == 200
        admin.delete(path).raise_for_status()
        assert ended(client)
        assert admin.get(f"/api/user/{name}").status_code == 200


def test_neither_codes_nor_tokens_nor_secrets_reach_the_log_or_the_audit(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    code = "marked-code-" + secrets.token_hex(8)
    with browser(own) as client:
        asked = begin(client, provider)
        hostile.nonce = asked["nonce"]
        attempt = client.cookies[ATTEMPT].strip('"')
        answer = finish(client, provider, asked["state"], code)
        assert answer.status_code == 200
        session = client.cookies[SESSION]
        again = finish(client, provider, asked["state"], code)
    assert code not in answer.text + again.text
    marked = [code, session, attempt, asked["state"], asked["nonce"], CLIENT_SECRET]
    marked += [hostile.codes[0]["code_verifier"], "marked-access-token", hostile.signed()[:60]]
    log = (own.data / "server.log").read_text()
    with own.analyst() as client:
        audit = client.get("/api/v1/audit", params={"format": "ndjson"}).text
        shown = client.get("/api/v1/identity_provider").text
        metrics = client.get("/metrics").text
    for text in marked:
        assert [
            name
            for name, place in (
                ("log", log),
                ("audit", audit),
                ("api", shown),
                ("metrics", metrics),
            )
            if text in place
        ] == []
    assert '"has_secret":true' in shown.replace(" ", "")


def test_the_secret_is_sealed_on_the_disk(own: Server, hostile: HostileProvider) -> None:
    provider = known(own, hostile)
    assert provider.sealed_secret.startswith("v1:")
    for file in own.data.glob("state.db*"):
        assert CLIENT_SECRET.encode() not in file.read_bytes()
