"""Commits prepared in a process of their own are the same, and its end costs nobody a record."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.children import children
from tests.contract.pipeline.requests import plain, rows, security, service, sysmon
from tests.contract.pipeline.test_failures import Refusing, all_events, deliver, wait_until
from tests.contract.pipeline.write_path import (
    Json,
    WritePath,
    prepared_apart,
    prepared_here,
    write_path,
)
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.model.ingress import IngressFilter
from vedette.pipeline.ledger import StoreLedger
from vedette.pipeline.preparation_process import RESTORED_KEYS
from vedette.pipeline.submission import Outcome
from vedette.store.engine import ClickHouseEngine, Engine

DUPLICATE, EVENTS, RECORD = Outcome.DUPLICATE, Outcome.EVENTS, Outcome.RECORD
REQUESTS: list[list[Json]] = [sysmon(), plain(), [service(), security(4625, 78)]]


@pytest.fixture
def apart(engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock) -> Iterator[WritePath]:
    """A write path over an empty store that prepares in a process of its own."""
    with write_path(engine, tmp_path, clock, prepared=prepared_apart) as opened:
        yield opened


def kill_preparer() -> None:
    (pid,) = children("vedette.build.preparing")
    os.kill(pid, signal.SIGKILL)


def test_it_makes_the_rows_that_this_process_makes(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    answers, stored = [], []
    for number, prepared in enumerate((prepared_here, prepared_apart)):
        state = tmp_path / str(number)
        state.mkdir()
        with write_path(engine, state, clock, prepared=prepared) as path:
            answers.append([path.post([*records, b"{", b"{}"]) for records in REQUESTS])
        stored.append((sorted(all_events(engine)), rows(engine)))
        engine.command("TRUNCATE TABLE segment")
        engine.command("TRUNCATE TABLE record")
        engine.command("TRUNCATE TABLE process")
    assert answers[0] == answers[1]
    assert stored[0] == stored[1]
    assert stored[0][1] == (9, 2)


def test_what_was_stored_is_known_after_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    for outcomes in ([EVENTS, EVENTS, RECORD], [DUPLICATE] * 3):
        with write_path(engine, tmp_path, clock, prepared=prepared_apart) as path:
            assert [path.outcomes(records)[-1] for records in REQUESTS] == outcomes
        clock.advance(3600)


def test_a_store_that_fails_in_the_middle_is_asked_what_it_has(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = StoreLedger(cast(Engine, Refusing(engine, "segment", after=True)))
    with write_path(engine, tmp_path, clock, ledger=ledger, prepared=prepared_apart) as path:
        assert [deliver(path, records) for records in REQUESTS] == [1, 0, 0]
        assert rows(engine) == (9, 2)


def test_senders_are_told_of_its_end_and_another_one_goes_on(apart: WritePath) -> None:
    assert deliver(apart, REQUESTS[0]) == 0
    kill_preparer()
    assert deliver(apart, REQUESTS[1]) == 1
    assert apart.outcomes(REQUESTS[0]) == [DUPLICATE] * 4
    assert deliver(apart, REQUESTS[2]) == 0
    assert rows(apart.engine) == (9, 2)


def test_another_one_has_the_filters_and_knows_what_is_out_of_reach(apart: WritePath) -> None:
    apart.preparation.use_filters([IngressFilter("all", path_filters=("*",))])
    assert set(apart.outcomes(sysmon())) == {Outcome.FILTERED}
    looked_at, hits = apart.preparation.filter_counts()
    assert (looked_at, hits) == (1, {"all": 1})
    kill_preparer()
    with pytest.raises(UnavailableError):
        apart.post(plain())
    wait_until(lambda: apart.intake.available)
    assert set(apart.outcomes(plain())) == {Outcome.FILTERED}
    apart.preparation.use_filters([])
    assert set(apart.outcomes(plain(5))) == {EVENTS}


def test_more_keys_than_a_message_holds_are_known_after_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    records = sysmon(3000)
    with write_path(engine, tmp_path, clock, prepared=prepared_apart) as path:
        path.post(records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vedette.pipeline.preparation_process.RESTORED_KEYS", 100)
        assert RESTORED_KEYS > 100
        with write_path(engine, tmp_path, clock, prepared=prepared_apart) as path:
            assert set(path.outcomes(records)) == {DUPLICATE}


def test_it_ends_with_the_write_path(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    with write_path(engine, tmp_path, clock, prepared=prepared_apart):
        assert len(children("vedette.build.preparing")) == 1
    assert not children("vedette.build.preparing")
