"""Sensor-update jobs: a fleet of 10,000 with failures, expiry, and devices without a kit."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from sqlalchemy import insert

from tests.support.forms import in_form
from vedette.limits import DEVICE_ROWS_MAX
from vedette.model.scope import EVERYTHING, Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.devices import device_list, update_jobs
from vedette.state.devices.device_list import DeviceFilter
from vedette.state.devices.update_failures import fail_waiting
from vedette.state.devices.update_jobs import Kit, NewJob, Waves
from vedette.state.devices.update_progress import Sighting, UpdateTargets, advance, note_download

NOW_US = 1_700_000_000_000_000
OLD, NEW = "1.0.0.0", "2.0.0.0"
KITS = {"UBUNTU": Kit(NEW, "a" * 64, 1_000)}
DAY_US = 86_400_000_000


def fleet(database: Database, count: int, os_version: str = "Ubuntu 24.04") -> list[int]:
    """Ids of that many Linux sensors."""
    rows = [
        {
            "hostname": f"dev-{number}.example",
            "computer_name": f"DEV-{number}",
            "group_id": 1,
            "os_type": "linux",
            "os_version": os_version,
            "sensor_version": OLD,
            "key_sha256": bytes(32),
            "network_isolation_enabled": False,
            "is_isolating": False,
            "restart_queued": False,
            "uninstall": False,
        }
        for number in range(count)
    ]
    with database.writing() as connection:
        connection.execute(insert(SENSOR), rows)
    found = device_list.search(database, EVERYTHING, DeviceFilter({}, {}), (), NOW_US)
    return [one.sensor.id for one in found]


def job_for(
    database: Database,
    ids: list[int],
    missing: tuple[int, ...] = (),
    waves: Waves = Waves(),
) -> str:
    known = device_list.known(database, EVERYTHING, ids, NOW_US)
    devices = [known[one] for one in ids]
    new = NewJob("me", KITS, devices, missing, waves, NOW_US, NOW_US + DAY_US)
    return update_jobs.create(database, new)


def checks_in(database: Database, ids: list[int], version: str, problem: str = "Healthy") -> None:
    with database.writing() as connection:
        for one in ids:
            advance(connection, Sighting(one, version, problem, NOW_US + 1_000_000))


def test_a_job_of_ten_thousand_devices_ends_with_each_in_its_state(database: Database) -> None:
    # Each check-in is some questions, and PostgreSQL's go over a connection: a tenth there.
    many = DEVICE_ROWS_MAX if database.engine.dialect.name == "sqlite" else DEVICE_ROWS_MAX // 10
    # In the short form most devices of the job are silent, so that a tenth of them check in.
    received = in_form(many // 10, many)
    ids = fleet(database, many - 3)
    job_id = job_for(database, ids, missing=(999_001, 999_002, 999_003))
    targets = UpdateTargets(database)
    targets.refresh()
    assert all(targets.waits(one) for one in ids)
    random.Random(3).shuffle(ids)
    cuts = (0, 8 * received // 10, 9 * received // 10, 95 * received // 100, many)
    updated, refused, fetching, silent = (ids[a:b] for a, b in pairwise(cuts))
    checks_in(database, [*updated, *refused, *fetching], OLD)
    with database.writing() as connection:
        for one in (*updated, *fetching):
            note_download(connection, one, "a" * 64)
            note_download(connection, one, "b" * 64)
    states = Counter(one.state for one in update_jobs.targets(database, EVERYTHING, job_id))
    assert states == {
        "DOWNLOADED": len(updated) + len(fetching),
        "HINTED": len(refused),
        "NOT_HINTED": len(silent),
        "FAILED": 3,
    }
    checks_in(database, updated, NEW)
    checks_in(database, refused, OLD, "update: UpdateError: not signed")
    running = update_jobs.get(database, EVERYTHING, job_id)
    assert running.status == "IN_PROGRESS"
    assert running.targeted == many
    update_jobs.expire(database, NOW_US + DAY_US - 1)
    assert update_jobs.get(database, EVERYTHING, job_id).status == "IN_PROGRESS"
    update_jobs.expire(database, NOW_US + DAY_US)
    done = update_jobs.get(database, EVERYTHING, job_id)
    assert (done.status, done.ended_us) == ("COMPLETED", NOW_US + DAY_US)
    assert sorted(done.updated) == sorted(updated)
    failed = {reason: sorted(found) for reason, found in done.failed.items() if found}
    assert failed == {
        "NO_DATA_FOUND": [999_001, 999_002, 999_003],
        "UPDATE_REFUSED": sorted(refused),
        "JOB_EXPIRED": sorted([*fetching, *silent]),
    }
    targets.refresh()
    assert not any(targets.waits(one) for one in ids)
    # Too late: what was decided stays.
    checks_in(database, silent[:1], NEW)
    assert update_jobs.get(database, EVERYTHING, job_id).updated == done.updated


def test_a_job_whose_devices_all_ended_does_not_expire(database: Database) -> None:
    ids = fleet(database, 3)
    job_id = job_for(database, ids)
    checks_in(database, ids, NEW)
    done = update_jobs.get(database, EVERYTHING, job_id)
    assert done.status == "COMPLETED"
    update_jobs.expire(database, NOW_US + 2 * DAY_US)
    assert update_jobs.get(database, EVERYTHING, job_id) == done


@pytest.mark.parametrize("os_version", ["Red Hat Enterprise Linux 9", "Plan 9"])
def test_devices_that_no_kit_fits_fail_at_once(database: Database, os_version: str) -> None:
    job_id = job_for(database, fleet(database, 2, os_version))
    done = update_jobs.get(database, EVERYTHING, job_id)
    assert done.status == "COMPLETED"
    assert len(done.failed["JOB_INITIALIZATION"]) == 2


def wanted_now(database: Database, ids: list[int]) -> list[int]:
    """Returns the sensors that get an order to install a version at check-in."""
    with database.writing() as connection:
        orders = [advance(connection, Sighting(one, OLD, "Healthy", NOW_US)) for one in ids]
    return [one for one, order in zip(ids, orders, strict=True) if order is not None]


@pytest.mark.parametrize(("percent", "sizes"), [(25, [3, 2, 3, 2]), (50, [5, 5]), (100, [10])])
def test_each_wave_begins_when_nothing_of_the_one_before_waits(
    database: Database, percent: int, sizes: list[int]
) -> None:
    ids = fleet(database, 10)
    job_id = job_for(database, ids, waves=Waves(percent, failures_max=2))
    begun: list[int] = []
    for size in sizes:
        now = [one for one in wanted_now(database, ids) if one not in begun]
        assert len(now) == size
        begun += now
        # All but the last of a wave: the next one waits.
        checks_in(database, now[:-1], NEW)
        assert set(wanted_now(database, ids)) <= set(now)
        checks_in(database, now[-1:], NEW)
    assert update_jobs.get(database, EVERYTHING, job_id).status == "COMPLETED"


def test_waves_stop_after_one_failure_more_than_the_limit(database: Database) -> None:
    ids = fleet(database, 10)
    job_id = job_for(database, ids, waves=Waves(50, failures_max=2))
    first = wanted_now(database, ids)
    for number, one in enumerate(first[:3]):
        assert update_jobs.get(database, EVERYTHING, job_id).status == "IN_PROGRESS", number
        checks_in(database, [one], OLD, "update: UpdateError: not signed")
    assert update_jobs.get(database, EVERYTHING, job_id).status == "CANCELLED"
    assert wanted_now(database, ids) == []
    fail_waiting(database)
    job = update_jobs.get(database, EVERYTHING, job_id)
    assert (len(job.failed["UPDATE_REFUSED"]), len(job.failed["JOB_CANCELLED"])) == (3, 7)
    assert wanted_now(database, ids) == []


def test_the_rate_of_a_job_is_what_it_moved_since_it_began_and_says_what_is_left(
    database: Database,
) -> None:
    ids = fleet(database, 10)
    job_id = job_for(database, ids, missing=(999_999,))
    hour_us = DAY_US // 24
    assert update_jobs.get(database, EVERYTHING, job_id).pace(NOW_US + hour_us).left_s is None
    wanted_now(database, ids)
    checks_in(database, ids[:2], NEW)
    job = update_jobs.get(database, EVERYTHING, job_id)
    pace = job.pace(NOW_US + hour_us)  # the device that there is not was never waited for
    assert (pace.per_hour, pace.left_s, pace.is_late) == (2.0, 4 * 3600, False)
    assert job.pace(NOW_US + 12 * hour_us).is_late  # 48 hours left, and it ends after 24
    checks_in(database, ids[2:], NEW)
    done = update_jobs.get(database, EVERYTHING, job_id)
    assert (done.status, done.pace(NOW_US + DAY_US).left_s) == ("COMPLETED", 0)


def test_jobs_that_run_are_counted_by_the_devices_that_the_caller_sees(database: Database) -> None:
    ids = fleet(database, 4)
    job_id = job_for(database, ids)
    ended = job_for(database, [], missing=(999_999,))
    wanted_now(database, ids)
    checks_in(database, ids[:1], NEW)
    assert update_jobs.get(database, EVERYTHING, ended).status == "COMPLETED"
    (found,) = update_jobs.running(database, EVERYTHING)
    assert (found.id, found.targeted, found.waiting, found.failed) == (job_id, 4, 3, 0)
    (mine,) = update_jobs.running(database, Scope(frozenset(ids[:2])))
    assert (mine.targeted, mine.waiting) == (2, 1)
    assert update_jobs.running(database, Scope(frozenset([ids[-1] + 1_000]))) == []
