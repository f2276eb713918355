"""Enrolment, keys, queues, check-ins and changes, on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from tests.support.forms import in_form
from vedette.errors import (
    BadRequestError,
    ConflictError,
    NotFoundError,
    UnauthorizedError,
    VedetteError,
)
from vedette.model.host import Sighting
from vedette.model.scope import EVERYTHING, Scope
from vedette.state.db import key_values
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors import (
    checkins,
    enrolment,
    sensor_changes,
    sensor_list,
    sensor_queues,
)
from vedette.state.sensors.checkins import CheckIn, CheckinInterval, Progress, Report, WantedState
from vedette.state.sensors.enrolment import Enrolled, Machine
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.key_replacement import KeyKind
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.state.sensors.sensor_queues import (
    SENSOR_EPOCHS_MAX,
    SENSOR_GAPS_MAX,
    SENSOR_HASHES_KEPT,
    Block,
)
from vedette.state.sensors.sensor_selection import SORTS
from vedette.state.shares.group_commit import GroupCommit

EPOCHS = count(1)
NOW_US = 1_700_000_000_000_000
SECOND_US = 1_000_000


def enrolled(
    database: Database,
    hostname: str,
    kind: KeyKind = "sensor",
    previous_key: str = "",
    **reported: Any,
) -> Enrolled:
    secret = enrolment.current_secret(database, groups.DEFAULT_GROUP_ID)
    machine = Machine(hostname, "linux", **reported)
    return enrolment.enrol(database, Sensors(database), secret, machine, kind, NOW_US, previous_key)


def check_in(
    database: Database, sensor_id: int, progress: Progress | None = None, **report: Any
) -> WantedState:
    item = CheckIn(sensor_id, Report(**report), progress or Progress(), NOW_US, 30)
    with database.writing() as connection:
        (found,) = checkins.check_in(connection, [item])
    if isinstance(found, VedetteError):
        raise found
    return found


# --- secrets and keys -------------------------------------------------------------------


def test_a_group_has_one_secret_until_it_is_rotated(database: Database) -> None:
    first = enrolment.current_secret(database, 1)
    assert enrolment.current_secret(database, 1) == first
    second = enrolment.issue_secret(database, 1).secret
    assert enrolment.current_secret(database, 1) == second != first
    assert [one.secret for one in enrolment.group_secrets(database, 1)] == [first, second]


def test_no_secret_is_made_where_all_are_revoked(database: Database) -> None:
    enrolment.current_secret(database, 1)
    (only,) = enrolment.group_secrets(database, 1)
    enrolment.revoke_secret(database, 1, only.id)
    with pytest.raises(ConflictError):
        enrolment.current_secret(database, 1)


def test_secrets_are_those_of_their_group(database: Database) -> None:
    other = groups.add(database, "Other")
    enrolment.current_secret(database, 1)
    (mine,) = enrolment.group_secrets(database, 1)
    with pytest.raises(NotFoundError):
        enrolment.revoke_secret(database, other.id, mine.id)
    with pytest.raises(NotFoundError):
        enrolment.current_secret(database, 404)


@pytest.mark.parametrize("secret", ["", "x", "\0", "\ud800"])
def test_a_secret_that_is_none_lets_nobody_in(database: Database, secret: str) -> None:
    with pytest.raises((UnauthorizedError, BadRequestError)):
        enrolment.enrol(
            database, Sensors(database), secret, Machine("h", "linux"), "sensor", NOW_US
        )


def test_a_host_has_a_key_for_each_of_its_programs(database: Database) -> None:
    keys = SensorKeys(database)
    sensor, node = enrolled(database, "h"), enrolled(database, "h", "osquery")
    assert sensor.sensor.id == node.sensor.id
    for made, kind, other in ((sensor, "sensor", "osquery"), (node, "osquery", "sensor")):
        found = keys.authenticate(made.sensor.id, made.key, kind, NOW_US)  # type: ignore[arg-type]
        assert found is not None
        assert (found.kind, found.name, found.sensor_id) == ("sensor", "h", made.sensor.id)
        assert keys.authenticate(made.sensor.id, made.key, other, NOW_US) is None  # type: ignore[arg-type]


def test_another_server_learns_within_seconds_that_a_key_has_ended(
    another: Callable[[], Database],
) -> None:
    here, there = another(), another()
    keys = SensorKeys(there)
    keys.refresh(NOW_US)
    old = enrolled(here, "h")
    assert keys.authenticate(old.sensor.id, old.key, "sensor", NOW_US) is not None
    enrolled(here, "h", previous_key=old.key)
    keys.refresh(NOW_US + 5 * SECOND_US)
    assert keys.authenticate(old.sensor.id, old.key, "sensor", NOW_US) is None


def test_records_do_not_rename_an_enrolled_sensor(database: Database) -> None:
    made = enrolled(database, "web")
    sensors = Sensors(database)
    first = sensors.resolve({"web.corp": Sighting()}, 1, NOW_US)["web.corp"]
    assert (first.id, first.hostname) == (made.sensor.id, "web")
    second = sensors.resolve({"web.evil": Sighting()}, 1, NOW_US)["web.evil"]
    assert second.id != first.id
    assert Sensors(database).resolve({"web": Sighting()}, 1, NOW_US)["web"].id == first.id


def test_a_key_is_kept_as_a_hash(database: Database) -> None:
    made = enrolled(database, "h")
    with database.reading() as connection:
        row = connection.execute(text("SELECT * FROM sensor")).one()
    assert made.key not in repr(row)


# --- queues -----------------------------------------------------------------------------


def upload(database: Database, sensor_id: int, number: int, epoch: str = "e") -> bool:
    """Whether the block is new; records it when it is."""
    block = Block(sensor_id, epoch, number, number * 7)
    if sensor_queues.stored_before(database, block) is not None:
        return False
    with database.writing() as connection:
        sensor_queues.record(connection, block, NOW_US + number)
    return True


def gaps(database: Database, sensor_id: int) -> tuple[int, int]:
    row = sensor_list.get(database, EVERYTHING, sensor_id)
    return row.sequence_gaps, row.missing_blocks


@settings(
    max_examples=in_form(5, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(numbers=st.lists(st.integers(1, 12), max_size=25))
def test_every_block_is_new_once_in_whatever_order(database: Database, numbers: list[int]) -> None:
    epoch = f"e{next(EPOCHS)}"
    sensor_id = enrolled(database, f"queue-host-{epoch}").sensor.id
    seen: set[int] = set()
    for number in numbers:
        assert upload(database, sensor_id, number, epoch) is (number not in seen)
        seen.add(number)
    with database.reading() as connection:
        known = sensor_queues.progress(connection, sensor_id, epoch)
    assert known.expected == max(seen, default=0) + 1
    assert known.missing_blocks == known.expected - 1 - len(seen)


def test_gaps_of_all_queues_are_shown(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    upload(database, sensor_id, 4)
    upload(database, sensor_id, 2)
    upload(database, sensor_id, 3, "another")
    assert gaps(database, sensor_id) == (3, 4)


def test_another_block_under_a_number_is_a_conflict(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    upload(database, sensor_id, 1)
    with pytest.raises(ConflictError):
        sensor_queues.stored_before(database, Block(sensor_id, "e", 1, 1))


def test_queues_gaps_and_hashes_of_a_sensor_are_bounded(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    for number in range(1, 2 * SENSOR_EPOCHS_MAX):
        upload(database, sensor_id, number, f"e{number}")
    with database.reading() as connection:
        count = connection.execute(text("SELECT count(*) FROM sensor_queue")).scalar()
    assert count is not None
    assert count == SENSOR_EPOCHS_MAX
    known = sensor_queues.QueueProgress()
    for number in range(1, 3 * SENSOR_GAPS_MAX, 2):
        known = sensor_queues.taken(known, number, 1)
    assert len(known.missing) == SENSOR_GAPS_MAX
    assert not any(known.has(number) for number in range(2, 3 * SENSOR_GAPS_MAX, 2))
    assert len(known.hashes) == SENSOR_HASHES_KEPT


def test_an_absurd_number_is_one_gap(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    upload(database, sensor_id, 2**53)
    assert gaps(database, sensor_id) == (1, 2**53 - 1)


# --- check-ins and changes --------------------------------------------------------------


def test_isolation_goes_round_through_its_phases(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    phases = []
    for want, reports in ((True, None), (None, False), (None, True), (False, None), (None, False)):
        if want is not None:
            change = SensorChanges(network_isolation_enabled=want)
            sensor_changes.change(database, sensor_id, change, NOW_US)
        else:
            check_in(database, sensor_id, is_isolating=reports)
        row = sensor_list.get(database, EVERYTHING, sensor_id)
        phases.append((row.network_isolation_enabled, row.is_isolating))
    assert phases == [(True, False), (True, False), (True, True), (False, True), (False, False)]


def test_a_check_in_of_a_sensor_that_is_gone_is_refused(database: Database) -> None:
    with pytest.raises(UnauthorizedError):
        check_in(database, 404)


def test_check_ins_of_one_sensor_in_a_batch_follow_each_other(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    sensor_changes.change(
        database, sensor_id, SensorChanges(restart_queued=True, flush_us=5), NOW_US
    )
    items = [
        CheckIn(sensor_id, Report(uptime_s=1, boot_id="b"), Progress(), NOW_US, 30),
        CheckIn(sensor_id, Report(uptime_s=2), Progress(5, has_restarted=True), NOW_US + 1, 30),
        CheckIn(404, Report(), Progress(), NOW_US, 30),
    ]
    with database.writing() as connection:
        first, second, gone = checkins.check_in(connection, items)
    assert isinstance(first, WantedState)
    assert isinstance(second, WantedState)
    assert (first.restart, first.flush_before_us) == (True, 5)
    assert (second.restart, second.flush_before_us) == (False, 0)
    assert isinstance(gone, UnauthorizedError)
    row = sensor_list.get(database, EVERYTHING, sensor_id)
    assert (row.uptime_s, row.boot_id, row.checkin_us) == (2, "b", NOW_US + 1)


def test_the_mark_changes_with_the_lists_and_the_group(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    marks = [check_in(database, sensor_id).group.mark, check_in(database, sensor_id).group.mark]
    key_values.save(database, "ban_version", "1")
    marks.append(check_in(database, sensor_id).group.mark)
    group = groups.add(database, "Other")
    sensor_changes.change(database, sensor_id, SensorChanges(group_id=group.id), NOW_US)
    marks.append(check_in(database, sensor_id).group.mark)
    assert marks[0] == marks[1]
    assert len(set(marks)) == 3


def test_a_group_says_how_often_its_sensors_come(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    assert check_in(database, sensor_id).interval_s == 30
    options = {"checkin_interval_s": 300, "collect_netconns": False}
    groups.change(database, groups.DEFAULT_GROUP_ID, groups.GroupChanges(options=options))
    standing = check_in(database, sensor_id)
    assert standing.interval_s == 300
    assert standing.group.settings.not_collected == ("amsi", "netconns", "storefiles")
    row = sensor_list.get(database, EVERYTHING, sensor_id)
    assert row.next_checkin_us == NOW_US + 300 * SECOND_US


def test_no_group_lets_a_large_fleet_come_too_often(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    options = {"checkin_interval_s": 5}
    groups.change(database, groups.DEFAULT_GROUP_ID, groups.GroupChanges(options=options))
    item = CheckIn(sensor_id, Report(), Progress(), NOW_US, 30, least_interval_s=20)
    with database.writing() as connection:
        (standing,) = checkins.check_in(connection, [item])
    assert isinstance(standing, WantedState)
    assert standing.interval_s == 20


def test_osquery_next_to_a_sensor_does_not_check_in_for_it(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    check_in(database, sensor_id)
    with database.writing() as connection:
        os_type = checkins.note_contact(connection, sensor_id, NOW_US + 9 * SECOND_US)
    row = sensor_list.get(database, EVERYTHING, sensor_id)
    assert (os_type, row.checkin_us) == ("linux", NOW_US)
    assert row.last_seen_us == NOW_US + 9 * SECOND_US


@pytest.mark.parametrize(
    "changes",
    [
        SensorChanges(network_isolation_enabled=True),
        SensorChanges(restart_queued=True),
        SensorChanges(uninstall=True),
        SensorChanges(flush_us=1),
    ],
    ids=str,
)
def test_orders_need_a_sensor_to_follow_them(database: Database, changes: SensorChanges) -> None:
    never = enrolled(database, "by-osquery", "osquery").sensor.id
    gone = enrolled(database, "gone").sensor.id
    check_in(database, gone, Progress(is_uninstalling=True))
    for sensor_id in (never, gone):
        with pytest.raises(ConflictError):
            sensor_changes.change(database, sensor_id, changes, NOW_US)
        sensor_changes.change(database, sensor_id, SensorChanges(notes="x"), NOW_US)


def test_a_sensor_moves_only_to_a_group_that_exists(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    with pytest.raises(BadRequestError):
        sensor_changes.change(database, sensor_id, SensorChanges(group_id=404), NOW_US)
    group = groups.add(database, "Other")
    sensor_changes.change(database, sensor_id, SensorChanges(group_id=group.id), NOW_US)
    assert sensor_list.get(database, EVERYTHING, sensor_id).group_id == group.id


@pytest.mark.parametrize("sort", SORTS)
def test_every_sort_lists_every_sensor_once(database: Database, sort: str) -> None:
    for name in ("a", "b", "c"):
        check_in(database, enrolled(database, name).sensor.id)
    for is_descending in (False, True):
        query = SensorQuery(sort=sort, is_descending=is_descending)
        found = sensor_list.page(database, EVERYTHING, query, NOW_US).sensors
        assert sorted(row.hostname for row in found) == ["a", "b", "c"]


def test_totals_are_those_of_the_scope(database: Database) -> None:
    ids = [enrolled(database, name).sensor.id for name in ("a", "b")]
    for sensor_id in ids:
        check_in(database, sensor_id, eventlog_bytes=2**62 // 2, storefiles_bytes=3)
    found = sensor_list.totals(database, EVERYTHING, NOW_US)
    assert (found.sensors, found.active, found.eventlog_bytes) == (2, 2, 2**62)
    assert sensor_list.totals(database, Scope(frozenset(ids[:1])), NOW_US).storefiles_bytes == 3
    assert sensor_list.totals(database, Scope(frozenset()), NOW_US).sensors == 0


def test_the_pace_slows_with_the_fleet(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    interval = CheckinInterval(database, 30)
    for name in ("a", "b", "c"):
        check_in(database, enrolled(database, name).sensor.id)
    interval.refresh()
    assert interval.interval_s == 30
    monkeypatch.setattr("vedette.state.sensors.checkins.CHECKINS_A_SECOND_MAX", 0.05)
    interval.refresh()
    assert interval.interval_s == 60


# --- group commit -----------------------------------------------------------------------


def test_works_of_one_batch_are_all_durable_and_answered(another: Callable[[], Database]) -> None:
    database = another()
    ids = [enrolled(database, f"h{number}").sensor.id for number in range(8)]
    commits = GroupCommit(database)
    with ThreadPoolExecutor(8) as threads:

        def work(one: int) -> WantedState:
            item = CheckIn(one, Report(uptime_s=one), Progress(), NOW_US, 30)
            return commits.submit_to(checkins.check_in, one, item).result(30)

        assert [standing.id for standing in threads.map(work, ids)] == ids
    commits.close()
    rows = [sensor_list.get(another(), EVERYTHING, one) for one in ids]
    assert [row.uptime_s for row in rows] == ids


def test_a_work_that_fails_costs_no_other(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    commits = GroupCommit(database)

    def broken(connection: Any) -> None:
        connection.execute(text("INSERT INTO site (name) VALUES ('Default Site')"))

    def refused(_connection: Any) -> None:
        raise NotFoundError("no")

    futures = [commits.submit(key, work) for key, work in enumerate((broken, refused))]
    item = CheckIn(sensor_id, Report(uptime_s=5), Progress(), NOW_US, 30)
    good = commits.submit_to(checkins.check_in, sensor_id, item)
    assert good.result(30).id == sensor_id
    assert isinstance(futures[1].exception(30), NotFoundError)
    assert isinstance(futures[0].exception(30), ConflictError)
    commits.close()
    assert sensor_list.get(database, EVERYTHING, sensor_id).uptime_s == 5
