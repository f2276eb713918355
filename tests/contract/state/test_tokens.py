"""Tokens and what their holders may see, on both databases."""

from collections.abc import Callable

import pytest

from vedette import limits
from vedette.clock import DrivenClock
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.host import Sighting
from vedette.model.principal import Principal, Role
from vedette.model.scope import EVERYTHING, Scope
from vedette.state.accounts import teams, tokens, users
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import NewToken, Tokens
from vedette.state.accounts.users import NewUser, UserChanges
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.host_registry import Sensors
from vedette.state.start import FirstCredentials

NOW_US = 1_700_000_000_000_000
DAY_S = 24 * 3600


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock(NOW_US)


@pytest.fixture
def token_cache(database: Database, clock: DrivenClock) -> Tokens:
    return Tokens(database, clock)


def _user_token(database: Database, name: str, role: Role, expires_us: int = 0) -> tokens.Issued:
    team = teams.add(database, f"team of {name}", {groups.DEFAULT_GROUP_ID: role})
    user = users.add(database, NewUser(name, team_ids=(team.id,)), NOW_US)
    return tokens.issue(database, NewToken("api", user_id=user.id, expires_us=expires_us), NOW_US)


def test_a_secret_is_40_hex_digits_and_only_its_hash_is_kept(
    database: Database, first: FirstCredentials
) -> None:
    secret = first.api_token.secret
    assert len(secret) == 40
    assert bytes.fromhex(secret)
    with database.reading() as connection:
        kept = connection.exec_driver_sql("SELECT * FROM token").all()
    assert secret not in str(kept)


def test_an_api_token_acts_as_its_user_with_the_roles_of_its_teams(
    database: Database, token_cache: Tokens
) -> None:
    issued = _user_token(database, "alice", Role.ANALYST)
    assert token_cache.authenticate(issued.secret) == Principal(
        "user",
        "alice",
        issued.id,
        roles=((groups.DEFAULT_GROUP_ID, Role.ANALYST),),
        role_everywhere=Role.ANALYST,
    )


def test_a_role_everywhere_ends_with_a_group_that_it_does_not_hold_in(
    database: Database, token_cache: Tokens
) -> None:
    issued = _user_token(database, "alice", Role.ANALYST)
    groups.add(database, "made later")
    principal = token_cache.authenticate(issued.secret)
    assert principal is not None
    assert principal.role_everywhere is Role.NONE


def test_of_several_teams_the_highest_role_counts(database: Database, token_cache: Tokens) -> None:
    issued = _user_token(database, "alice", Role.VIEWER)
    higher = teams.add(database, "higher", {groups.DEFAULT_GROUP_ID: Role.ADMINISTRATOR})
    mine = users.get(database, "alice").teams[0][0]
    users.change(database, "alice", UserChanges(team_ids=(mine, higher.id)))
    principal = token_cache.authenticate(issued.secret)
    assert principal is not None
    assert principal.role_in(groups.DEFAULT_GROUP_ID) is Role.ADMINISTRATOR


@pytest.mark.parametrize("secret", ["", "x", "0" * 40, "ä\0", "\ud800"])
def test_an_unknown_secret_is_nobody(token_cache: Tokens, secret: str) -> None:
    assert token_cache.authenticate(secret) is None


def test_an_id_with_the_secret_must_be_its_own(
    token_cache: Tokens, first: FirstCredentials
) -> None:
    ingest, other = first.ingest_token, first.api_token
    assert token_cache.authenticate(ingest.secret, ingest.id) is not None
    assert token_cache.authenticate(ingest.secret, other.id) is None


def test_a_token_ends_when_it_expires(
    database: Database, token_cache: Tokens, clock: DrivenClock
) -> None:
    issued = _user_token(database, "alice", Role.VIEWER, expires_us=NOW_US + 500_000)
    assert token_cache.authenticate(issued.secret) is not None
    clock.advance(0.5)
    assert token_cache.authenticate(issued.secret) is None


def test_a_token_ends_after_a_year_where_nobody_says_otherwise(
    database: Database, token_cache: Tokens, clock: DrivenClock
) -> None:
    new = NewToken("ingest", group_id=groups.DEFAULT_GROUP_ID)
    secret = tokens.issue(database, new, NOW_US).secret
    clock.advance(364 * DAY_S)
    assert token_cache.authenticate(secret) is not None
    clock.advance(DAY_S)
    assert token_cache.authenticate(secret) is None


def test_a_revocation_here_is_in_force_at_once(
    database: Database, token_cache: Tokens, first: FirstCredentials
) -> None:
    assert token_cache.authenticate(first.ingest_token.secret) is not None
    token_cache.revoke(first.ingest_token.id)
    assert token_cache.authenticate(first.ingest_token.secret) is None


def test_a_revocation_elsewhere_is_in_force_within_a_second(
    another: Callable[[], Database],
    token_cache: Tokens,
    clock: DrivenClock,
    first: FirstCredentials,
) -> None:
    assert token_cache.authenticate(first.ingest_token.secret) is not None
    tokens.revoke(another(), first.ingest_token.id, NOW_US)
    clock.advance(limits.TOKEN_STALE_US / 1_000_000)
    assert token_cache.authenticate(first.ingest_token.secret) is None


def test_a_clock_that_goes_back_does_not_keep_a_token_alive(
    another: Callable[[], Database],
    token_cache: Tokens,
    clock: DrivenClock,
    first: FirstCredentials,
) -> None:
    assert token_cache.authenticate(first.ingest_token.secret) is not None
    tokens.revoke(another(), first.ingest_token.id, NOW_US)
    clock.advance(-DAY_S)
    assert token_cache.authenticate(first.ingest_token.secret) is None


def test_the_tokens_of_a_disabled_user_are_nobody_until_the_user_is_enabled(
    database: Database, token_cache: Tokens
) -> None:
    issued = _user_token(database, "alice", Role.VIEWER)
    users.change(database, "alice", UserChanges(is_enabled=False))
    assert token_cache.authenticate(issued.secret) is None
    users.change(database, "alice", UserChanges(is_enabled=True))
    token_cache.clear_cache()
    assert token_cache.authenticate(issued.secret) is not None


def test_tokens_go_with_their_holder(database: Database, token_cache: Tokens) -> None:
    issued = _user_token(database, "alice", Role.VIEWER)
    group = groups.add(database, "Servers")
    ingest = tokens.issue(database, NewToken("ingest", group_id=group.id), NOW_US)
    users.remove(database, "alice")
    groups.remove(database, group.id)
    assert token_cache.authenticate(issued.secret) is None
    assert token_cache.authenticate(ingest.secret) is None


@pytest.mark.parametrize(
    "bad",
    [
        NewToken("api", user_id=404),
        NewToken("api", group_id=1),
        NewToken("ingest", group_id=404),
        NewToken("ingest", user_id=1),
        NewToken("api", user_id=1, expires_us=NOW_US),
        NewToken("api", "line\nbreak", user_id=1),
    ],
    ids=str,
)
def test_a_token_without_a_holder_or_a_future_is_refused(database: Database, bad: NewToken) -> None:
    with pytest.raises(BadRequestError):
        tokens.issue(database, bad, NOW_US)


def test_tokens_are_listed_with_holder_state_and_coarse_use(
    database: Database, token_cache: Tokens, first: FirstCredentials
) -> None:
    token_cache.authenticate(first.ingest_token.secret)
    token_cache.flush()
    tokens.revoke(database, first.api_token.id, NOW_US + 1)
    tokens.revoke(database, first.api_token.id, NOW_US + 2)
    listed = {token.id: token for token in tokens.all_tokens(database)}
    ingest, api = listed[first.ingest_token.id], listed[first.api_token.id]
    assert (ingest.holder, ingest.last_used_us, ingest.is_good(NOW_US)) == (
        "Default Group",
        NOW_US,
        True,
    )
    assert (api.holder, api.revoked_us, api.is_good(NOW_US)) == ("admin", NOW_US + 1, False)
    assert [token.id for token in tokens.all_tokens(database, "Admin")] == [api.id]


def test_revoking_what_does_not_exist_is_not_found(token_cache: Tokens) -> None:
    with pytest.raises(NotFoundError):
        token_cache.revoke("NOSUCHID00")


def test_a_scope_is_the_sensors_of_the_groups_that_may_be_seen_now(
    database: Database, clock: DrivenClock
) -> None:
    group = groups.add(database, "Servers")
    sensors, scopes = Sensors(database), Scopes(database, clock)
    viewer = Principal("user", "alice", "T", roles=((group.id, Role.VIEWER),))
    hidden = sensors.resolve({"pc": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)["pc"]
    seen = sensors.resolve({"web": Sighting()}, group.id, NOW_US)["web"]
    assert scopes.of(viewer) == Scope(frozenset({seen.id}))
    assert not scopes.of(viewer).allows(hidden.id)
    newer = sensors.resolve({"web2": Sighting()}, group.id, NOW_US)["web2"]
    clock.advance(1)
    assert scopes.of(viewer) == Scope(frozenset({seen.id, newer.id}))


@pytest.mark.parametrize(
    ("principal", "scope"),
    [
        (Principal("user", "root", "T", is_global_admin=True), EVERYTHING),
        (Principal("user", "nobody", "T"), Scope(frozenset())),
        (Principal("user", "shut", "T", roles=((1, Role.NONE),)), Scope(frozenset())),
        (Principal("ingest", "sender", "T", group_id=1), Scope(frozenset())),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_administrators_see_everything_and_senders_nothing(
    database: Database, clock: DrivenClock, principal: Principal, scope: Scope
) -> None:
    Sensors(database).resolve({"pc": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)
    assert Scopes(database, clock).of(principal) == scope


def test_a_disabled_team_gives_its_members_nothing_until_it_is_enabled(
    database: Database, another: Callable[[], Database], token_cache: Tokens, clock: DrivenClock
) -> None:
    lab = groups.add(database, "lab")
    one = teams.add(database, "one", {1: Role.ANALYST, lab.id: Role.VIEWER})
    other = teams.add(database, "other", {1: Role.VIEWER})
    users.add(database, NewUser("ann", team_ids=(one.id, other.id)), NOW_US)
    secret = tokens.issue(
        database, NewToken("api", user_id=users.id_of(database, "ann"), expires_us=0), NOW_US
    ).secret
    roles = []
    for is_enabled in (True, False, True):
        teams.change(another(), one.id, is_enabled=is_enabled)
        clock.advance(limits.TOKEN_STALE_US / 1_000_000)
        principal = token_cache.authenticate(secret)
        assert principal is not None
        roles.append(dict(principal.roles))
    assert roles[1] == {1: Role.VIEWER}
    assert roles[0] == roles[2] == {1: Role.ANALYST, lab.id: Role.VIEWER}
    assert [team.is_enabled for team in teams.all_teams(database)] == [True, True]
    assert users.get(database, "ann").teams == ((one.id, "one"), (other.id, "other"))
