"""Options and teams of groups, sites, packages, on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from vedette.blobs.local_directory import LocalDirectory
from vedette.errors import BadRequestError, ConflictError, NotFoundError, TooLargeError
from vedette.model.principal import Role
from vedette.record.objects.sensor_group import EventExclusion, GroupOptions, IsolationExclusion
from vedette.respond.package_files import add_installer, open_installer, remove_installer
from vedette.state.accounts import teams
from vedette.state.db.database import Database
from vedette.state.policy import groups, sites
from vedette.state.policy.groups import GroupChanges
from vedette.state.sensors import installers
from vedette.state.sensors.installers import NewInstaller

NOW_US = 1_700_000_000_000_000


def test_options_come_back_as_they_were_given(database: Database) -> None:
    options = GroupOptions(
        process_filter_level=2,
        checkin_interval_s=60,
        isolation_exclusions=(IsolationExclusion("10.0.0.1:53", "dns", False),),
        event_exclusions=(EventExclusion(("filemod",), ("/x",)),),
    )
    made = groups.add(database, "servers", options=options)
    assert groups.get(database, made.id).options == options
    assert groups.get(database, 1).options == GroupOptions()


def test_a_group_takes_changes_and_keeps_the_rest(database: Database) -> None:
    made = groups.add(database, "servers", sensorbackend_server="https://a")
    changed = groups.change(database, made.id, GroupChanges(name="hosts"))
    assert (changed.name, changed.sensorbackend_server) == ("hosts", "https://a")
    with pytest.raises(ConflictError):
        groups.change(database, made.id, GroupChanges(name="Default Group"))
    with pytest.raises(NotFoundError):
        groups.change(database, 999, GroupChanges(name="x"))
    with pytest.raises(BadRequestError):
        groups.change(database, made.id, GroupChanges(site_id=99))


def test_two_who_change_different_options_at_once_do_not_undo_each_other(
    database: Database,
) -> None:
    names = [name for name in asdict(GroupOptions()) if name.startswith("collect_")]
    started = threading.Barrier(len(names))

    def change(name: str) -> None:
        started.wait()
        groups.change(database, 1, GroupChanges(options={name: not getattr(GroupOptions(), name)}))

    with ThreadPoolExecutor(len(names)) as people:
        list(people.map(change, names))
    found = asdict(groups.get(database, 1).options)
    assert {name for name in names if found[name] != getattr(GroupOptions(), name)} == set(names)


def test_the_roles_of_teams_are_replaced(database: Database) -> None:
    one, two = (teams.add(database, name, {1: Role.VIEWER}).id for name in ("one", "two"))
    groups.change(database, 1, GroupChanges(team_roles={two: Role.ANALYST}))
    assert groups.team_roles(database)[1] == [(two, "two", Role.ANALYST)]
    with pytest.raises(BadRequestError):
        groups.change(database, 1, GroupChanges(team_roles={999: Role.VIEWER}))
    assert one


def test_sites_are_made_renamed_and_removed(database: Database) -> None:
    site = sites.add(database, "lab")
    assert sites.change(database, site.id, {"name": "lab 2"}) == sites.get(database, site.id)
    groups.add(database, "in the lab", site.id)
    with pytest.raises(ConflictError):
        sites.remove(database, site.id)
    with pytest.raises(ConflictError):
        sites.remove(database, 1)


def test_a_package_comes_back_and_goes_with_its_bytes(database: Database, tmp_path: Path) -> None:
    blobs = LocalDirectory(tmp_path / "blobs")
    content = bytes(range(256)) * 10_000
    (tmp_path / "a.msi").write_bytes(content)
    new = NewInstaller("windows", "msi", "1")
    one, other = (add_installer(database, blobs, tmp_path / "a.msi", new, NOW_US) for _ in range(2))
    assert one.size == len(content)
    with open_installer(blobs, one) as file:
        assert file.read() == content
    assert installers.package_for(database, "windows", "msi", 1) == other
    assert installers.package_for(database, "windows", "exe", 1) is None
    remove_installer(database, blobs, one.id)
    with open_installer(blobs, other) as file:  # the same bytes
        assert file.read() == content
    remove_installer(database, blobs, other.id)
    assert list(blobs.blobs("installers")) == []
    with pytest.raises(NotFoundError):
        remove_installer(database, blobs, other.id)


@pytest.mark.parametrize(("os", "kind"), [("windows", "pkg"), ("linux", "deb"), ("", "")])
def test_a_package_of_an_unknown_kind_is_refused(
    database: Database, tmp_path: Path, os: str, kind: str
) -> None:
    blobs = LocalDirectory(tmp_path / "blobs")
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(BadRequestError):
        add_installer(database, blobs, tmp_path / "a", NewInstaller(os, kind, "1"), NOW_US)
    assert list(blobs.blobs("installers")) == []


@pytest.mark.parametrize("name", ["empty.msi", "missing.msi", "folder"])
def test_a_file_that_is_none_is_refused_and_leaves_nothing(
    database: Database, tmp_path: Path, name: str
) -> None:
    (tmp_path / "empty.msi").touch()
    (tmp_path / "folder").mkdir()
    blobs = LocalDirectory(tmp_path / "blobs")
    new = NewInstaller("windows", "msi", "1")
    with pytest.raises(BadRequestError):
        add_installer(database, blobs, tmp_path / name, new, NOW_US)
    assert installers.all_installers(database) == []


def test_a_file_above_the_limit_is_refused(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.respond.package_files.INSTALLER_BYTES_MAX", 10)
    (tmp_path / "large.msi").write_bytes(bytes(11))
    blobs = LocalDirectory(tmp_path / "blobs")
    new = NewInstaller("windows", "msi", "1")
    with pytest.raises(TooLargeError):
        add_installer(database, blobs, tmp_path / "large.msi", new, NOW_US)
    assert list(blobs.blobs("installers")) == []
