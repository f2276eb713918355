"""Indicators that come while rounds run: nothing that they match is passed over."""

from contextlib import suppress
from typing import Any

import pytest

from tests.contract.feeds.publisher import a_report
from tests.contract.feeds.test_indicators import MD5, Follower, follower
from tests.contract.store.rows import process_id
from vedette.feeds import synchronise
from vedette.state.policy import feeds
from vedette.store.engine.client import Engine

__all__ = ["follower"]


def test_a_feed_that_comes_while_a_round_runs_hits_the_past(follower: Follower) -> None:
    """Its name and its report were not known when the round began."""
    follower.commit(1, process_md5=MD5)
    follower.rounds.run()
    follower.publisher.enable(False)
    follower.rounds.run()

    def comes() -> None:
        follower.publisher.enable(True)
        follower.publisher.publish(a_report("r", md5=[MD5]))
        follower.publisher.sync()

    follower.meanwhile = comes
    follower.rounds.run()
    follower.rounds.run()
    assert follower.alerts() == [(process_id(1), MD5, 1)]


def test_a_commit_between_the_past_and_the_next_reading_of_indicators_is_matched(
    follower: Follower,
) -> None:
    """Indicators of a synchronisation that goes on are stored before feeds count as changed."""
    follower.publisher.publish(a_report("first", md5=["ef" * 16]))
    follower.publisher.sync()
    follower.rounds.run()
    version = feeds.indicator_version(follower.publisher.parts.database)
    with suppress(SystemExit), pytest.MonkeyPatch.context() as patched:
        patched.setattr(feeds, "note_synced", exits)
        follower.publisher.publish(a_report("r", 2, md5=[MD5]))
        follower.publisher.sync()
    assert feeds.indicator_version(follower.publisher.parts.database) == version
    follower.rounds.run()
    follower.commit(1, process_md5=MD5)
    follower.rounds.run()
    assert follower.alerts() == [(process_id(1), MD5, 1)]


def test_an_indicator_waits_for_its_report(follower: Follower) -> None:
    """A round may run between the two."""
    follower.commit(1, process_md5=MD5)
    follower.rounds.run()
    with pytest.MonkeyPatch.context() as patched:
        write = synchronise.write_reports

        def later(engine: Engine, rows: Any) -> None:
            assert follower.rounds.run() == 0
            write(engine, rows)

        patched.setattr(synchronise, "write_reports", later)
        follower.publisher.publish(a_report("r", md5=[MD5]))
        follower.publisher.sync()
    follower.rounds.run()
    assert follower.alerts() == [(process_id(1), MD5, 1)]


def exits(*_: Any, **__: Any) -> None:
    raise SystemExit
