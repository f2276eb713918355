"""Host names that several sensor groups claim, and decisions about them."""

from collections.abc import Callable
from itertools import count

import pytest
from sqlalchemy import func, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import GROUP_SENSORS_MAX
from vedette.model.host import Sighting
from vedette.state.accounts import audit_trail
from vedette.state.db.database import Database
from vedette.state.db.schema import NAME_OWNER, SENSOR
from vedette.state.policy import groups, name_owners
from vedette.state.policy.name_owners import NAME_CONFLICTS_SHOWN
from vedette.state.sensors import sensor_changes
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.hosts import aliases
from vedette.state.sensors.sensor_changes import SensorChanges

NOW_US = 1_700_000_000_000_000
MINE = groups.DEFAULT_GROUP_ID
LATER = count(NOW_US + 1)


@pytest.fixture
def sensors(database: Database) -> Sensors:
    return Sensors(database)


@pytest.fixture
def theirs(database: Database) -> int:
    return groups.add(database, "Others").id


def seen(sensors: Sensors, name: str, group_id: int, **reach: bool) -> int:
    sensors.refresh(next(LATER))
    return sensors.resolve({name: Sighting()}, group_id, NOW_US, **reach)[name].id


def names(database: Database, groups_seen: list[int] | None = None) -> list[str]:
    return [one.name for one in name_owners.open_conflicts(database, groups_seen).shown]


def test_a_name_that_two_groups_claim_is_a_conflict_of_both(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    assert names(database) == []
    first = seen(sensors, "web.corp", MINE)
    assert seen(sensors, "web", MINE) == first
    assert not name_owners.is_contested(database, first)
    second = seen(sensors, "web", theirs)
    assert names(database) == names(database, [MINE]) == names(database, [theirs]) == ["web"]
    assert names(database, [groups.add(database, "Third").id]) == []
    assert name_owners.is_contested(database, first)
    assert name_owners.is_contested(database, second)
    (one,) = name_owners.open_conflicts(database).shown
    assert [(c.group_name, c.sensor_id, c.hostname) for c in one.claims] == [
        ("Default Group", first, "web.corp"),
        ("Others", second, "web"),
    ]


def test_an_owner_gets_the_records_of_all_groups_on_every_server(
    another: Callable[[], Database], database: Database, sensors: Sensors, theirs: int
) -> None:
    first, second = seen(sensors, "pc.corp", MINE), seen(sensors, "pc.corp", theirs)
    elsewhere = Sensors(another())
    assert seen(elsewhere, "pc.corp", theirs) == second
    name_owners.decide(database, "PC.corp", first, "ann", next(LATER))
    assert names(database) == []
    for book in (sensors, elsewhere, Sensors(database)):
        assert seen(book, "pc.corp", theirs) == seen(book, "pc.corp", MINE) == first
        assert seen(book, "pc.corp", theirs, any_group=True) == first
    name_owners.withdraw(database, "pc.corp", next(LATER))
    assert names(database) == ["pc.corp"]
    for book in (sensors, elsewhere):
        assert seen(book, "pc.corp", theirs) == second


def test_different_hosts_keep_their_sensors_until_a_third_group_claims_the_name(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    first, second = seen(sensors, "pc", MINE), seen(sensors, "pc", theirs)
    name_owners.decide(database, "pc", None, "ann", next(LATER))
    assert names(database) == []
    assert not name_owners.is_contested(database, first)
    assert (seen(sensors, "pc", MINE), seen(sensors, "pc", theirs)) == (first, second)
    seen(sensors, "pc", groups.add(database, "Third").id)
    assert names(database, [MINE]) == ["pc"]


def test_a_decision_is_in_the_audit_log_with_its_group(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    first = seen(sensors, "pc", MINE)
    seen(sensors, "pc", theirs)
    name_owners.decide(database, "pc", first, "ann", NOW_US)
    name_owners.withdraw(database, "pc", NOW_US)
    _, found = audit_trail.search(database, audit_trail.Search(kind="host name"))
    entries = [(one.action, one.target) for one in found]
    expected = {("create", f"pc/{MINE}"), ("create", f"pc/{theirs}")}
    assert set(entries) == expected | {("delete", f"pc/{MINE}"), ("delete", f"pc/{theirs}")}


def test_an_owner_has_the_name_and_a_name_without_a_conflict_has_none(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    seen(sensors, "pc", MINE)
    with pytest.raises(NotFoundError):
        name_owners.decide(database, "pc", None, "ann", NOW_US)
    seen(sensors, "pc", theirs)
    other = seen(sensors, "other", theirs)
    for wrong in (other, 404):
        with pytest.raises(BadRequestError, match="owner"):
            name_owners.decide(database, "pc", wrong, "ann", NOW_US)
    with pytest.raises(NotFoundError):
        name_owners.withdraw(database, "pc", NOW_US)


def test_an_owner_that_leaves_its_group_is_the_owner_no_longer(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    first, second = seen(sensors, "pc", MINE), seen(sensors, "pc", theirs)
    name_owners.decide(database, "pc", first, "ann", next(LATER))
    third = groups.add(database, "Third").id
    sensor_changes.change(database, first, SensorChanges(group_id=third), next(LATER))
    assert seen(sensors, "pc", theirs) == second
    assert seen(sensors, "pc", third) == first
    assert seen(sensors, "pc", MINE) not in (first, second)
    assert names(database) == ["pc"]


def test_a_sensor_does_not_move_to_a_group_that_has_its_name(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    first, _ = seen(sensors, "pc", MINE), seen(sensors, "pc", theirs)
    with pytest.raises(ConflictError, match="a host pc of its own"):
        sensor_changes.change(database, first, SensorChanges(group_id=theirs), NOW_US)


def test_decisions_of_a_deleted_group_are_gone(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    first, second = seen(sensors, "pc", MINE), seen(sensors, "pc", theirs)
    name_owners.decide(database, "pc", first, "ann", NOW_US)
    with database.writing() as connection:
        moved = update(SENSOR).where(SENSOR.c.id == second)
        connection.execute(moved.values(hostname="elsewhere", group_id=MINE))
    groups.remove(database, theirs)
    with database.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(NAME_OWNER)) == 1


def test_an_alias_is_given_and_taken_within_a_group(
    database: Database, sensors: Sensors, theirs: int
) -> None:
    first, second = seen(sensors, "pc.corp", MINE), seen(sensors, "pc.corp", theirs)
    with pytest.raises(ConflictError, match="specify one"):
        aliases.add(database, "mail", "pc.corp")
    for group_id in (MINE, theirs):
        aliases.add(database, "mail", "pc.corp", group_id)
        with pytest.raises(ConflictError, match="already"):
            aliases.add(database, "mail", "pc.corp", group_id)
    assert (seen(sensors, "mail", MINE), seen(sensors, "mail", theirs)) == (first, second)
    with pytest.raises(ConflictError, match="specify one"):
        aliases.remove(database, "mail", NOW_US)
    aliases.remove(database, "mail", next(LATER), theirs)
    assert seen(sensors, "mail", MINE) == first
    assert seen(sensors, "mail", theirs) not in (first, second)


def test_claims_of_one_group_are_bounded_and_take_no_name_from_another(
    database: Database, sensors: Sensors, theirs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = NAME_CONFLICTS_SHOWN + 50
    assert most < GROUP_SENSORS_MAX
    monkeypatch.setattr("vedette.limits.GROUP_SENSORS_MAX", most)
    wanted = {f"pc-{number}.corp": Sighting() for number in range(most)}
    before = sensors.resolve(wanted, MINE, NOW_US)
    claimed = wanted | {f"other-{number}": Sighting() for number in range(most)}
    assert len(sensors.resolve(claimed, theirs, NOW_US)) == most
    assert sensors.resolve(wanted, MINE, NOW_US) == Sensors(database).resolve(wanted, MINE, NOW_US)
    assert sensors.resolve(wanted, MINE, NOW_US) == before
    found = name_owners.open_conflicts(database)
    assert len(found.shown) <= NAME_CONFLICTS_SHOWN
    assert found.total <= most
