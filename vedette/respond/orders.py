"""The orders of a check-in that are not columns of the sensor: bans and updates.

Each function returns one member of the check-in's response (docs/sensor-checkin.md), and None or
an empty value if the sensor is up to date. All of them may read the database.
"""

from collections.abc import Sequence
from typing import Any

from vedette.model.group import LATEST, MANUAL
from vedette.respond import bans
from vedette.respond.isolation_reach import allowed
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.policy.bans import Reporter
from vedette.state.sensors.checkins import WantedState
from vedette.state.sensors.sensor_packages import package_of
from vedette.state.sensors.update_signing import sign_update

Body = dict[str, Any]


def ban_orders(database: Database, sensor: WantedState, version: int) -> Body | None:
    """Returns the changes of the ban list since the sensor's version as `{version, full, add,
    remove}`; None if there are none."""
    return bans.ban_orders(database, sensor.group_id, version)


def note_blocks(
    database: Database, sensor: WantedState, blocks: list[Body], number: int, now_us: int
) -> None:
    """Counts the blocks that the sensor reports: `{md5, sha256, path, pid, time_us, count}`. Skips
    the list if its `number` was the last one counted for this sensor."""
    reporter = Reporter(sensor.id, sensor.hostname, number)
    bans.count_blocks(database, reporter, blocks, now_us)


def isolation_allow(database: Database, sensor: WantedState, always: Sequence[str]) -> list[str]:
    """Returns the addresses that an isolated sensor can still reach (`isolation_reach.allowed`)."""
    if not sensor.isolate:
        return list(always)
    return allowed(always, groups.get(database, sensor.group_id).options.isolation_exclusions)


def update_order(database: Database, sensor: WantedState) -> Body | None:
    """Returns the package that the sensor should install: `{version, url_path, sha256, size,
    signature}`.

    None if the sensor's group does not request its version (`sensor_version_*` is `Manual` unless
    it is set to a version or `Latest`), if no package is registered, or if the sensor already runs
    it.
    """
    package = package_of(database, sensor.os_type)
    wanted = dict(sensor.group.settings.versions).get(sensor.os_type, MANUAL)
    if package is None or package.version == sensor.sensor_version:
        return None
    if wanted != package.version and wanted.lower() != LATEST:
        return None
    return kit_order(database, package.version, package.sha256, package.size)


def kit_order(database: Database, version: str, sha256: str, size: int) -> Body:
    """Returns the signed order to install a package."""
    return {
        "version": version,
        "url_path": f"/sensor/v1/packages/{sha256}",
        "sha256": sha256,
        "size": size,
        "signature": sign_update(database, version, sha256),
    }
