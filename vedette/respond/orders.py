"""The orders of one check-in that are not columns of the sensor: bans, updates, files.

Each function answers one member of the check-in's answer (docs/sensor-protocol.md), and None or
nothing when the sensor is up to date. All of them may ask the database.
"""

from collections.abc import Sequence
from typing import Any

from vedette.respond import bans
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.policy.bans import Teller
from vedette.state.sensors.checkins import Standing
from vedette.state.sensors.sensor_packages import package_of

Body = dict[str, Any]


def ban_orders(database: Database, sensor: Standing, version: int) -> Body | None:
    """What changed in the list of bans since the sensor's version: `{version, full, add, remove}`;
    None when nothing did."""
    return bans.ban_orders(database, sensor.group_id, version)


def note_blocks(
    database: Database, sensor: Standing, blocks: list[Body], number: int, now_us: int
) -> None:
    """Takes what the sensor kept from starting: `{md5, sha256, path, pid, time_us, count}`. The
    list that was taken last from this sensor is not taken again; `number` names it."""
    teller = Teller(sensor.id, sensor.hostname, number)
    bans.count_blocks(database, teller, blocks, now_us)


def isolation_allow(database: Database, sensor: Standing, always: Sequence[str]) -> list[str]:
    """What an isolated sensor may still speak to, beside the server: `address` or
    `address:port`. What the server's settings allow, and the sensor's group."""
    if not sensor.isolate:
        return list(always)
    exclusions = groups.get(database, sensor.group_id).options.isolation_exclusions
    return [*always, *(one.ip_address for one in exclusions if one.enabled)]


def update_order(database: Database, sensor: Standing) -> Body | None:
    """The package that the sensor should become: `{version, url_path, sha256, size}`; None when
    there is none, or it is what runs already."""
    package = package_of(database, sensor.os_type)
    if package is None or package.version == sensor.sensor_version:
        return None
    return {
        "version": package.version,
        "url_path": f"/sensor/v1/packages/{package.sha256}",
        "sha256": package.sha256,
        "size": package.size,
    }


def wanted_binaries(_database: Database, _sensor: Standing) -> list[Body]:
    """Programs that somebody asked for: `{md5, sha256}`. Sensors offer what they see by
    themselves, so mostly none."""
    return []
