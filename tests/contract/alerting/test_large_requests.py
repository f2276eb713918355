"""The size of requests changes neither alerts nor correlations, however often a rule fires."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract.alerting.test_rule_hits import LOGON, SHELL, Followed, clock, shells
from tests.contract.pipeline.requests import security
from tests.contract.pipeline.write_path import NOON_S, Json, write_path
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.model.findings.detection import FURTHER_HITS
from vedette.state.db.database import open_database
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.detection.rule_hits import hits_after

__all__ = ["clock"]

SPRAY = """title: One address fails to log on as many users
id: 44444444-4444-4444-8444-444444444444
level: high
correlation:
  type: value_count
  rules: [logon_fails]
  group-by: [IpAddress]
  timespan: 5m
  condition: {field: TargetUserName, gte: 150}
"""
FORCE = """title: One address fails to log on often
id: 55555555-5555-4555-8555-555555555555
level: high
correlation:
  type: event_count
  rules: [logon_fails]
  group-by: [IpAddress]
  timespan: 5m
  condition: {gte: 100}
"""
SIZES = [20, 600]


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def followed(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Followed]:
    """A write path whose commits keep the values of few events."""
    monkeypatch.setattr("vedette.pipeline.batch.rule_judge.RULE_HITS_A_COMMIT_MAX", 30)
    monkeypatch.setattr("vedette.alerting.alert_storm.ALERTS_AN_HOUR_MAX", 10)
    with (
        write_path(engine, tmp_path, clock) as path,
        closing(open_database("", tmp_path)) as database,
    ):
        yield Followed(path, database, clock)


def _post(followed: Followed, records: list[Json], size: int) -> None:
    for first in range(0, len(records), size):
        followed.path.post(records[first : first + size])
        followed.hits.follow()


def _failures() -> list[Json]:
    """120 failures for one user from one address, 160 users tried from another, noise from a
    third: 320 in the order of their time."""
    tried = [("10.0.0.1", "bob")] * 120 + [("10.0.0.2", f"user{n}") for n in range(160)]
    tried += [("10.0.0.3", f"user{n % 40}") for n in range(40)]
    random.Random(5).shuffle(tried)
    made = []
    for number, (address, user) in enumerate(tried):
        record = security(4625, number + 1, IpAddress=address, TargetUserName=user)
        record["@timestamp"] = f"2023-11-15T11:58:{number // 10:02d}.{number % 10}00Z"
        made.append(record)
    return made


def test_correlations_find_the_right_groups_in_requests_of_any_size(
    followed: Followed, size: int
) -> None:
    followed.add(LOGON, SPRAY, FORCE)
    _post(followed, _failures(), size)
    alerts = followed.alerts()
    found = {(one["title"], one["matched"]["IpAddress"], one["count"]) for one in alerts}
    assert all(one["first_event_time"] < one["last_event_time"] for one in alerts)
    assert max(one["last_event_time"] - one["first_event_time"] for one in alerts) <= 300_000_000
    assert {(title, address) for title, address, _ in found} == {
        ("One address fails to log on as many users", "10.0.0.2"),
        ("One address fails to log on often", "10.0.0.1"),
        ("One address fails to log on often", "10.0.0.2"),
    }
    assert {count for title, _, count in found if title.endswith("often")} == {100}
    assert len(found) == 3


def test_every_host_of_a_request_gets_an_alert(followed: Followed, size: int) -> None:
    followed.add(SHELL)
    records = [one for n in range(100) for one in shells(3, first=10 + 5 * n, name=f"h{n}.example")]
    _post(followed, records, size)
    alerts = Counter(one["hostname"] for one in followed.alerts() if one["sensor_id"])
    assert {f"h{n}.example" for n in range(100)} == set(alerts)
    assert sum(one["count"] for one in followed.alerts()) == 300


def test_alerts_count_the_same_in_requests_of_any_size(followed: Followed, size: int) -> None:
    followed.add(SHELL)
    host = Host("busy.example", NOON_S - 200)
    parent = host.process(4, "C:\\explorer.exe")
    records = [
        host.created(host.process(n, "C:\\shell.exe", f"shell {n}", n), parent)
        for n in range(10, 110)
    ]
    _post(followed, records, size)
    by_kind = {one["source_kind"]: 0 for one in followed.alerts()}
    for one in followed.alerts():
        by_kind[one["source_kind"]] += one["count"]
    assert by_kind == {"rule": 10, "server": 90}


def test_hits_beyond_all_limits_are_counted_on_their_host(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.pipeline.batch.rule_judge.RULE_HITS_PLAIN_MAX", 20)
    followed.add(SHELL)
    records = [
        *shells(25, first=10, name="a.example"),
        *shells(40, first=100, name="b.example"),
        *shells(15, first=200, name="c.example"),
    ]
    followed.path.post(records)
    found = hits_after(followed.path.engine, 0, followed.path.ingest_queue.settled_seq, 10_000).hits
    by_host: Counter[int] = Counter()
    for one in found:
        by_host[one.hit.sensor_id] += one.hit.count
    assert sorted(by_host.values()) == [15, 25, 40]
    assert len(found) == 30 + 1 + 20 + 2
    assert sum(one.hit.subject == FURTHER_HITS for one in found) == 2
    assert len([one for one in found if one.hit.event]) == 31
    followed.hits.follow()
    assert sum(one["count"] for one in followed.alerts()) == 80


def test_hits_that_reach_no_correlation_are_an_alert_on_their_host(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.pipeline.batch.rule_judge.CORRELATED_HITS_PLAIN_MAX", 50)
    followed.add(LOGON, SPRAY)
    followed.path.post(_failures())
    followed.hits.follow()
    [alert] = followed.alerts()
    assert (alert["title"], alert["count"]) == ("A logon fails", 320 - 30 - 50)
    assert "Correlations did not get these hits" in alert["description"]
    assert alert["hostname"] == "windows.example"
