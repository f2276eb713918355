"""A credential of one sensor group writes nothing for hosts of another, and takes nothing from
them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.contract.pipeline.requests import plain, sysmon
from tests.contract.pipeline.write_path import (
    ANSWER_S,
    Json,
    WritePath,
    submission,
    worker_processor,
    write_path,
)
from tests.support.started_state import open_started_state
from vedette.clock import DrivenClock
from vedette.pipeline.submission import Outcome, Receipt, Submission
from vedette.state.policy import groups
from vedette.store.engine.client import ClickHouseEngine

DUPLICATE, EVENTS, REJECTED = Outcome.DUPLICATE, Outcome.EVENTS, Outcome.REJECTED


@pytest.fixture
def other_group(tmp_path: Path, clock: DrivenClock) -> int:
    database = open_started_state(tmp_path, clock.now_us())
    try:
        return groups.add(database, "Others").id
    finally:
        database.close()


@pytest.fixture
def path(
    other_group: int, engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> Iterator[WritePath]:
    with write_path(engine, tmp_path, clock, prepared=worker_processor) as opened:
        yield opened


def post_as(
    path: WritePath, group_id: int, records: Iterable[Json | bytes], **changes: object
) -> Receipt:
    whole = submission(records)
    fields = {"any_group": False, "host": "", **changes}
    sent = Submission(
        whole.records, group_id, whole.request_key + group_id, whole.byte_count, **fields
    )
    return path.ingest_queue.enqueue(sent).result(ANSWER_S)


def test_records_that_name_another_groups_host_are_of_a_host_of_the_senders_group(
    path: WritePath, other_group: int
) -> None:
    assert set(path.outcomes(sysmon())) == {EVENTS}
    receipt = post_as(path, other_group, [*plain(2), *sysmon(6), *plain(2, 2)])
    assert (set(receipt.outcomes), receipt.refusals) == ({EVENTS}, [])
    query = "SELECT DISTINCT `group`, sensor_id FROM segment WHERE hostname = 'numbered.example'"
    found = {str(group): int(sensor) for group, sensor in path.engine.query(query).rows}
    assert found.keys() == {"Default Group", "Others"}
    assert len(set(found.values())) == 2


def test_another_group_cannot_use_up_the_numbers_of_a_hosts_records(
    path: WritePath, other_group: int
) -> None:
    path.post(sysmon(1))
    post_as(path, other_group, sysmon(6))
    assert path.outcomes(sysmon(6)) == [DUPLICATE] + [EVENTS] * 5


def test_who_names_a_host_first_keeps_nobody_else_from_storing_records(
    path: WritePath, other_group: int
) -> None:
    assert set(post_as(path, other_group, sysmon()).outcomes) == {EVENTS}
    assert path.outcomes(sysmon(6)) == [EVENTS] * 6
    assert set(post_as(path, other_group, sysmon(6)).outcomes[4:]) == {EVENTS}


def test_administrators_and_the_hosts_own_credential_write_for_any_group(
    path: WritePath, other_group: int
) -> None:
    post_as(path, other_group, sysmon(1))
    as_administrator = post_as(path, 1, sysmon(2), any_group=True)
    assert list(as_administrator.outcomes) == [DUPLICATE, EVENTS]
    query = "SELECT DISTINCT sensor_id FROM segment"
    ((sensor_id,),) = path.engine.query(query).rows
    as_host = post_as(path, 1, sysmon(3), host="numbered.example", sensor_id=int(sensor_id))
    assert list(as_host.outcomes) == [DUPLICATE, DUPLICATE, EVENTS]
