"""Group commits: what one caller's work may cost the others, on both databases."""

from concurrent.futures import Future
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, text, update

from tests.contract.state.test_fleet import NOW_US, enrolled
from vedette.errors import ConflictError
from vedette.state.db.database import Database
from vedette.state.db.schema import VALUE
from vedette.state.db.statement_budget import OversizedWorkError
from vedette.state.sensors import live_queries
from vedette.state.sensors.live_queries import LIVE_QUERIES_HANDED_MAX
from vedette.state.shares.group_commit import (
    STATE_COMMIT_BYTES_MAX,
    STATE_WORK_BYTES_MAX,
    STATE_WORK_ROWS_MAX,
    GroupCommit,
)

ONE = text("SELECT 1")


def put(name: str, value: str = "x") -> Any:
    return lambda connection: connection.execute(insert(VALUE).values(name=name, value=value))


def names(database: Database) -> set[str]:
    with database.reading() as connection:
        return {name for name in connection.scalars(select(VALUE.c.name)) if "work" in name}


def together(database: Database, works: list[Any]) -> list[Future[Any]]:
    """Submits works so that they share a transaction; their futures, done."""
    commits = GroupCommit(database)
    found = [commits.submit(number, work) for number, work in enumerate(works)]
    commits.close()
    return found


def looping(connection: Connection) -> None:
    for _ in range(STATE_WORK_ROWS_MAX + 1):
        connection.execute(ONE)


def bulky(connection: Connection) -> None:
    rows = [{"name": f"work {n}", "value": ""} for n in range(STATE_WORK_ROWS_MAX + 1)]
    connection.execute(insert(VALUE), rows)


def changing_many(connection: Connection) -> None:
    connection.execute(update(VALUE).where(VALUE.c.name.startswith("many ")).values(value="y"))


def large(connection: Connection) -> None:
    put("work large", "x" * (STATE_WORK_BYTES_MAX + 1))(connection)


@pytest.mark.parametrize("work", [looping, bulky, changing_many, large])
def test_work_above_its_bounds_fails_alone(database: Database, work: Any) -> None:
    with database.writing() as connection:
        many = [{"name": f"many {n}", "value": "x"} for n in range(2 * STATE_WORK_ROWS_MAX)]
        connection.execute(insert(VALUE), many)
    before, bad, after = together(database, [put("work 1"), work, put("work 2")])
    assert isinstance(bad.exception(), OversizedWorkError)
    assert (before.exception(), after.exception()) == (None, None)
    assert names(database) == {"work 1", "work 2"}


def test_work_at_its_bounds_is_done(database: Database) -> None:
    def work(connection: Connection) -> None:
        for _ in range(STATE_WORK_ROWS_MAX - 1):
            connection.execute(ONE)
        put("work", "x" * (STATE_WORK_BYTES_MAX - len("work")))(connection)

    (done,) = together(database, [work])
    assert done.exception() is None


def test_work_that_declares_its_bytes_may_write_them(database: Database) -> None:
    commits = GroupCommit(database)
    size = STATE_COMMIT_BYTES_MAX
    found = [commits.submit(n, put(f"work {n}", "x" * size), size) for n in range(3)]
    commits.close()
    assert [one.exception() for one in found] == [None] * 3
    assert len(names(database)) == 3


def test_a_refusal_leaves_the_bounds_of_the_next_work_alone(database: Database) -> None:
    def refusing(connection: Connection) -> None:
        connection.execute(ONE)
        raise ConflictError("no")

    found = together(database, [refusing] * 3 + [put("work")])
    assert [type(one.exception()) for one in found] == [ConflictError] * 3 + [type(None)]


def test_a_host_is_handed_a_bounded_number_of_live_queries_and_all_in_turn(
    database: Database,
) -> None:
    asked = enrolled(database, "asked", "osquery").sensor.id
    count = 2 * LIVE_QUERIES_HANDED_MAX + 1
    for number in range(count):
        live_queries.place(database, f"SELECT {number}", [asked], "eve", NOW_US)
    handed: list[str] = []
    for turn in range(3):
        with database.writing() as connection:
            found = live_queries.hand_out(connection, asked, NOW_US + 1 + turn)
        assert len(found) <= LIVE_QUERIES_HANDED_MAX
        handed += found.values()
    assert set(handed) == {f"SELECT {number}" for number in range(count)}


def test_a_host_answers_only_what_it_was_handed(database: Database) -> None:
    asked = enrolled(database, "asked", "osquery").sensor.id
    placed = live_queries.place(database, "SELECT 1", [asked], "eve", NOW_US)
    assert live_queries.sent_to(database, asked) == frozenset()
    answer = live_queries.encoded_answer(placed, [{"a": "1"}], 0, "")
    with database.writing() as connection:
        live_queries.record(connection, asked, answer, NOW_US)
    assert live_queries.waiting_for(database, asked)
    with database.writing() as connection:
        live_queries.hand_out(connection, asked, NOW_US)
    assert live_queries.sent_to(database, asked) == {placed}
