"""The list of bans that a sensor enforces, and the blocks that it reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from vedette.limits import SENSOR_NUMBER_MAX
from vedette.state.db.database import Database
from vedette.state.policy import bans, groups
from vedette.state.policy.bans import Ban, BlockedProgram, Reporter


def ban_orders(database: Database, group_id: int, since_version: int) -> dict[str, Any] | None:
    """The difference to the list of a sensor of the group: `{"version", "full", "add", "remove"}`;
    None when `since_version` is current.

    The number is twice the version of the list, and odd where the group enforces bans (0 while
    nothing was ever banned), so that it also changes with the group's setting and when the sensor
    moves to another group. Programs are blocked by either of their hashes.
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
    """Count the blocks that a sensor reports: `{"md5", "time_us", "count"}`. A time ahead of the
    server's counts as now."""
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
