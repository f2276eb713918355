"""A connection that Sysmon and Security tell is stored once, in whatever order they come."""

import itertools
from pathlib import Path
from typing import cast

import pytest

from tests.contract.pipeline.test_failures import Refusing, deliver
from tests.contract.pipeline.write_path import (
    NOON_S,
    Json,
    WritePath,
    event_texts,
    found,
    processes,
    write_path,
)
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.pipeline.store_writer import StoreWriter
from vedette.pipeline.submission import Outcome
from vedette.store.engine.client import ClickHouseEngine, Engine

PID = 4_660


class Story:
    """A host with a process that connects; both logs tell of it."""

    def __init__(self, name: str) -> None:
        self.host = Host(name, NOON_S - 600)
        parent = self.host.process(900, "C:\\Windows\\explorer.exe")
        self.process = self.host.process(PID, "C:\\tool.exe", after_s=1)
        self.created = self.host.created(self.process, parent)
        self._security_id = 0

    def sysmon(self, at_s: float, port: int = 443, **names: str) -> Json:
        return self.host.of(
            self.process,
            3,
            at_s,
            Protocol="tcp",
            Initiated="true",
            SourceIp="10.0.0.5",
            SourcePort=50_000,
            DestinationIp="203.0.113.9",
            DestinationPort=port,
            **names,
        )

    def security(self, at_s: float, port: int = 443) -> Json:
        record = self.host.record(
            5156,
            self.process.started_s + at_s,
            ProcessID=PID,
            Application="\\device\\harddiskvolume2\\tool.exe",
            Direction="%%14593",
            SourceAddress="10.0.0.5",
            SourcePort=50_000,
            DestAddress="203.0.113.9",
            DestPort=port,
            Protocol=6,
        )
        self._security_id += 1
        record["winlog"] |= {
            "channel": "Security",
            "provider_name": "Microsoft-Windows-Security-Auditing",
            "record_id": self._security_id,
        }
        return record


def connections(path: WritePath) -> list[str]:
    return [
        text
        for name in processes(path.engine)
        for text in event_texts(path.engine, name)
        if text.startswith("Netconn(")
    ]


def counted(path: WritePath) -> int:
    """Returns the sum of the store's connection counts, which searches and sorts use."""
    found = path.engine.query("SELECT sum(netconn_count) FROM segment").rows
    return int(found[0][0])


@pytest.mark.parametrize("order", itertools.permutations(range(2)))
@pytest.mark.parametrize("is_divided", [False, True])
def test_one_connection_of_two_logs_counts_once_and_both_records_are_known(
    path: WritePath, order: tuple[int, ...], is_divided: bool
) -> None:
    story = Story("pair.example")
    reported = [story.sysmon(10.2), story.security(10.0)]
    path.post([story.created])
    ordered = [reported[n] for n in order]
    for records in [[one] for one in ordered] if is_divided else [ordered]:
        assert set(path.outcomes(records)) == {Outcome.EVENTS}
    assert len(connections(path)) == 1
    assert counted(path) == 1
    for record in reported:
        assert path.outcomes([record]) == [Outcome.DUPLICATE]


def test_the_record_of_sysmon_names_the_host_of_a_pair_in_one_commit(path: WritePath) -> None:
    story = Story("named.example")
    path.post([story.created])
    path.post([story.security(10.0), story.sysmon(10.2, DestinationHostname="c2.example")])
    (text,) = connections(path)
    assert "c2.example" in text


def test_a_name_that_comes_with_the_second_record_is_found(path: WritePath) -> None:
    story = Story("later.example")
    path.post([story.created])
    path.post([story.security(10.0)])
    path.post([story.sysmon(10.2, DestinationHostname="c2.example")])
    assert len(connections(path)) == counted(path) == 1
    assert len({process_id for process_id, _ in found(path.engine, "domain:c2.example")}) == 1


def test_connections_of_other_times_and_other_ports_stay_apart(path: WritePath) -> None:
    story = Story("apart.example")
    path.post([story.created])
    path.post([story.sysmon(10), story.sysmon(11), story.security(10.5), story.security(11.5)])
    path.post([story.security(60), story.sysmon(10, port=444)])
    assert len(connections(path)) == 4


def test_a_segment_boundary_between_both_records_changes_nothing(path: WritePath) -> None:
    story = Story("boundary.example")
    path.post([story.created])
    path.post([story.security(10.0)])
    path.clock.advance(400)
    path.post([story.sysmon(10.2)])
    assert len(connections(path)) == 1
    assert counted(path) == 1


@pytest.mark.parametrize("is_stored", [False, True], ids=["lost", "stored"])
def test_a_commit_that_fails_costs_no_connection(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, is_stored: bool
) -> None:
    refusing = Refusing(engine, "", is_stored)
    ledger = StoreWriter(cast(Engine, refusing))
    with write_path(engine, tmp_path, clock, ledger=ledger) as path:
        story = Story("failing.example")
        path.post([story.created])
        first, second = [story.sysmon(10.2)], [story.security(10.0)]
        refusing.table = "segment"
        with pytest.raises(UnavailableError):
            path.post(first)
        deliver(path, second)
        deliver(path, first)
        # The failure makes what was remembered unsure: then one too many is better than none.
        assert len(connections(path)) == (2 if is_stored else 1)
