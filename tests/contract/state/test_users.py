"""Users, teams and groups, on both databases."""

from typing import Any

import pytest
from sqlalchemy import delete

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.model.host import Sighting
from vedette.model.principal import Role
from vedette.state.accounts import teams, users
from vedette.state.accounts.users import NewUser, UserChanges
from vedette.state.db.database import Database
from vedette.state.db.schema import VALUE
from vedette.state.policy import groups, sites
from vedette.state.sensors.host_registry import Sensors

NOW_US = 1_700_000_000_000_000


def test_a_user_comes_back_as_it_was_added(database: Database) -> None:
    team = teams.add(database, "soc", {groups.DEFAULT_GROUP_ID: Role.ANALYST})
    new = NewUser("Alice", "Alice", "Árvai", "a@example.org", team_ids=(team.id,))
    added = users.add(database, new, NOW_US)
    assert users.get(database, "ALICE") == added
    assert (added.username, added.last_name, added.created_us) == ("alice", "Árvai", NOW_US)
    assert (added.teams, added.has_password) == (((team.id, "soc"),), False)


def test_a_user_name_is_taken_in_any_case(database: Database) -> None:
    users.add(database, NewUser("alice"), NOW_US)
    with pytest.raises(ConflictError, match="alice"):
        users.add(database, NewUser("Alice"), NOW_US)


@pytest.mark.parametrize(
    "bad",
    [
        {"username": ""},
        {"username": "two words"},
        {"username": "-dash"},
        {"username": "x" * 101},
        {"username": "ok", "password": "short"},
        {"username": "ok", "email": "a\nb"},
        {"username": "ok", "first_name": "x" * 301},
        {"username": "ok", "last_name": "nul\0"},
        {"username": "ok", "team_ids": (404,)},
    ],
)
def test_a_bad_user_is_refused_and_not_kept(database: Database, bad: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError):
        users.add(database, NewUser(**bad), NOW_US)
    assert len(users.all_users(database)) == 1


def test_a_password_opens_only_for_its_enabled_user(database: Database) -> None:
    users.add(database, NewUser("alice", password="correct horse"), NOW_US)
    assert users.matching_hash(database, "Alice", "correct horse")
    assert not users.matching_hash(database, "alice", "wrong horse")
    assert not users.matching_hash(database, "nobody", "correct horse")
    users.change(database, "alice", UserChanges(is_enabled=False))
    assert not users.matching_hash(database, "alice", "correct horse")


def test_a_user_without_a_password_has_none_that_opens(database: Database) -> None:
    users.add(database, NewUser("robot"), NOW_US)
    assert not users.matching_hash(database, "robot", "")
    assert not users.matching_hash(database, "robot", "of nobody")


def test_a_change_leaves_the_rest_as_it_is(database: Database) -> None:
    before = users.add(database, NewUser("alice", "Alice", email="a@example.org"), NOW_US)
    after = users.change(database, "alice", UserChanges(email="b@example.org"))
    assert (after.email, after.first_name, after.id) == ("b@example.org", "Alice", before.id)


@pytest.mark.parametrize(
    "changes", [UserChanges(is_global_admin=False), UserChanges(is_enabled=False)], ids=str
)
def test_the_last_administrator_stays_one(database: Database, changes: UserChanges) -> None:
    with pytest.raises(ConflictError, match="administrator must remain"):
        users.change(database, "admin", changes)
    with pytest.raises(ConflictError, match="administrator must remain"):
        users.remove(database, "admin")
    assert users.get(database, "admin").is_global_admin


def test_an_administrator_can_go_when_another_remains(database: Database) -> None:
    users.add(database, NewUser("second", is_global_admin=True), NOW_US)
    users.remove(database, "admin")
    assert [user.username for user in users.all_users(database)] == ["second"]


def test_what_is_unknown_is_not_found(database: Database) -> None:
    for ask in (
        lambda: users.get(database, "nobody"),
        lambda: users.remove(database, "nobody"),
        lambda: teams.get(database, 404),
        lambda: teams.remove(database, 404),
        lambda: groups.get(database, 404),
        lambda: groups.named(database, "nowhere"),
        lambda: groups.remove(database, 404),
    ):
        with pytest.raises(NotFoundError):
            ask()


def test_a_team_keeps_its_roles_by_group(database: Database) -> None:
    servers = groups.add(database, "Servers")
    access = {servers.id: Role.VIEWER, groups.DEFAULT_GROUP_ID: Role.ADMINISTRATOR}
    team = teams.add(database, "soc", access)
    assert teams.get(database, team.id) == team
    assert {item.group_name: item.role for item in team.access} == {
        "Default Group": Role.ADMINISTRATOR,
        "Servers": Role.VIEWER,
    }


def test_a_removed_team_leaves_its_members(database: Database) -> None:
    team = teams.add(database, "soc", {})
    users.add(database, NewUser("alice", team_ids=(team.id,)), NOW_US)
    teams.remove(database, team.id)
    assert users.get(database, "alice").teams == ()


def test_names_of_teams_and_groups_are_unique_and_printable(database: Database) -> None:
    teams.add(database, "soc", {})
    with pytest.raises(ConflictError):
        teams.add(database, "soc", {})
    with pytest.raises(ConflictError):
        groups.add(database, "Default Group")
    for bad in ("", "  ", "x" * 201, "line\nbreak", "nul\0"):
        with pytest.raises(BadRequestError):
            groups.add(database, bad)
        with pytest.raises(BadRequestError):
            teams.add(database, bad, {})


def test_a_team_or_group_cannot_name_what_does_not_exist(database: Database) -> None:
    with pytest.raises(BadRequestError, match="sensor group 404"):
        teams.add(database, "soc", {404: Role.VIEWER})
    with pytest.raises(BadRequestError, match="site 404"):
        groups.add(database, "Servers", site_id=404)


def test_the_default_group_and_groups_with_sensors_cannot_be_deleted(database: Database) -> None:
    servers = groups.add(database, "Servers")
    Sensors(database).resolve({"web.corp": Sighting()}, servers.id, NOW_US)
    for group_id in (groups.DEFAULT_GROUP_ID, servers.id):
        with pytest.raises(ConflictError):
            groups.remove(database, group_id)


def test_an_empty_group_can_be_deleted(database: Database) -> None:
    servers = groups.add(database, "Servers")
    groups.remove(database, servers.id)
    assert [group.name for group in groups.all_groups(database)] == ["Default Group"]
    assert [site.name for site in sites.all_sites(database)] == ["Default Site"]


def test_a_group_suppresses_nothing_until_it_is_set_to(database: Database) -> None:
    servers = groups.add(database, "Servers")
    assert groups.suppressing(database) == frozenset()
    groups.suppress_children(database, servers.id, True)
    assert groups.suppressing(database) == {"Servers"}
    assert groups.get(database, servers.id).suppress_children is True
    groups.suppress_children(database, servers.id, False)
    assert groups.suppressing(database) == frozenset()
    with pytest.raises(NotFoundError, match="77"):
        groups.suppress_children(database, 77, True)


@pytest.mark.parametrize("is_older", [False, True])
def test_ids_of_what_was_deleted_are_not_given_again(database: Database, is_older: bool) -> None:
    """Watchlists name groups by it, and alerts users. Rows may be of an earlier version, which kept
    no last id."""

    def group(name: str) -> int:
        return groups.add(database, name).id

    def team(name: str) -> int:
        return teams.add(database, name, {}).id

    def user(name: str) -> int:
        return users.add(database, users.NewUser(name), NOW_US).id

    first = (group("a"), team("a"), user("ann"))
    if is_older:
        with database.writing() as connection:
            connection.execute(delete(VALUE).where(VALUE.c.name.startswith("last id of ")))
    groups.remove(database, first[0])
    teams.remove(database, first[1])
    users.remove(database, "ann")
    second = (group("b"), team("b"), user("bob"))
    assert all(new > old for new, old in zip(second, first, strict=True))
