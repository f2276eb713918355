"""Another record with a number that was used before is stored and counted; one that is only sent
again stays a duplicate."""

import copy
from pathlib import Path
from typing import cast

import pytest

from tests.contract.pipeline.requests import rows, service, sysmon
from tests.contract.pipeline.test_failures import Refusing, deliver
from tests.contract.pipeline.write_path import Json, WritePath, prepared_apart, write_path
from vedette.clock import DrivenClock
from vedette.pipeline.receipt_report import report
from vedette.pipeline.store_writer import StoreWriter
from vedette.pipeline.submission import Outcome
from vedette.store.engine.client import ClickHouseEngine, Engine

DUPLICATE, EVENTS = Outcome.DUPLICATE, Outcome.EVENTS


def other(record: Json, seconds: int = 7) -> Json:
    """A record of another time with the same number."""
    changed = copy.deepcopy(record)
    time = changed["@timestamp"]
    minute = (int(time[14:16]) + seconds) % 60
    changed["@timestamp"] = f"{time[:14]}{minute:02}{time[16:]}"
    return changed


def test_another_record_with_a_used_number_is_stored_and_counted(path: WritePath) -> None:
    (record,) = sysmon(1)
    assert path.outcomes([record]) == [EVENTS]
    receipt = path.post([other(record), record])
    assert list(receipt.outcomes) == [EVENTS, DUPLICATE]
    assert report(receipt)["conflicts"] == 1
    assert path.metrics.get_sample_value("vedette_ingest_conflicts_total") == 1
    assert rows(path.engine) == (2, 0)


def test_both_records_are_duplicates_from_then_on(path: WritePath) -> None:
    (record,) = sysmon(1)
    path.post([record, other(record)])
    for records in ([record], [other(record)], [other(record), record]):
        receipt = path.post(records)
        assert set(receipt.outcomes) == {DUPLICATE}
        assert receipt.conflicts == 0
    assert rows(path.engine) == (2, 0)


def test_conflicts_are_found_within_one_request_and_by_several_workers(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    (record,) = sysmon(1)
    with write_path(engine, tmp_path, clock, prepared=prepared_apart) as path:
        receipt = path.post([record, other(record), record, other(record, 9), service()])
        assert list(receipt.outcomes)[:4] == [EVENTS, EVENTS, DUPLICATE, EVENTS]
        assert receipt.conflicts == 2
        assert set(path.outcomes([other(record, 9), other(record), record])) == {DUPLICATE}


def test_the_same_record_in_another_text_is_a_duplicate(path: WritePath) -> None:
    (record,) = sysmon(1)
    path.post([record])
    receipt = path.post([record | {"agent": {"ephemeral_id": "after its restart"}}])
    assert (list(receipt.outcomes), receipt.conflicts) == ([DUPLICATE], 0)


def test_a_conflict_in_a_request_that_is_sent_again_after_a_restart_is_a_duplicate(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    (record,) = sysmon(1)
    for _ in range(2):
        with write_path(engine, tmp_path, clock) as path:
            path.post([record])
            path.post([other(record)])
    assert rows(engine) == (2, 0)


@pytest.mark.parametrize("after", [False, True], ids=["lost", "stored"])
def test_a_conflict_in_a_commit_that_fails_is_stored_once(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, after: bool
) -> None:
    (record,) = sysmon(1)
    refusing = Refusing(engine, "nothing", after)
    ledger = StoreWriter(cast(Engine, refusing))
    with write_path(engine, tmp_path, clock, ledger=ledger) as path:
        path.post([record])
        refusing.table = "segment"
        assert deliver(path, [other(record), *sysmon(3)[1:]]) == 1
    assert rows(engine) == (4, 0)
