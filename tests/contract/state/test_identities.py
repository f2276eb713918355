"""Identity providers and identities, on every database."""

import threading
from typing import Any

import pytest

from vedette.clock import DrivenClock
from vedette.errors import BadRequestError, ConflictError, NotFoundError, UnauthorizedError
from vedette.model.principal import Role
from vedette.state.accounts import (
    identities,
    identity_providers,
    identity_sign_in,
    teams,
    tokens,
    users,
)
from vedette.state.accounts.identity_providers import Change, Provider
from vedette.state.accounts.identity_sign_in import Vouched
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing

NOW_US = 1_800_000_000_000_000
SEALING = Sealing(b"k" * 32)
ISSUER = "https://id.example"


def provider(database: Database, name: str = "company", **change: Any) -> Provider:
    issuer = change.pop("issuer", f"{ISSUER}/{name}")
    new = Change(client_id="console", **change)
    return identity_providers.add(database, SEALING, name, issuer, new, NOW_US)


def test_a_provider_is_kept_with_its_secret_sealed(database: Database) -> None:
    made = provider(database, secret="hidden")
    assert "hidden" not in made.sealed_secret
    assert identity_providers.secret_of(SEALING, made) == "hidden"
    changed = identity_providers.change(
        database, SEALING, made.id, Change(label="Company", secret=""), NOW_US
    )
    assert (changed.label, changed.sealed_secret, changed.client_id) == ("Company", "", "console")
    assert identity_providers.named(database, "company") == changed
    assert not changed.creates_users


def test_the_secret_of_one_provider_does_not_open_as_anothers(database: Database) -> None:
    first, second = provider(database, "one", secret="x1"), provider(database, "two", secret="x2")
    assert identity_providers.secret_of(SEALING, first) == "x1"
    moved = identity_providers.get(database, second.id)
    with pytest.raises(Exception, match="cannot be decrypted"):
        SEALING.open(first.sealed_secret, f"secret of identity provider {moved.id}")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("", {}),
        ("Company", {}),
        ("a/b", {}),
        ("a" * 41, {}),
        ("ok", {"client_id": ""}),
        ("ok", {"client_id": "a b"}),
        ("ok", {"scope": "profile"}),
        ("ok", {"secret": "line\nend"}),
        ("ok", {"issuer": "https://é.example"}),
        ("ok", {"issuer": "https://" + "a" * 500}),
        ("ok", {"label": "\n"}),
        ("ok", {"creates_users": True}),
        ("ok", {"teams": (("*", 999),)}),
    ],
)
def test_bad_values_are_refused(database: Database, name: str, change: dict[str, Any]) -> None:
    given = {"client_id": "console", **change}
    issuer = given.pop("issuer", ISSUER)
    with pytest.raises(BadRequestError):
        identity_providers.add(database, SEALING, name, issuer, Change(**given), NOW_US)
    assert identity_providers.all_providers(database) == []


def test_names_and_issuers_are_taken_once(database: Database) -> None:
    provider(database)
    with pytest.raises(ConflictError):
        provider(database, issuer="https://other.example")
    with pytest.raises(ConflictError):
        provider(database, "second", issuer=f"{ISSUER}/company")


def test_teams_of_values_need_a_claim_and_go_with_their_team(database: Database) -> None:
    team = teams.add(database, "blue", {1: Role.VIEWER})
    with pytest.raises(BadRequestError):
        provider(database, teams=(("soc", team.id),))
    made = provider(
        database, creates_users=True, team_claim="groups", teams=(("soc", team.id), ("*", team.id))
    )
    assert made.teams == (("*", team.id), ("soc", team.id))
    teams.remove(database, team.id)
    assert identity_providers.get(database, made.id).teams == ()
    with pytest.raises(UnauthorizedError) as refused:
        identity_sign_in.admit(
            database, identity_providers.get(database, made.id), Vouched("s"), NOW_US
        )
    assert refused.value.reason == "no_team"


def test_a_subject_is_one_user(database: Database) -> None:
    made = provider(database)
    for name in ("ann", "bob"):
        users.add(database, users.NewUser(name), NOW_US)
    linked = identities.link(database, made.id, "sub", "ANN", NOW_US)
    assert (linked.username, linked.issuer) == ("ann", f"{ISSUER}/company")
    with pytest.raises(ConflictError):
        identities.link(database, made.id, "sub", "bob", NOW_US)
    with pytest.raises(NotFoundError):
        identities.link(database, made.id, "other", "nobody", NOW_US)
    with pytest.raises(NotFoundError):
        identities.link(database, 999, "other", "ann", NOW_US)
    for bad in ("", "a\nb", "x" * 256):
        with pytest.raises(BadRequestError):
            identities.link(database, made.id, bad, "ann", NOW_US)
    found = identity_sign_in.admit(database, made, Vouched("sub"), NOW_US)
    assert (found.username, found.identity_id) == ("ann", linked.id)
    # Subjects are compared as they are: OpenID Connect Core 2.
    with pytest.raises(UnauthorizedError):
        identity_sign_in.admit(database, made, Vouched("SUB"), NOW_US)


def test_a_session_is_good_as_long_as_its_identity(database: Database) -> None:
    made, clock = provider(database), DrivenClock(NOW_US)
    user = users.add(database, users.NewUser("ann"), NOW_US)
    cache = Tokens(database, clock)

    def begun() -> str:
        linked = identities.link(database, made.id, "sub", "ann", NOW_US)
        issued = tokens.begin_session(database, user.id, "browser", NOW_US, linked.id)
        assert cache.authenticate(issued.secret)
        return issued.secret

    by_password = tokens.begin_session(database, user.id, "browser", NOW_US).secret
    secret = begun()
    identities.unlink(database, identities.all_identities(database)[0].id, NOW_US)
    cache.clear_cache()
    assert cache.authenticate(secret) is None
    secret = begun()
    identity_providers.change(database, SEALING, made.id, Change(is_enabled=False), NOW_US)
    cache.clear_cache()
    assert cache.authenticate(secret) is None
    identity_providers.remove(database, made.id, NOW_US)
    cache.clear_cache()
    assert cache.authenticate(by_password)
    assert {one.is_good(NOW_US) for one in tokens.all_tokens(database, "ann")} == {True, False}
    with pytest.raises(NotFoundError):
        identities.unlink(database, 1, NOW_US)


def test_an_attempt_is_spent_once_also_at_once(database: Database) -> None:
    outcomes: list[str] = []

    def spend() -> None:
        try:
            identity_sign_in.spend(database, "the state", NOW_US)
            outcomes.append("")
        except UnauthorizedError as error:
            outcomes.append(error.reason)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [""] + ["sign_in_spent"] * 7
    identity_sign_in.spend(database, "another", NOW_US)


def test_two_first_sign_ins_at_once_make_one_user(database: Database) -> None:
    team = teams.add(database, "blue", {1: Role.VIEWER})
    made = provider(database, creates_users=True, teams=(("*", team.id),))
    found: list[int] = []
    failures: list[Exception] = []

    def admit() -> None:
        try:
            vouched = Vouched("sub", "ann")
            found.append(identity_sign_in.admit(database, made, vouched, NOW_US).user_id)
        except UnauthorizedError as error:
            failures.append(error)

    threads = [threading.Thread(target=admit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) + len(failures) == 4
    assert len(set(found)) == 1
    assert [one.username for one in identities.all_identities(database)] == ["ann"]
