"""Options and teams of groups, sites, packages, on both databases."""

from pathlib import Path

import pytest

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.model.group import EventExclusion, GroupOptions, IsolationExclusion
from vedette.model.principal import Role
from vedette.state.accounts import teams
from vedette.state.db.database import Database
from vedette.state.policy import groups, sites
from vedette.state.policy.groups import Changes
from vedette.state.sensors import installers
from vedette.state.sensors.installers import NewInstaller

NOW_US = 1_700_000_000_000_000


def test_options_come_back_as_they_were_given(database: Database) -> None:
    options = GroupOptions(
        process_filter_level=2,
        checkin_interval_s=60,
        isolation_exclusions=(IsolationExclusion("dns", "10.0.0.1:53", False),),
        event_exclusions=(EventExclusion(("filemod",), ("/x",)),),
    )
    made = groups.add(database, "servers", options=options)
    assert groups.get(database, made.id).options == options
    assert groups.get(database, 1).options == GroupOptions()


def test_a_group_takes_changes_and_keeps_the_rest(database: Database) -> None:
    made = groups.add(database, "servers", sensorbackend_server="https://a")
    changed = groups.change(database, made.id, Changes(name="hosts"))
    assert (changed.name, changed.sensorbackend_server) == ("hosts", "https://a")
    with pytest.raises(ConflictError):
        groups.change(database, made.id, Changes(name="Default Group"))
    with pytest.raises(NotFoundError):
        groups.change(database, 999, Changes(name="x"))
    with pytest.raises(BadRequestError):
        groups.change(database, made.id, Changes(site_id=99))


def test_the_roles_of_teams_are_replaced(database: Database) -> None:
    one, two = (teams.add(database, name, {1: Role.VIEWER}).id for name in ("one", "two"))
    groups.change(database, 1, Changes(team_roles={two: Role.ANALYST}))
    assert groups.team_roles(database)[1] == [(two, "two", Role.ANALYST)]
    with pytest.raises(BadRequestError):
        groups.change(database, 1, Changes(team_roles={999: Role.VIEWER}))
    assert one


def test_sites_are_made_renamed_and_removed(database: Database) -> None:
    site = sites.add(database, "lab")
    assert sites.rename(database, site.id, "lab 2") == sites.get(database, site.id)
    groups.add(database, "in the lab", site.id)
    with pytest.raises(ConflictError):
        sites.remove(database, site.id)
    with pytest.raises(ConflictError):
        sites.remove(database, 1)


def test_a_package_comes_back_in_pieces_and_goes_with_its_chunks(
    database: Database, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 10_000
    (tmp_path / "a.msi").write_bytes(content)
    made = installers.add(database, tmp_path / "a.msi", NewInstaller("windows", "msi", "1"), NOW_US)
    assert made.size == len(content)
    assert b"".join(installers.content(database, made.id)) == content
    assert installers.package_for(database, "windows", "msi", 1) == made
    assert installers.package_for(database, "windows", "exe", 1) is None
    installers.remove(database, made.id)
    with pytest.raises(NotFoundError):
        list(installers.content(database, made.id))


@pytest.mark.parametrize(("os", "kind"), [("windows", "pkg"), ("linux", "deb"), ("", "")])
def test_a_package_of_an_unknown_kind_is_refused(
    database: Database, tmp_path: Path, os: str, kind: str
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(BadRequestError):
        installers.add(database, tmp_path / "a", NewInstaller(os, kind, "1"), NOW_US)


def test_an_empty_or_missing_file_is_refused_and_leaves_nothing(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "empty.msi").touch()
    for name in ("empty.msi", "missing.msi"):
        with pytest.raises(BadRequestError):
            installers.add(database, tmp_path / name, NewInstaller("windows", "msi", "1"), NOW_US)
    assert installers.all_installers(database) == []
