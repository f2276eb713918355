"""What sensors are told of bans, and what they tell back."""

from collections.abc import Mapping, Sequence
from typing import Any

from vedette.limits import SENSOR_NUMBER_MAX
from vedette.state.db.database import Database
from vedette.state.policy import bans, groups
from vedette.state.policy.bans import Ban, Block, Teller


def ban_orders(database: Database, group_id: int, since_version: int) -> dict[str, Any] | None:
    """What a sensor of the group has to change: `{"version", "full", "add", "remove"}`; None when
    `since_version` is what it should have.

    The number is twice the version of the list, and odd where the group enforces bans (0 while
    nothing was ever banned): so it also changes when the group is switched, or the sensor moves
    to another group.
    """
    with database.reading() as connection:
        version = bans.version(connection)
        is_enforced = bool(version) and groups.enforces_bans(connection, group_id)
        number = version * 2 + is_enforced
        if number == since_version:
            return None
        is_behind = 1 < since_version < number and since_version % 2 == is_enforced
        switched = bans.switched_since(connection, since_version // 2 if is_behind else 0)
    return {
        "version": number,
        "full": not is_behind,
        "add": [_hashes(ban) for ban in switched if ban.enabled and is_enforced],
        "remove": [ban.md5 for ban in switched if not ban.enabled and is_behind],
    }


def count_blocks(
    database: Database, teller: Teller, blocks: Sequence[Mapping[str, Any]], now_us: int
) -> None:
    """Counts what a sensor says that it kept from starting: `{"md5", "time_us", "count"}`. A
    time ahead of the server's counts as now."""
    told = [
        Block(
            str(one["md5"]).lower(),
            min(int(one.get("time_us") or now_us), now_us),
            min(max(int(one.get("count") or 1), 1), SENSOR_NUMBER_MAX >> 32),
        )
        for one in blocks
        if one.get("md5")
    ]
    if told:
        bans.count_blocks(database, teller, told)


def _hashes(ban: Ban) -> dict[str, str]:
    return {"md5": ban.md5, "sha256": ban.sha256} if ban.sha256 else {"md5": ban.md5}
