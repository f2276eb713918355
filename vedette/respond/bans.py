"""Bans that a sensor must enforce, and blocks that it reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from vedette.limits import SENSOR_NUMBER_MAX
from vedette.record.objects.ban import Ban
from vedette.state.db.database import Database
from vedette.state.policy import bans, groups
from vedette.state.policy.bans import BlockedProgram, Reporter


def ban_orders(database: Database, group_id: int, since_version: int) -> dict[str, Any] | None:
    """Returns the changes of the list for a sensor of the group: `{"version", "full", "add",
    "remove"}`; None if `since_version` is current.

    The version is twice the version of the list (0 before the first ban), plus 1 if the group
    enforces bans. It therefore also changes with the group's setting, and when the sensor moves to
    a group with another setting. A sensor blocks a program that has either hash.
    """
    with database.reading() as connection:
        version = bans.version(connection)
        is_enforced = bool(version) and groups.enforces_bans(connection, group_id)
        number = version * 2 + is_enforced
        if number == since_version:
            return None
        is_behind = 1 < since_version < number and since_version % 2 == is_enforced
        changed = bans.changed_since(connection, since_version // 2 if is_behind else 0)
    return {
        "version": number,
        "full": not is_behind,
        "add": [_hashes(ban) for ban in changed if ban.enabled and is_enforced],
        "remove": [ban.md5 for ban in changed if not ban.enabled and is_behind],
    }


def count_blocks(
    database: Database, reporter: Reporter, blocks: Sequence[Mapping[str, Any]], now_us: int
) -> None:
    """Counts the blocks that a sensor reports: `{"md5", "time_us", "count"}`. A time in the future
    is replaced by the current time."""
    reported = [
        BlockedProgram(
            str(one["md5"]).lower(),
            min(int(one.get("time_us") or now_us), now_us),
            min(max(int(one.get("count") or 1), 1), SENSOR_NUMBER_MAX >> 32),
        )
        for one in blocks
        if one.get("md5")
    ]
    if reported:
        bans.count_blocks(database, reporter, reported)


def _hashes(ban: Ban) -> dict[str, str]:
    return {"md5": ban.md5, "sha256": ban.sha256} if ban.sha256 else {"md5": ban.md5}
