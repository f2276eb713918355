"""The largest change that a caller can ask for keeps no other writer waiting: it is cut into
transactions of a bounded number of rows. On both databases."""

import pytest

from tests.contract.state.test_fleet import NOW_US, enrolled
from vedette import limits
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database
from vedette.state.files import binary_orders
from vedette.state.files.binary_orders import Refusal
from vedette.state.policy import bans, rule_counts, rules
from vedette.state.policy.bans import BANS_ENDED_MAX, BanAuthor, BlockedProgram, Reporter
from vedette.state.policy.sigma_rule import NewSigmaRule, RuleCounts
from vedette.state.sensors import live_queries
from vedette.web.fleet.live_queries_routes import LIVE_QUERY_SENSORS_MAX

COUNT = 700
"""Rules whose import in one transaction would be above the bound."""
MOST = limits.STATE_TRANSACTION_ROWS_MAX


def documents(version: str) -> list[NewSigmaRule]:
    return [
        NewSigmaRule(
            id=f"00000000-0000-4000-8000-{number:012d}",
            kind="rule",
            text=f"title: {number} {version}",
            title=str(number),
            level="medium",
            status="",
            version=version,
            origin="",
            compiled="x",
            codec=1,
            problem_reason="",
            problem_message="",
        )
        for number in range(COUNT)
    ]


def counted(events: int, last_hit_us: int) -> RuleCounts:
    return RuleCounts(events=events, hits=1, verify_us=1, last_hit_us=last_hit_us)


@pytest.fixture
def database_of_people(database: Database) -> Database:
    """With an audit log: changes of the server itself and of people are in it."""
    database.largest.rows = 0
    return database


def test_rules_are_imported_switched_and_deleted_in_pieces(database_of_people: Database) -> None:
    database = database_of_people
    with acting_as(Author("user", "ann")):
        assert rules.put(database, documents("1"), "ann", 1) == ["added"] * COUNT
        assert rules.put(database, documents("2"), "ann", 2) == ["changed"] * COUNT
        assert rules.recompiled(database, documents("2"), 0)
        ids = [one.id for one in documents("2")]
        rules.switch(database, ids, "ann", 3, enabled=False)
        rule_counts.add(database, {one: counted(1, 5) for one in ids})
        rule_counts.add(database, {one: counted(2, 4) for one in ids[:1]})
        rules.remove(database, ids[1:], "ann", 4)
    assert 0 < database.largest.rows <= MOST
    (left,) = rules.outdated(database, 2)
    assert left.id == ids[0]
    kept = rules.get(database, left.id).counts
    assert kept == RuleCounts(events=3, hits=2, verify_us=2, last_hit_us=5)


def test_a_list_of_blocks_and_refusals_of_a_sensor_is_one_small_transaction(
    database: Database,
) -> None:
    sensor = enrolled(database, "host").sensor
    ann = BanAuthor(1, "ann")
    bans.add(database, f"{7:032x}", "", ann, NOW_US)
    database.largest.rows = 0
    blocks = [BlockedProgram(f"{n:032x}", n, 2) for n in range(limits.SENSOR_LIST_MAX)]
    bans.count_blocks(database, Reporter(sensor.id, "host"), blocks)
    assert database.largest.rows <= MOST
    counted = bans.get(database, f"{7:032x}")
    assert (counted.block_count, counted.last_block_us) == (2, 7)
    assert (counted.last_block_sensor_id, counted.last_block_hostname) == (sensor.id, "host")
    database.largest.rows = 0
    refusals = [Refusal(f"{n:032x}", "", "gone") for n in range(limits.SENSOR_LIST_MAX)]
    binary_orders.refuse(database, sensor.id, refusals, NOW_US)
    assert database.largest.rows == 0, "nothing was ordered, so nothing is written"


def test_bans_that_end_together_end_in_pieces(database: Database) -> None:
    count = BANS_ENDED_MAX + 1
    for number in range(count):
        bans.add(database, f"{number:032x}", "", BanAuthor(0, "x"), NOW_US, expires_us=NOW_US + 1)
    database.largest.rows = 0
    ended = [bans.end_expired(database, NOW_US + 1) for _ in range(3)]
    assert ended == [BANS_ENDED_MAX, 1, 0]
    assert database.largest.rows <= MOST


def test_a_live_query_for_many_hosts_is_one_bounded_transaction(database: Database) -> None:
    asked = [enrolled(database, f"h{n}", "osquery").sensor.id for n in range(20)]
    database.largest.rows = 0
    live_queries.place(database, "SELECT 1", asked, "eve", NOW_US)
    for_one = database.largest.rows - len(asked)
    assert for_one + LIVE_QUERY_SENSORS_MAX <= MOST


def test_a_connection_that_is_lost_within_a_transaction_fails_with_its_own_error(
    database: Database,
) -> None:
    def lose() -> None:
        with database.writing() as connection:
            connection.invalidate()
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        lose()
