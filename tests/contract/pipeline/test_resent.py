"""A record that is sent again is stored once, recognized by its number or its whole request
(ARCHITECTURE.md#the-write-path)."""

from pathlib import Path

import pytest

from tests.contract.pipeline.requests import plain, rows, security, service, sysmon, unnumbered
from tests.contract.pipeline.write_path import (
    NOON_S,
    Json,
    Limits,
    WritePath,
    found,
    write_path,
)
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.pipeline.submission import Outcome
from vedette.store.engine.client import ClickHouseEngine

DUPLICATE, EVENTS = Outcome.DUPLICATE, Outcome.EVENTS


def test_numbered_records_are_known_in_any_request(path: WritePath) -> None:
    records = sysmon()
    assert path.outcomes(records) == [EVENTS] * 4
    assert path.outcomes(records[::-1]) == [DUPLICATE] * 4
    assert path.outcomes([records[2], *records[2:]]) == [DUPLICATE] * 3
    assert rows(path.engine) == (4, 0)


def test_a_numbered_record_is_stored_once_within_a_request(path: WritePath) -> None:
    (record,) = sysmon(1)
    assert path.outcomes([record, record, record]) == [EVENTS, DUPLICATE, DUPLICATE]
    assert rows(path.engine) == (1, 0)


def test_equal_records_without_a_number_are_all_stored(path: WritePath) -> None:
    (record,) = plain(1)
    assert path.outcomes([record, record]) == [EVENTS, EVENTS]
    assert path.outcomes([record]) == [EVENTS]


def test_a_request_without_numbers_is_known_as_a_whole(path: WritePath) -> None:
    assert path.outcomes(plain()) == [EVENTS] * 4
    before = rows(path.engine)
    assert path.outcomes(plain()) == [DUPLICATE] * 4
    assert path.outcomes(plain()[:3]) == [EVENTS] * 3
    assert rows(path.engine) != before


def test_requests_that_arrive_together_are_known_as_well(path: WritePath) -> None:
    answers = [path.send(plain()) for _ in range(5)]
    outcomes = sorted(set(answer.result(60).outcomes) for answer in answers)
    assert outcomes == [{EVENTS}] + [{DUPLICATE}] * 4


@pytest.mark.parametrize(
    "records",
    [sysmon(), plain(), [service()], [security(4625)]],
    ids=["numbered", "unnumbered", "both tables", "record"],
)
@pytest.mark.parametrize("hours", [0, 23], ids=["at once", "a day later"])
def test_what_was_stored_is_known_after_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, records: list[Json], hours: int
) -> None:
    with write_path(engine, tmp_path, clock) as path:
        first = path.outcomes(records)
        assert DUPLICATE not in first
    stored = rows(engine)
    clock.advance(hours * 3600)
    with write_path(engine, tmp_path, clock) as path:
        assert path.outcomes(records) == [DUPLICATE] * len(records)
    assert rows(engine) == stored


def test_a_dropped_duplicate_takes_no_new_facts_of_its_process_with_it(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    """The second request teaches how the process was started; it shares a commit with a re-sent
    one, whose record is the first to report that process, and is dropped."""
    host = Host("news.example", NOON_S - 100)
    parent, child = host.process(5, "C:\\a.exe", "a.exe secret"), host.process(6, "C:\\b.exe")
    old = [unnumbered(host.of(parent, 11, 1, TargetFilename="C:\\x"))]
    with write_path(engine, tmp_path, clock, Limits(commit_wait_ms=300)) as path:
        path.post(old)
        answers = [path.send(old), path.send([unnumbered(host.created(child, parent))])]
        assert [[*answer.result(60).outcomes] for answer in answers] == [[DUPLICATE], [EVENTS]]
    assert len(found(engine, "process_name:a.exe cmdline:secret")) == 1


def test_a_refused_record_takes_no_facts_of_its_process_with_it(path: WritePath) -> None:
    host = Host("early.example", NOON_S - 100)
    process = host.process(5, "C:\\a.exe")
    early, good = (host.of(process, 11, at_s, TargetFilename="C:\\x") for at_s in (90_000, 1))
    assert path.outcomes([early, good]) == [Outcome.REJECTED, EVENTS]
    assert len(found(path.engine, "process_name:a.exe filemod:x")) == 1
