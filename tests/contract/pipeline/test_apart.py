"""Commits prepared in processes of their own are the same, and their end costs nobody a record."""

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from tests.contract.pipeline.requests import plain, rows, security, service, sysmon
from tests.contract.pipeline.test_failures import Refusing, deliver, wait_until
from tests.contract.pipeline.write_path import (
    ANSWER_S,
    NOON_S,
    Json,
    WritePath,
    local_processor,
    submission,
    worker_processor,
    write_path,
)
from tests.support.children import children, is_running
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.pipeline.store_writer import StoreWriter
from vedette.pipeline.submission import Outcome
from vedette.pipeline.workers.key_transfer import RESTORED_KEYS_PER_MESSAGE
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.store.engine.client import ClickHouseEngine, Engine

DUPLICATE, EVENTS, RECORD = Outcome.DUPLICATE, Outcome.EVENTS, Outcome.RECORD
REQUESTS: list[list[Json]] = [sysmon(), plain(), [service(), security(4625, 78)]]
PROGRAM = "vedette.bootstrap.ingest_workers"
STORED_ONCE = (9, 2)
"""Events and records of the requests."""


@pytest.fixture
def apart(engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock) -> Iterator[WritePath]:
    """A write path over an empty store that prepares in two other processes."""
    with write_path(engine, tmp_path, clock, prepared=worker_processor) as opened:
        yield opened


def kill_preparers() -> None:
    for pid in preparers():
        os.kill(pid, signal.SIGKILL)


def preparers() -> list[int]:
    """Both, once they are there."""
    found: list[int] = []

    def are_there() -> bool:
        found[:] = children(PROGRAM)
        return len(found) == 2

    wait_until(are_there, lambda: f"not two workers, but {found}")
    return found


def audit(*hosts: str) -> bytes:
    """One text with an audit event of each of these hosts."""
    lines = (
        f"node={host} type=USER_LOGIN msg=audit({NOON_S - 60}.123:{n}): pid=7 uid=0 res=success"
        for n, host in enumerate(hosts, 900)
    )
    return json.dumps({"message": "\n".join(lines)}).encode()


def in_other_letters(records: list[Json]) -> list[Json]:
    """The same records with a host that is spelled otherwise, which nobody guesses from texts."""
    return [
        record | {"winlog": record["winlog"] | {"computer_name": "Plain.EXAMPLE"}}
        for record in records
    ]


GREETING: list[Json | bytes] = [
    *(records[0] for records in REQUESTS),
    *(audit(f"{name}.example") for name in ("one", "two", "three")),
]

MIXED: dict[str, list[list[Json | bytes]]] = {
    "a request of one host each": [[*records, b"{", b"{}"] for records in REQUESTS],
    "hosts that take turns": [
        [one for three in zip(*REQUESTS, strict=False) for one in (*three, b"{")]
    ],
    "the same request twice": [[*sysmon(), *plain()], [*plain(), *sysmon()], [*sysmon(), *plain()]],
    "a host by two names": [[*sysmon(), *plain(3), *in_other_letters(plain(2, 3)), b"{"]] * 2,
    "a host that gets another name later": [
        [*sysmon(), *plain()],
        [*in_other_letters(plain(2, 4)), *sysmon(6)],
        [*plain(2, 6), *in_other_letters(plain(2, 8)), *sysmon(8)],
    ],
    "a text of several hosts": [
        [*sysmon(1), audit("one.example"), audit("two.example")],
        [
            audit("one.example", "two.example", "three.example"),
            audit("two.example", "x" * 300),
            b"{",
        ],
    ],
    "nothing": [[], [b"{"]],
}


@pytest.mark.parametrize("requests", MIXED.values(), ids=MIXED.keys())
def test_they_make_the_rows_that_this_process_makes(
    requests: list[list[Json | bytes]],
    engine: ClickHouseEngine,
    tmp_path: Path,
    clock: DrivenClock,
) -> None:
    answers, stored = [], []
    for number, prepared in enumerate((local_processor, worker_processor)):
        state = tmp_path / str(number)
        state.mkdir()
        with write_path(engine, state, clock, prepared=prepared) as path:
            for record in GREETING:  # so that hosts get the same sensor ids both times
                path.post([record])
            answers.append([path.post(records) for records in requests])
        stored.append([whole(engine, table) for table in TABLES])
        for table in TABLES:
            engine.command(f"TRUNCATE TABLE {engine.capabilities.storage(table)}")
    assert answers[0] == answers[1]
    assert stored[0] == stored[1]


@pytest.mark.parametrize("processes", [1, 3])
def test_there_may_be_one_of_them_or_many(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, processes: int
) -> None:
    prepared = partial(worker_processor, processes=processes)
    with write_path(engine, tmp_path, clock, prepared=prepared) as path:
        wait_until(lambda: len(children(PROGRAM)) == processes)
        mixed = [one for records in REQUESTS for one in records]
        assert [path.outcomes(mixed)[-1] for _ in range(2)] == [RECORD, DUPLICATE]
        assert rows(engine) == STORED_ONCE


TABLES = ("segment", "record", "binary", "process")


def whole(engine: Engine, table: str) -> list[str]:
    """All rows of a table, all their columns, in an order of their own."""
    final = "" if table == "record" else "FINAL"
    found = engine.query(f"SELECT * FROM {table} {final}")
    return sorted(map(str, found.rows))


def test_what_was_stored_is_known_after_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    for outcomes in ([EVENTS, EVENTS, RECORD], [DUPLICATE] * 3):
        with write_path(engine, tmp_path, clock, prepared=worker_processor) as path:
            assert [path.outcomes(records)[-1] for records in REQUESTS] == outcomes
        clock.advance(3600)


def test_a_store_that_fails_in_the_middle_is_asked_what_it_has(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = StoreWriter(cast(Engine, Refusing(engine, "segment", after=True)))
    with write_path(engine, tmp_path, clock, ledger=ledger, prepared=worker_processor) as path:
        assert [deliver(path, records) for records in REQUESTS] == [1, 0, 0]
        assert rows(engine) == STORED_ONCE


def test_what_came_ahead_of_its_commit_is_of_no_commit_after_a_failure(apart: WritePath) -> None:
    ahead = [submission(records) for records in REQUESTS]
    for one in (*ahead, ahead[0]):
        apart.processor.expect(one)
    apart.ingest_queue.between_commits(lambda: apart.processor.recover(0))
    assert set(apart.outcomes(REQUESTS[1])) == {EVENTS}
    made = [apart.ingest_queue.enqueue(one).result(ANSWER_S).outcomes for one in ahead]
    assert list(map(set, made)) == [{EVENTS}, {DUPLICATE}, {EVENTS, RECORD}]
    assert rows(apart.engine) == STORED_ONCE


def test_an_answer_does_not_wait_for_what_came_ahead(apart: WritePath) -> None:
    """Every commit asks for hosts that are new, with more behind it than a link holds."""
    hosts = [Host(f"host-{n}.example", NOON_S - 100) for n in range(20)]
    answers = []
    for host in hosts:
        process = host.process(5, "C:\\a.exe")
        answers.append(
            apart.send(host.of(process, 11, n, TargetFilename="x" * 5_000) for n in range(99))
        )
    assert {code for one in answers for code in one.result(ANSWER_S).outcomes} == {EVENTS}


def test_senders_are_notified_of_their_end_and_others_go_on(apart: WritePath) -> None:
    assert deliver(apart, REQUESTS[0]) == 0
    kill_preparers()
    assert deliver(apart, REQUESTS[1]) <= 1, "none, if their end was noticed before"
    assert apart.outcomes(REQUESTS[0]) == [DUPLICATE] * 4
    assert deliver(apart, REQUESTS[2]) == 0
    assert rows(apart.engine) == STORED_ONCE


@pytest.mark.parametrize("number", [0, 1])
def test_the_end_of_one_costs_no_record_of_either(apart: WritePath, number: int) -> None:
    assert deliver(apart, [*sysmon(), *plain()]) == 0
    pid = preparers()[number]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    refused = [deliver(apart, records) for records in (sysmon(6), plain(6), REQUESTS[2])]
    # None, if its end was noticed before its hosts sent anything.
    assert sum(refused) <= 1, "only the hosts of the one that has ended"
    assert len(set(preparers()) - {pid}) == 2
    assert rows(apart.engine) == (6 + (4 + 6) + 1, 2)


def test_others_have_the_filters_and_knows_what_is_out_of_reach(apart: WritePath) -> None:
    apart.processor.use_filters([IngressFilter("all", path_filters=("*",))])
    assert set(apart.outcomes(sysmon())) == {Outcome.FILTERED}
    counts = apart.processor.filter_counts()
    assert (counts.judged, counts.hits) == (1, {"all": 1})
    assert counts.events["all"] > 0
    assert counts.byte_counts == {"all": sum(len(json.dumps(one)) for one in sysmon())}
    kill_preparers()
    with pytest.raises(UnavailableError):
        apart.post(plain())
    wait_until(lambda: apart.ingest_queue.available)
    assert set(apart.outcomes(plain())) == {Outcome.FILTERED}
    apart.processor.use_filters([])
    assert set(apart.outcomes(plain(5))) == {EVENTS}


def test_more_keys_than_a_message_holds_are_known_after_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    records = sysmon(3000)
    with write_path(engine, tmp_path, clock, prepared=worker_processor) as path:
        path.post(records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vedette.pipeline.workers.key_transfer.RESTORED_KEYS_PER_MESSAGE", 100)
        assert RESTORED_KEYS_PER_MESSAGE > 100
        with write_path(engine, tmp_path, clock, prepared=worker_processor) as path:
            assert set(path.outcomes(records)) == {DUPLICATE}


def test_they_end_with_the_write_path(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    with write_path(engine, tmp_path, clock, prepared=worker_processor):
        assert len(preparers()) == 2
    assert not children(PROGRAM)
