"""Who is notified of a host is who may see it, on both databases."""

from vedette.clock import DrivenClock
from vedette.model.host import Sighting
from vedette.model.principal import Role
from vedette.state.accounts import teams, tokens, users
from vedette.state.accounts.readers import mail_address, may_see
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import NewToken, Tokens
from vedette.state.accounts.users import NewUser, UserChanges
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.host_registry import Sensors

NOW_US = 1_700_000_000_000_000


def test_whom_messages_of_a_host_reach_is_whose_requests_may_see_it(database: Database) -> None:
    """Compares two results for every kind of user: the scope of their token, and the receivers of
    messages."""
    clock = DrivenClock(NOW_US)
    lab = groups.add(database, "lab")
    sensor = Sensors(database).resolve({"pc": Sighting()}, lab.id, NOW_US)["pc"].id
    of = {
        "reader": teams.add(database, "readers", {lab.id: Role.VIEWER}),
        "elsewhere": teams.add(database, "others", {groups.DEFAULT_GROUP_ID: Role.ADMINISTRATOR}),
        "none": teams.add(database, "none", {lab.id: Role.NONE}),
        "ended": teams.add(database, "ended", {lab.id: Role.ADMINISTRATOR}),
    }
    teams.change(database, of["ended"].id, is_enabled=False)
    members = {name: (team.id,) for name, team in of.items()}
    members |= {"nobody": (), "both": (of["ended"].id, of["reader"].id), "off": members["reader"]}
    ids = {
        name: users.add(
            database, NewUser(name, email=f"{name}@example.com", team_ids=team_ids), NOW_US
        ).id
        for name, team_ids in members.items()
    }
    root = NewUser("chief", email="chief@example.com", is_global_admin=True)
    ids["chief"] = users.add(database, root, NOW_US).id
    issued = {
        name: tokens.issue(database, NewToken("api", user_id=user_id, expires_us=0), NOW_US).secret
        for name, user_id in ids.items()
    }
    users.change(database, "off", UserChanges(is_enabled=False))

    known, scopes = Tokens(database, clock), Scopes(database, clock)
    asking = set()
    for name, secret in issued.items():
        principal = known.authenticate(secret)
        if principal is not None and scopes.of(principal).allows(sensor):
            asking.add(name)
    assert {name for name, user_id in ids.items() if may_see(database, user_id, sensor)} == asking
    addresses = {mail_address(database, user_id, sensor) for user_id in ids.values()}
    assert addresses - {""} == {f"{name}@example.com" for name in asking}
    assert asking == {"reader", "both", "chief"}


def test_what_belongs_to_no_host_is_for_global_administrators(database: Database) -> None:
    team = teams.add(database, "all", {groups.DEFAULT_GROUP_ID: Role.ADMINISTRATOR})
    ann = users.add(database, NewUser("ann", team_ids=(team.id,)), NOW_US).id
    root = users.add(database, NewUser("chief", is_global_admin=True), NOW_US).id
    assert [may_see(database, one, 0) for one in (ann, root, 10**6)] == [False, True, False]
