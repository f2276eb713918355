"""Forwarders over a real engine and a real state database, to directories and a real object
store."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.alerting.conftest import clock, database
from tests.contract.alerting.detections import detection
from tests.contract.store.rows import partial, store
from tests.support.object_store import RealBucket, make_bucket, object_store, records_of
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import DrivenClock, SystemClock
from vedette.forwarder.alert_source import AlertSource
from vedette.forwarder.configuration import Forwarders, Wanted
from vedette.forwarder.destinations import DestinationRules
from vedette.forwarder.event_source import EventSource
from vedette.forwarder.hit_source import HitHook, HitSource
from vedette.forwarder.rounds import ForwarderRounds
from vedette.model.event import ProcessEvent
from vedette.model.findings.detection import Detection, Source
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.db.sealing import open_sealing
from vedette.state.jobs import forwarders
from vedette.state.jobs.forwarders import ForwardedStream, Forwarder
from vedette.state.jobs.leases import Leases
from vedette.store.engine.client import Engine
from vedette.web.forwarding.forwarded_records_json import alert_records, event_record, hit_record
from vedette.web.forwarding.ocsf_records_json import ocsf_record

__all__ = ["clock", "database"]

ORG = "ORG"
TIMEOUT_S = 60.0


@dataclass
class Here:
    """Dependencies of a forwarder test."""

    parts: Forwarders
    engine: Engine
    clock: DrivenClock
    root: Path
    numbers: int = 0
    seq: int = 0
    """The newest commit."""

    def commit(self, number: int, *events: ProcessEvent, **values: Any) -> None:
        """One commit with a partial row of a process."""
        self.seq += 1
        now_us = self.clock.now_us()
        times = {"last_update": now_us, "last_server_update": now_us}
        store(self.engine, partial(number, *events, seq=self.seq, **times, **values))

    @property
    def database(self) -> Database:
        return self.parts.database

    def write(self, count: int, **values: Any) -> list[str]:
        """Writes alerts; their ids."""
        first = self.numbers
        self.numbers += count
        found = [
            detection(number, source=Source("rule", f"r-{number}"), seq=number + 1, **values)
            for number in range(first, first + count)
        ]
        self.detect(found)
        return [one.id for one in found]

    def detect(self, found: Sequence[Detection]) -> None:
        hook = HitHook(self.clock, hit_record(ORG))
        DetectionWriter(self.engine, self.database, self.clock, [hook]).write(found)

    def add(self, name: str = "one", **members: Any) -> Forwarder:
        """A forwarder to a directory unless it says otherwise."""
        usual: dict[str, Any] = {
            "name": name,
            "types": ("alert",),
            "destination": {"kind": "directory", "path": name},
            "interval_s": 1,
        }
        return self.parts.add(Wanted(**(usual | members)))

    def rounds(self, clock: DrivenClock | None = None) -> ForwarderRounds:
        """Returns the rounds of one server."""
        used = clock or self.clock
        return ForwarderRounds(self.parts, Leases(self.database, used), used, ORG)

    def stream(self, one: Forwarder) -> ForwardedStream:
        (found,) = forwarders.streams(self.database, one.id)
        return found

    def run(self, until: Callable[[], bool]) -> None:
        """Rounds until something holds; what failed is tried again without waiting."""
        deadline = time.monotonic() + TIMEOUT_S
        with closing(self.rounds()) as rounds:
            while not until():
                assert time.monotonic() < deadline, forwarders.streams(self.database)
                rounds.dispatch()
                time.sleep(0.05)
                self.clock.advance(400)

    def records(self, name: str = "one") -> list[dict[str, Any]]:
        """All records in a directory, in the order of its files."""
        found = sorted((self.root / name).rglob("*.jsonl.gz"))
        return [one for file in found for one in records_of(file.read_bytes())]

    def ids(self, name: str = "one") -> list[str]:
        return [one["id"] for one in self.records(name)]


@pytest.fixture
def here(engine: Engine, database: Database, clock: DrivenClock, tmp_path: Path) -> Here:
    root = tmp_path / "forwarded"
    posts = PostRules(EgressPolicy.of(["127.0.0.0/8", "::1/128"]))
    alerts, event = alert_records(database, ORG), event_record(ORG)
    made: list[Here] = []
    parts = Forwarders(
        database,
        open_sealing(tmp_path),
        clock,
        DestinationRules(root, posts, SystemClock()),
        {
            "alert": AlertSource(
                engine,
                database,
                clock,
                Settings(),
                {"native": alerts, "ocsf": lambda rows: [ocsf_record(one) for one in alerts(rows)]},
            ),
            "watchlist.hit": HitSource(database, {"native": lambda one: one, "ocsf": ocsf_record}),
            "endpoint.event": EventSource(
                engine,
                clock,
                Settings(),
                lambda: made[0].seq,
                {"native": event, "ocsf": lambda one: ocsf_record(event(one))},
            ),
        },
    )
    made.append(Here(parts, engine, clock, root))
    return made[0]


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    with object_store() as url:
        yield url


@pytest.fixture
def bucket(s3_url: str) -> RealBucket:
    return RealBucket(s3_url, make_bucket(s3_url))
