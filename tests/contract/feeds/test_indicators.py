"""Indicators match what is stored: new telemetry, and the past for those that are new; each hit
once."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.contract.feeds.publisher import NOW_US, Publisher, a_report
from tests.contract.store.rows import HOUR_MS, NEXT_MS, partial, process_id, store
from tests.support.indexed import on_plain_tables
from vedette.alerting.detection_writer import DetectionWriter
from vedette.errors import UnavailableError
from vedette.feeds import indicator_queries
from vedette.feeds.indicators import IndicatorRounds
from vedette.model.address import pack_address
from vedette.model.event import BinarySeen, Dnsquery, Filemod, Modload, Netconn, ProcessEvent
from vedette.model.metadata_rank import Rank, claim_key
from vedette.state.policy import feeds
from vedette.store.read.detection.tags import tags_of_binaries, tags_of_process
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit

MD5, SHA256 = "ab" * 16, "cd" * 32


class Follower:
    """Indicators over a store, and the alerts that they make."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.engine: Any = publisher.parts.engine
        self.seq = 0
        self.meanwhile: Callable[[], object] = lambda: None
        """Concurrent action, run once in a round after it has read the indicators."""
        self.start()

    def start(self, settle_s: float = 0.0) -> None:
        """Creates the rounds like a restart."""
        parts = self.publisher.parts
        writer = DetectionWriter(self.engine, parts.database, parts.clock)
        self.rounds = IndicatorRounds(
            self.engine, parts.database, parts.clock, writer, self._settled, settle_s
        )

    def _settled(self) -> int:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return self.seq

    def commit(self, number: int, *events: ProcessEvent, **metadata: Any) -> None:
        self.seq += 1
        metadata.setdefault("last_update", NOW_US)
        store(self.engine, partial(number, *events, seq=self.seq, **metadata))

    def tags(self, number: int) -> set[tuple[str, str, int]]:
        found = tags_of_process(self.engine, process_id(number))
        return {(tag.name, tag.ioc, tag.score) for tag in found}

    def alerts(self) -> list[tuple[str, str, int]]:
        rows = self.engine.query(
            "SELECT process_id, ioc_value, count FROM alert FINAL ORDER BY process_id, ioc_value"
        ).rows
        return [(row[0], row[1], row[2]) for row in rows]


@pytest.fixture
def follower(publisher: Publisher) -> Follower:
    return Follower(publisher)


def connection(address: str = "198.51.100.20", domain: str = "", **more: str) -> Netconn:
    local, remote = pack_address("10.0.0.1"), pack_address(address)
    return Netconn(process_id(1), NOW_US, 1, 6, local, 50_000, remote, 443, domain, **more)


def module(md5: str) -> Modload:
    return Modload(process_id(1), NOW_US, "c:\\a.dll", md5)


def file(sha256: str) -> Filemod:
    return Filemod(process_id(1), NOW_US, 1, "c:\\a", sha256=sha256)


def asked(name: str) -> Dnsquery:
    return Dnsquery(process_id(1), NOW_US, name)


def digest(mark: str, pairs: int = 16) -> str:
    return mark * pairs


EVENTS: dict[str, tuple[str, str, list[ProcessEvent], dict[str, str]]] = {
    "program": ("md5", MD5, [], {"process_md5": MD5}),
    "sha256": ("sha256", SHA256, [], {"process_sha256": SHA256}),
    "module": ("md5", digest("a1"), [module(digest("a1"))], {}),
    "file": ("sha256", digest("a2", 32), [file(digest("a2", 32))], {}),
    "address": ("ipv4", "203.0.113.9", [connection("203.0.113.9")], {}),
    "network": ("ipv4", "203.0.113.64/26", [connection("203.0.113.100")], {}),
    "ipv6": ("ipv6", "2001:db8:7::/48", [connection("2001:db8:7::5")], {}),
    "name": ("dns", "evil.example", [connection(domain="EVIL.example.")], {}),
    "name below": ("dns", "worse.example", [asked("a.b.worse.example")], {}),
    "ja3": ("ja3", digest("a3"), [connection(ja3=digest("a3"))], {}),
    "ja3s": ("ja3s", digest("a4"), [connection(ja3s=digest("a4"))], {}),
}
"""Type and value of an indicator, and what it matches: events, or members of the process."""


def every_type() -> dict[str, list[str]]:
    """Indicators of all types, hashes in capitals."""
    iocs: dict[str, list[str]] = {}
    for kind, value, _, _ in EVENTS.values():
        iocs.setdefault(kind, []).append(value.upper() if kind == "md5" else value)
    return iocs


@pytest.mark.parametrize("is_past", [False, True], ids=["new", "past"])
def test_each_type_of_indicator_matches(follower: Follower, is_past: bool) -> None:
    others = [connection("198.51.100.7", "notevil.example", ja3="00" * 16)]

    def happens() -> None:
        for number, (_, _, events, metadata) in enumerate(EVENTS.values(), 1):
            follower.commit(number, *events, **metadata)
        follower.commit(99, *others, process_md5="ef" * 16)
        follower.rounds.run()

    if is_past:
        happens()
    follower.publisher.publish(a_report("r", **every_type()))
    follower.publisher.sync()
    follower.rounds.run()
    if not is_past:
        happens()
    follower.rounds.run()
    found = {name: follower.tags(number) for number, name in enumerate(EVENTS, 1)}
    assert found == {name: {("intel", value, 80)} for name, (_, value, _, _) in EVENTS.items()}
    assert follower.tags(99) == set()
    assert follower.alerts() == [
        (process_id(number), value, 1) for number, (_, value, _, _) in enumerate(EVENTS.values(), 1)
    ]


@on_plain_tables
@pytest.mark.parametrize("name", EVENTS)
def test_an_indicator_of_a_type_matches_where_there_are_no_others(
    follower: Follower, name: str
) -> None:
    kind, value, events, metadata = EVENTS[name]
    follower.publisher.publish(a_report("r", **{kind: [value]}))
    follower.publisher.sync()
    follower.commit(1, *events, **metadata)
    assert follower.rounds.run() == 1
    assert follower.alerts() == [(process_id(1), value, 1)]


def test_queries_are_asked_of_what_is_new_and_of_the_past(follower: Follower) -> None:
    follower.commit(1, process_name="evil.exe", path="c:\\evil.exe")
    follower.commit(2, process_name="good.exe", path="c:\\good.exe")
    follower.rounds.run()
    query = {"index_type": "events", "search_query": ["cb.urlver=1&q=process_name%3Aevil.exe"]}
    follower.publisher.publish(a_report("q", query=query))
    follower.publisher.sync()
    follower.rounds.run()
    assert [alert[0] for alert in follower.alerts()] == [process_id(1)]
    follower.commit(3, process_name="EVIL.exe", path="c:\\EVIL.exe")
    follower.rounds.run()
    assert [alert[0] for alert in follower.alerts()] == [process_id(1), process_id(3)]


def test_a_process_that_goes_on_is_told_once(follower: Follower) -> None:
    follower.publisher.publish(a_report("r", md5=[MD5]))
    follower.publisher.sync()
    follower.commit(1, process_md5=MD5)
    assert follower.rounds.run() == 1
    for _ in range(3):
        follower.commit(1, connection())
        assert follower.rounds.run() == 0
    assert follower.alerts() == [(process_id(1), MD5, 1)]


def test_what_expired_was_withdrawn_or_is_disabled_matches_no_more(follower: Follower) -> None:
    publisher = follower.publisher
    publisher.publish(a_report("r", md5=[MD5]), a_report("s", dns=["evil.example"]))
    publisher.sync()
    follower.rounds.run()
    publisher.publish(a_report("s", dns=["evil.example"]), a_report("r", 9))
    publisher.sync()
    follower.commit(1, connection(domain="evil.example"), process_md5=MD5)
    follower.rounds.run()
    assert follower.tags(1) == {("intel", "evil.example", 80)}
    publisher.enable(False)
    follower.commit(2, connection(domain="evil.example"))
    follower.rounds.run()
    assert follower.tags(2) == set()


@on_plain_tables
@pytest.mark.parametrize("step", range(1, 5))
def test_a_crash_between_two_steps_loses_and_doubles_nothing(
    follower: Follower, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.publisher.publish(a_report("r", md5=[MD5]))
    follower.publisher.sync()
    follower.rounds.run()
    follower.commit(1, process_md5=MD5)
    left = [step]
    with monkeypatch.context() as patch:
        patch.setattr(
            follower.engine, "insert_arrow", _dies_after(left, follower.engine.insert_arrow)
        )
        patch.setattr(
            DetectionWriter, "write", _dies_after(left, DetectionWriter.write, after=step == 4)
        )
        with suppress(KeyboardInterrupt):
            follower.rounds.run()
    follower.start()
    follower.rounds.run()
    assert follower.alerts() == [(process_id(1), MD5, 1)]
    assert follower.tags(1) == {("intel", MD5, 80)}
    assert follower.rounds.run() == 0


def _dies_after(left: list[int], call: Any, after: bool = False) -> Any:
    def dying(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if after:
            call(*arguments, **named)
        if left[0] <= 0 or after:
            raise KeyboardInterrupt
        return call(*arguments, **named)

    return dying


def test_the_stored_past_is_searched_window_by_window_and_goes_on_after_a_restart(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.feeds.indicators.INDICATOR_PAST_ROWS", 1)
    monkeypatch.setattr("vedette.feeds.indicators.INDICATOR_PAST_STEPS", 1)
    follower.commit(1, process_md5=MD5)
    follower.commit(2, process_md5=MD5, window_ms=NEXT_MS)
    follower.rounds.run()
    follower.publisher.publish(a_report("r", md5=[MD5]))
    follower.publisher.sync()
    assert follower.rounds.run() == 1
    follower.start()
    assert follower.rounds.run() == 1
    assert follower.rounds.run() == 0
    assert [alert[0] for alert in follower.alerts()] == [process_id(1), process_id(2)]
    assert HOUR_MS < NEXT_MS


def test_the_past_waits_until_every_replica_has_the_indicators(follower: Follower) -> None:
    """With two inserts in replication, the later may arrive first."""
    follower.start(settle_s=15.0)
    follower.commit(1, process_md5=MD5)
    follower.rounds.run()
    follower.publisher.publish(a_report("r", md5=[MD5]))
    follower.publisher.sync()
    follower.publisher.clock.advance(14)
    assert follower.rounds.run() == 0
    follower.publisher.clock.advance(2)
    assert follower.rounds.run() == 1
    assert follower.alerts() == [(process_id(1), MD5, 1)]


def binary(follower: Follower, digest: str, *sensors: int) -> None:
    """Files as a commit stores them."""
    follower.seq += 1
    rows = [
        BinaryRow(
            sensor_id,
            f"host-{sensor_id}",
            "g",
            "windows",
            BinarySeen(NOW_US, digest, "", "", f"c:\\{digest[:4]}.dll", {}),
            NOW_US,
            follower.seq,
        )
        for sensor_id in sensors
    ]
    write_commit(follower.engine, Commit(binaries=rows))


def binary_alerts(follower: Follower) -> list[tuple[str, str, int]]:
    """Type, hash and host of the alerts that are about no process."""
    rows = follower.engine.query(
        "SELECT alert_type, md5, sensor_id FROM alert FINAL WHERE process_id = '' "
        "ORDER BY md5, sensor_id"
    ).rows
    return [(row[0], row[1], row[2]) for row in rows]


@pytest.mark.parametrize("is_past", [False, True], ids=["new", "past"])
def test_a_binary_that_an_indicator_names_is_an_alert_of_each_host(
    follower: Follower, is_past: bool
) -> None:
    follower.rounds.run()
    if is_past:
        binary(follower, MD5, 1, 2)
        binary(follower, "ef" * 16, 1)
        follower.rounds.run()
    follower.publisher.publish(a_report("r", md5=[MD5]))
    follower.publisher.sync()
    follower.rounds.run()
    if not is_past:
        binary(follower, MD5, 1, 2)
        binary(follower, "ef" * 16, 1)
    follower.rounds.run()
    kind = "watchlist.hit.ingress.binary"
    assert binary_alerts(follower) == [(kind, MD5, 1), (kind, MD5, 2)]
    binary(follower, MD5, 3)
    follower.rounds.run()
    assert binary_alerts(follower)[-1] == (kind, MD5, 3)
    named = follower.engine.query("SELECT DISTINCT feed_name, source_name FROM alert").rows
    assert [tuple(row) for row in named] == [("Intel", "Intel")]
    assert [tag.name for tag in tags_of_binaries(follower.engine, [MD5])[MD5]] == ["intel"]


def test_a_query_over_binaries_is_an_alert_of_each_host(follower: Follower) -> None:
    binary(follower, MD5, 1, 2)
    follower.rounds.run()
    query = {"index_type": "modules", "search_query": [f"cb.urlver=1&q=md5%3A{MD5}"]}
    follower.publisher.publish(a_report("q", query=query))
    follower.publisher.sync()
    follower.rounds.run()
    kind = "watchlist.hit.query.binary"
    assert binary_alerts(follower) == [(kind, MD5, 1), (kind, MD5, 2)]


@pytest.mark.parametrize("dying", [False, True])
def test_more_hits_than_a_page_are_all_told(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, dying: bool
) -> None:
    for module in ("feeds.indicator_hits", "store.read.threat.indicator_matches"):
        monkeypatch.setattr(f"vedette.{module}.INDICATOR_HITS_PAGE", 3)
    monkeypatch.setattr("vedette.store.read.threat.indicator_query_hits.INDICATOR_HITS_PAGE", 3)
    follower.rounds.run()
    query = {"index_type": "events", "search_query": ["cb.urlver=1&q=process_name%3Aevil.exe"]}
    follower.publisher.publish(a_report("r", md5=[MD5]), a_report("q", query=query))
    follower.publisher.sync()
    follower.rounds.run()
    numbers = range(1, 12)
    for number in numbers:
        follower.commit(number, process_md5=MD5, process_name="evil.exe", path="c:\\evil.exe")
    if dying:
        with monkeypatch.context() as patch:
            patch.setattr(DetectionWriter, "write", _dies_after([4], DetectionWriter.write))
            with suppress(KeyboardInterrupt):
                follower.rounds.run()
        follower.start()
    follower.rounds.run()
    reported = follower.alerts()
    assert [one[0] for one in reported if one[1] == MD5] == [process_id(one) for one in numbers]
    assert len(reported) == 2 * len(numbers)
    assert {count for _, _, count in reported} == {1}
    assert follower.rounds.run() == 0


@on_plain_tables
def test_a_query_that_takes_too_long_is_asked_in_parts(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"index_type": "events", "search_query": ["cb.urlver=1&q=process_name%3Aevil.exe"]}
    follower.publisher.publish(a_report("q", query=query))
    follower.publisher.sync()
    follower.rounds.run()
    for number in range(1, 9):
        follower.commit(number, process_name="evil.exe", path="c:\\evil.exe")
    asked = indicator_queries.segments_matching

    def slow(engine: Any, where: Any, rows: Any, *more: Any) -> Any:
        if rows.params["until"] - rows.params["after"] > 2:
            raise UnavailableError("too slow", reason="deadline")
        return asked(engine, where, rows, *more)

    monkeypatch.setattr(indicator_queries, "segments_matching", slow)
    follower.rounds.run()
    assert [alert[0] for alert in follower.alerts()] == [process_id(one) for one in range(1, 9)]


@on_plain_tables
def test_a_query_that_never_ends_is_stopped_and_named(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"index_type": "events", "search_query": ["cb.urlver=1&q=process_name%3Aevil.exe"]}
    follower.publisher.publish(a_report("q", query=query), a_report("r", md5=[MD5]))
    follower.publisher.sync()
    follower.rounds.run()
    follower.commit(1, process_md5=MD5, process_name="evil.exe", path="c:\\evil.exe")

    def never(*_: Any) -> Any:
        raise UnavailableError("the search exceeded its time limit", reason="deadline")

    with monkeypatch.context() as patch:
        patch.setattr(indicator_queries, "segments_matching", never)
        follower.rounds.run()
    assert [alert[1] for alert in follower.alerts()] == [MD5]
    database = follower.publisher.parts.database
    (feed,) = feeds.all_feeds(database)
    (problem,) = feeds.errors_of(database, feed.id)
    assert (problem.place, problem.report_id) == ("matching", "q")
    assert "not asked any more" in problem.problem
    follower.commit(2, process_name="evil.exe", path="c:\\evil.exe")
    assert follower.rounds.run() == 0


@pytest.mark.parametrize("is_past", [False, True], ids=["new", "past"])
def test_a_claim_that_lost_matches_no_indicator(follower: Follower, is_past: bool) -> None:
    lost = {"process_md5": digest("a5"), "identity_rank": claim_key(Rank.OTHERS, NOW_US)}
    best = {"process_md5": digest("a6"), "identity_rank": claim_key(Rank.CREATION, NOW_US)}
    values = [digest("a5"), digest("a6"), digest("a7")]

    def happens() -> None:
        follower.commit(1, **lost)
        follower.commit(2, module(digest("a7")), **lost)
        for number in (1, 2):
            follower.commit(number, **best)

    if is_past:
        happens()
    follower.rounds.run()
    follower.publisher.publish(a_report("r", md5=values))
    follower.publisher.sync()
    if not is_past:
        happens()
    for _ in range(3):
        follower.rounds.run()
    assert follower.tags(1) == {("intel", digest("a6"), 80)}
    assert follower.tags(2) == {("intel", value, 80) for value in values[1:]}
