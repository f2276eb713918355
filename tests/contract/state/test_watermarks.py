"""Watermarks of followers."""

import pytest

from vedette.state.db.database import Database
from vedette.state.jobs import watermarks


def test_a_new_follower_has_none(database: Database) -> None:
    assert watermarks.load(database, "watchlists") is None


def test_it_rises_and_never_falls(database: Database) -> None:
    for seq in (0, 5, 9, 7):
        with database.writing() as connection:
            watermarks.save(connection, "watchlists", seq)
    assert watermarks.load(database, "watchlists") == 9
    assert watermarks.load(database, "indicators") is None


def test_it_is_not_saved_without_what_was_done(database: Database) -> None:
    def fail_halfway() -> None:
        with database.writing() as connection:
            watermarks.save(connection, "watchlists", 5)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert watermarks.load(database, "watchlists") is None


def test_commits_are_numbered_above_what_followers_have_done(database: Database) -> None:
    assert watermarks.highest(database) == 0
    with database.writing() as connection:
        watermarks.save(connection, "watchlists", 7)
        watermarks.save(connection, "indicators", 12)
    assert watermarks.highest(database) == 12
