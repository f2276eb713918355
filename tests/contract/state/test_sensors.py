"""Sensors and channel codes for the write path, on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from vedette import limits
from vedette.errors import ConflictError, NotFoundError
from vedette.model.host import SensorRef, Sighting
from vedette.model.scope import EVERYTHING
from vedette.record.objects.sensor_group import GroupOptions
from vedette.state.db import key_values
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.policy import groups
from vedette.state.sensors import sensor_changes, sensor_list
from vedette.state.sensors.changed_sensors import ChangedSensors
from vedette.state.sensors.channel_codes import NO_CODE, Channels
from vedette.state.sensors.host_registry import (
    Sensors,
    computer_name,
)
from vedette.state.sensors.hosts import aliases
from vedette.state.sensors.sensor_changes import SensorChanges

NOW_US = 1_700_000_000_000_000
GROUP_ID = groups.DEFAULT_GROUP_ID
WINDOWS = Sighting("windows")


@pytest.fixture
def sensors(database: Database) -> Sensors:
    return Sensors(database)


def test_a_new_host_gets_a_sensor_in_the_group_of_its_sender(
    database: Database, sensors: Sensors
) -> None:
    group = groups.add(database, "Servers")
    assert sensors.resolve({"dc1.corp": WINDOWS}, group.id, NOW_US) == {
        "dc1.corp": SensorRef(1, "dc1.corp", group.id, "Servers", "windows")
    }


def test_a_host_keeps_its_sensor_and_group_for_senders_of_all_groups(
    another: Callable[[], Database], database: Database, sensors: Sensors
) -> None:
    ref = sensors.resolve({"pc": Sighting()}, GROUP_ID, NOW_US)["pc"]
    group = groups.add(database, "Servers")
    for book in (sensors, Sensors(another())):
        assert book.resolve({"pc": Sighting()}, group.id, NOW_US, any_group=True)["pc"] == ref
        assert book.resolve({"pc": Sighting()}, GROUP_ID, NOW_US, any_group=True)["pc"] == ref
        assert book.resolve({"x": Sighting()}, group.id, NOW_US, sensor_id=ref.id)["x"] == ref
        assert book.resolve({"x": Sighting()}, group.id, NOW_US, sensor_id=404) == {}


def test_a_name_belongs_to_one_sensor_within_a_group(
    another: Callable[[], Database], database: Database, sensors: Sensors
) -> None:
    mine = sensors.resolve({"pc.corp": Sighting(), "pc": Sighting()}, GROUP_ID, NOW_US)
    group = groups.add(database, "Servers")
    theirs = sensors.resolve({"pc": Sighting()}, group.id, NOW_US)["pc"]
    assert (theirs.hostname, theirs.group_id) == ("pc", group.id)
    for book in (sensors, Sensors(another())):
        assert book.resolve({"pc": Sighting()}, group.id, NOW_US)["pc"] == theirs
        assert book.resolve({"pc.corp": Sighting(), "pc": Sighting()}, GROUP_ID, NOW_US) == mine


def test_senders_of_all_groups_give_none_of_several_claims_what_is_meant_for_another(
    database: Database, sensors: Sensors
) -> None:
    claims = [
        sensors.resolve({"pc": Sighting()}, groups.add(database, name).id, NOW_US)["pc"]
        for name in ("First", "Second")
    ]
    with database.writing() as connection:
        enrolled = update(SENSOR).where(SENSOR.c.id == claims[1].id)
        connection.execute(enrolled.values(node_key_sha256=b"x"))
    found = sensors.resolve({"pc": Sighting()}, GROUP_ID, NOW_US, any_group=True)["pc"]
    assert found.id not in {one.id for one in claims}
    assert found.group_id == GROUP_ID
    again = Sensors(database).resolve({"pc": Sighting()}, GROUP_ID, NOW_US, any_group=True)["pc"]
    assert again.id == found.id


def test_hosts_with_the_same_short_name_stay_two(sensors: Sensors) -> None:
    found = sensors.resolve({"web.a": Sighting(), "web.b": Sighting()}, GROUP_ID, NOW_US)
    assert found["web.a"].id != found["web.b"].id


def test_a_host_seen_by_its_short_and_its_full_name_is_one(
    database: Database, sensors: Sensors
) -> None:
    short = sensors.resolve({"web": Sighting()}, GROUP_ID, NOW_US)["web"]
    full = sensors.resolve({"web.corp.example": Sighting()}, GROUP_ID, NOW_US)["web.corp.example"]
    assert (full.id, full.hostname) == (short.id, "web.corp.example")
    assert Sensors(database).resolve({"web": Sighting()}, GROUP_ID, NOW_US)["web"] == full
    row = sensor_list.get(database, EVERYTHING, full.id)
    assert (row.hostname, row.computer_name) == ("web.corp.example", "web")
    assert not row.shares_name
    other = sensors.resolve({"web.lab.example": Sighting()}, GROUP_ID, NOW_US)["web.lab.example"]
    assert other.id != full.id
    assert sensor_list.get(database, EVERYTHING, full.id).shares_name


@pytest.mark.parametrize("names", [("pc.corp", "pc"), ("pc", "pc.corp")])
def test_a_full_name_has_its_short_one(sensors: Sensors, names: tuple[str, str]) -> None:
    ids = {sensors.resolve({n: WINDOWS}, GROUP_ID, NOW_US)[n].id for n in names}
    assert len(ids) == 1


def test_names_that_come_together_are_joined_too(sensors: Sensors) -> None:
    hosts = dict.fromkeys(("pc", "pc.corp", "db", "db.a", "db.b"), WINDOWS)
    found = sensors.resolve(hosts, GROUP_ID, NOW_US)
    assert found["pc"].id == found["pc.corp"].id
    assert len({found[name].id for name in ("db", "db.a", "db.b")}) == 3


@pytest.mark.parametrize(
    "names",
    [("10", "10.0.0.5"), ("localhost", "localhost.localdomain"), ("7", "7.example")],
)
def test_what_is_no_name_is_never_joined(sensors: Sensors, names: tuple[str, str]) -> None:
    ids = {sensors.resolve({n: Sighting()}, GROUP_ID, NOW_US)[n].id for n in names}
    assert len(ids) == 2


def test_a_name_of_another_group_is_never_joined(database: Database, sensors: Sensors) -> None:
    group = groups.add(database, "Elsewhere")
    mine = sensors.resolve({"web": Sighting()}, GROUP_ID, NOW_US)["web"]
    theirs = sensors.resolve({"web.evil": Sighting()}, group.id, NOW_US)["web.evil"]
    assert (theirs.id != mine.id, theirs.group_id) == (True, group.id)


def test_a_group_has_no_more_hosts_than_it_may(database: Database, sensors: Sensors) -> None:
    group = groups.add(database, "Small", options=GroupOptions(max_licenses=2))
    hosts = {f"h{number}": Sighting() for number in range(5)}
    assert len(sensors.resolve(hosts, group.id, NOW_US)) == 2
    assert len(sensors.resolve({"other": Sighting()}, GROUP_ID, NOW_US)) == 1


def test_a_group_cannot_use_up_the_sensors_of_all(
    database: Database, sensors: Sensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GROUP_SENSORS_MAX", 3)
    group = groups.add(database, "Greedy")
    hosts = {f"h{number}": Sighting() for number in range(5)}
    assert len(sensors.resolve(hosts, group.id, NOW_US)) == 3
    assert len(sensors.resolve({"other": Sighting()}, GROUP_ID, NOW_US)) == 1


def test_an_alias_is_listed_and_removed(database: Database, sensors: Sensors) -> None:
    ref = sensors.resolve({"pc.corp": Sighting()}, GROUP_ID, NOW_US)["pc.corp"]
    aliases.add(database, "Mail", "pc.corp")
    assert aliases.listed(database) == [("mail", ref.id, "pc.corp")]
    aliases.remove(database, "MAIL", NOW_US)
    assert aliases.listed(database) == []
    with pytest.raises(NotFoundError):
        aliases.remove(database, "mail", NOW_US)


def test_servers_that_meet_the_same_hosts_at_once_agree(
    another: Callable[[], Database], database: Database
) -> None:
    hosts = {f"host{number}": Sighting() for number in range(300)}
    servers = [Sensors(another()) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda s: s.resolve(hosts, GROUP_ID, NOW_US), servers))
    assert all(answer == found[0] for answer in found)
    assert len({ref.id for ref in found[0].values()}) == 300


@pytest.mark.parametrize("bad", ["", "x" * 256, "two words", "nul\0", "line\n", "\ud800"])
def test_what_cannot_be_a_host_name_is_left_out_and_the_others_are_not(
    sensors: Sensors, bad: str
) -> None:
    assert set(sensors.resolve({bad: WINDOWS, "good": WINDOWS}, GROUP_ID, NOW_US)) == {"good"}


def test_above_the_limit_only_new_hosts_are_left_out(
    sensors: Sensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SENSORS_MAX", 2)
    hosts = {name: Sighting() for name in ("a", "b", "c")}
    assert set(sensors.resolve(hosts, GROUP_ID, NOW_US)) == {"a", "b"}


def test_hosts_of_a_deleted_group_join_the_default_group(sensors: Sensors) -> None:
    assert sensors.resolve({"pc": Sighting()}, 404, NOW_US)["pc"].group_id == GROUP_ID


def test_an_operating_system_that_is_learned_later_is_kept(
    another: Callable[[], Database], sensors: Sensors
) -> None:
    assert sensors.resolve({"pc": Sighting()}, GROUP_ID, NOW_US)["pc"].os_type == ""
    assert sensors.resolve({"pc": WINDOWS}, GROUP_ID, NOW_US)["pc"].os_type == "windows"
    sensors.flush(NOW_US)
    database = another()
    assert Sensors(database).resolve({"pc": Sighting()}, GROUP_ID, NOW_US)["pc"].os_type == (
        "windows"
    )
    assert sensor_list.get(database, EVERYTHING, 1).computer_name == "PC"


def test_notes_are_written_by_flush_and_never_go_back(database: Database, sensors: Sensors) -> None:
    sensors.resolve({"pc": Sighting()}, GROUP_ID, NOW_US)
    for seen_us, address in ((NOW_US + 9, "10.0.0.7"), (NOW_US + 5, "")):
        sensors.note(1, seen_us, interface_ip=address)
        assert sensor_list.get(database, EVERYTHING, 1).last_seen_us != seen_us
        sensors.flush(NOW_US)
    row = sensor_list.get(database, EVERYTHING, 1)
    assert (row.last_seen_us, row.interface_ip) == (NOW_US + 9, "10.0.0.7")


def test_the_type_of_a_host_is_kept_and_reaches_other_servers(
    another: Callable[[], Database], sensors: Sensors
) -> None:
    elsewhere = Sensors(another())
    for book in (sensors, elsewhere):
        book.resolve({"dc": WINDOWS}, GROUP_ID, NOW_US)
    sensors.note(1, NOW_US, host_type="domain_controller")
    sensors.note(1, NOW_US, interface_ip="10.0.0.7")
    sensors.flush(NOW_US + 1)
    for book in (sensors, elsewhere):
        book.refresh(NOW_US + 2)
        assert (
            book.resolve({"dc": WINDOWS}, GROUP_ID, NOW_US)["dc"].host_type == "domain_controller"
        )


def test_a_group_that_is_changed_elsewhere_arrives_with_refresh(
    another: Callable[[], Database], sensors: Sensors
) -> None:
    sensors.resolve({"pc": Sighting(), "web": Sighting()}, GROUP_ID, NOW_US)
    sensors.refresh(NOW_US)
    database = another()
    group = groups.add(database, "Servers")
    with database.writing() as connection:
        moved = update(SENSOR).where(SENSOR.c.hostname == "web")
        connection.execute(moved.values(group_id=group.id, changed_us=NOW_US + 1))
        connection.execute(update(GROUP).where(GROUP.c.id == GROUP_ID).values(name="Offices"))
    sensors.refresh(NOW_US + 2)
    pc = sensors.resolve({"pc": Sighting()}, GROUP_ID, NOW_US)["pc"]
    web = sensors.resolve({"web": Sighting()}, group.id, NOW_US)["web"]
    assert (pc.group_name, web.group_name) == ("Offices", "Servers")
    assert {pc.id, web.id} == {1, 2}
    # The group that it left has another host of that name, if it has any.
    assert sensors.resolve({"web": Sighting()}, GROUP_ID, NOW_US)["web"].id == 3


def test_an_alias_leads_to_the_sensor_of_its_host(database: Database, sensors: Sensors) -> None:
    ref = sensors.resolve({"web.corp": Sighting()}, GROUP_ID, NOW_US)["web.corp"]
    aliases.add(database, "WEB-OLD", "Web.corp")
    assert sensors.resolve({"web-old": Sighting()}, GROUP_ID, NOW_US) == {"web-old": ref}


def test_an_alias_is_neither_a_host_nor_an_alias_already(
    database: Database, sensors: Sensors
) -> None:
    sensors.resolve({"a": Sighting(), "b": Sighting()}, GROUP_ID, NOW_US)
    aliases.add(database, "alias", "a")
    for taken in ("b", "alias", "two words"):
        with pytest.raises(ConflictError):
            aliases.add(database, taken, "a")
    with pytest.raises(NotFoundError):
        aliases.add(database, "other", "nowhere")


@pytest.mark.parametrize(
    ("hostname", "os_type", "short"),
    [
        ("dc1.corp.local", "windows", "DC1"),
        ("web-01.corp", "linux", "web-01"),
        ("pc", "", "pc"),
        ("10.1.2.3", "linux", "10.1.2.3"),
        (".odd", "linux", ".odd"),
    ],
)
def test_the_computer_name_is_the_short_name(hostname: str, os_type: str, short: str) -> None:
    assert computer_name(hostname, os_type) == short


def test_a_channel_has_one_code_for_ever(
    another: Callable[[], Database], database: Database
) -> None:
    codes = Channels(database).codes(["Security", "System"], 1)
    again = Channels(another())
    assert again.codes(["System", "Security"], 1) == codes
    assert again.codes(["security"], 1)["security"] not in codes.values()
    assert min(codes.values()) >= 1


def test_servers_that_meet_the_same_channels_at_once_agree(
    another: Callable[[], Database], database: Database
) -> None:
    names = [f"Channel{number}/Operational" for number in range(100)]
    servers = [Channels(another()) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda channels: channels.codes(names, 1), servers))
    assert all(answer == found[0] for answer in found)
    assert len(set(found[0].values())) == 100


@pytest.mark.parametrize("bad", ["", "x" * 256, "nul\0", "\ud800"])
def test_what_cannot_be_a_channel_has_no_code(database: Database, bad: str) -> None:
    codes = Channels(database).codes([bad, "Security"], 1)
    assert (codes[bad], codes["Security"]) == (NO_CODE, 1)


def test_above_the_limit_only_new_channels_have_no_code(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHANNELS_MAX", 2)
    channels = Channels(database)
    assert channels.codes(["a", "b"], 1) == {"a": 1, "b": 2}
    assert channels.codes(["a", "c"], 1) == {"a": 1, "c": NO_CODE}


def test_a_value_is_what_was_saved_last(
    another: Callable[[], Database], database: Database
) -> None:
    assert key_values.load(database, "name") is None
    for value in ("one", "two"):
        key_values.save(database, "name", value)
        assert key_values.load(another(), "name") == value


# --- what changed ------------------------------------------------------------------------


def test_a_change_is_reported_once(database: Database) -> None:
    ids = [Sensors(database).resolve({name: WINDOWS}, 1, NOW_US)[name].id for name in ("a", "b")]
    changed = ChangedSensors()

    def look(after_s: int) -> list[int]:
        with database.reading() as connection:
            found = changed.look(connection, NOW_US + after_s * 1_000_000)
        changed.taken()
        return sorted(found)

    assert look(1) == ids
    assert [look(6), look(11), look(170)] == [[], [], []]
    group = groups.add(database, "Moved to")
    moved = SensorChanges(group_id=group.id)
    sensor_changes.change(database, ids[1], moved, NOW_US + 171 * 1_000_000)
    assert [look(175), look(180), look(400)] == [ids[1:], [], []]


def test_a_change_that_was_not_taken_is_reported_again(database: Database) -> None:
    (made,) = Sensors(database).resolve({"a": WINDOWS}, 1, NOW_US).values()
    changed = ChangedSensors()
    with database.reading() as connection:
        assert changed.look(connection, NOW_US) == [made.id]
        assert changed.look(connection, NOW_US + 1) == [made.id]


def test_made_up_channel_names_do_not_use_up_the_codes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.state.sensors.channel_codes.CHANNELS_FREE", 10)
    monkeypatch.setattr("vedette.state.sensors.channel_codes.CHANNELS_AN_HOUR_MAX", 3)
    channels = Channels(database)
    coded = []
    for batch in range(6):
        codes = channels.codes((f"made-up-{batch}-{number}" for number in range(4)), 1)
        coded += [code for code in codes.values() if code != NO_CODE]
    assert len(coded) == 13


def test_one_group_leaves_channel_codes_to_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.state.sensors.channel_codes.CHANNELS_FREE", 20)
    monkeypatch.setattr("vedette.state.sensors.channel_codes.CHANNELS_GROUP_FREE", 5)
    monkeypatch.setattr("vedette.state.sensors.channel_codes.CHANNELS_GROUP_AN_HOUR_MAX", 2)
    channels = Channels(database)
    made_up = [
        code
        for batch in range(6)
        for code in channels.codes((f"made-up-{batch}-{n}" for n in range(4)), 1).values()
    ]
    assert sum(code != NO_CODE for code in made_up) == 7
    assert channels.codes(["Security"], 2)["Security"] != NO_CODE
    assert channels.codes(["Security"], 1)["Security"] != NO_CODE


def test_an_alias_that_a_command_removes_is_forgotten_at_the_next_refresh(
    database: Database, another: Callable[[], Database], sensors: Sensors
) -> None:
    ref = sensors.resolve({"pc.corp": Sighting(), "pc": Sighting()}, GROUP_ID, NOW_US)["pc.corp"]
    aliases.add(database, "mail", "pc.corp")
    sensors.refresh(NOW_US)
    assert sensors.resolve({"mail": Sighting()}, GROUP_ID, NOW_US)["mail"] == ref
    version = sensors.names_version
    aliases.remove(another(), "mail", NOW_US + 1)
    sensors.refresh(NOW_US + 5_000_000)
    assert sensors.names_version > version
    now_us = NOW_US + 5_000_000
    found = sensors.resolve({"mail": Sighting(), "pc": Sighting()}, GROUP_ID, now_us)
    assert found["mail"].id != ref.id
    assert found["pc"].id == ref.id
    version = sensors.names_version
    sensors.refresh(NOW_US + 10_000_000)
    assert sensors.names_version == version
