"""Live queries: who is asked, whose answer counts, and when they end, on both databases."""

import pytest

from tests.contract.state.test_fleet import NOW_US, enrolled
from vedette.errors import ConflictError, NotFoundError
from vedette.model.scope import EVERYTHING, Scope
from vedette.state.db.database import Database
from vedette.state.sensors import live_queries
from vedette.state.sensors.live_queries import LIVE_QUERY_EXPIRES_US, LIVE_QUERY_KEPT_US


def test_an_answer_counts_once_and_only_from_who_was_asked(database: Database) -> None:
    asked = enrolled(database, "asked", "osquery").sensor.id
    other = enrolled(database, "other", "osquery").sensor.id
    query_id = live_queries.place(database, "SELECT 1", [asked], "eve", NOW_US)
    assert live_queries.waiting_for(database, asked)
    assert not live_queries.waiting_for(database, other)
    with database.writing() as connection:
        assert live_queries.hand_out(connection, asked, NOW_US) == {str(query_id): "SELECT 1"}
        for sensor_id, value in ((other, "x"), (asked, "1"), (asked, "2")):
            answer = live_queries.encoded_answer(query_id, [{"a": value}], 0, "")
            live_queries.record(connection, sensor_id, answer, NOW_US)
    (target,) = live_queries.get(database, EVERYTHING, query_id, NOW_US).targets
    assert target.rows == [{"a": "1"}]
    with pytest.raises(NotFoundError):
        live_queries.get(database, Scope(frozenset({other})), query_id, NOW_US)


def test_a_query_expires_and_is_forgotten(database: Database) -> None:
    asked = enrolled(database, "asked", "osquery").sensor.id
    query_id = live_queries.place(database, "SELECT 1", [asked], "eve", NOW_US)
    late_us = NOW_US + LIVE_QUERY_EXPIRES_US
    with database.writing() as connection:
        assert live_queries.hand_out(connection, asked, late_us) == {}
    (target,) = live_queries.get(database, EVERYTHING, query_id, late_us).targets
    assert target.state == "expired"
    after_us = NOW_US + LIVE_QUERY_KEPT_US + 1
    live_queries.place(database, "SELECT 2", [asked], "eve", after_us)
    assert live_queries.get(database, EVERYTHING, query_id, after_us).sql == "SELECT 1"
    with database.writing() as connection:
        live_queries.delete_old(connection, after_us)
    with pytest.raises(NotFoundError):
        live_queries.get(database, EVERYTHING, query_id, after_us)


def test_hosts_without_osquery_cannot_be_asked(database: Database) -> None:
    sensor_id = enrolled(database, "h").sensor.id
    with pytest.raises(ConflictError):
        live_queries.place(database, "SELECT 1", [sensor_id], "eve", NOW_US)
