"""Rounds: each hit is tagged and told of once, whatever is edited, interrupted or broken."""

from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, connection, file, module, process_id
from tests.contract.store.test_tags import key, reported
from tests.contract.watchlists.conftest import NOW_US, Bench
from tests.support.forms import one_of
from tests.support.indexed import on_plain_tables
from vedette.errors import UnavailableError
from vedette.state.jobs import watermarks
from vedette.state.policy.watchlists import WATCHLIST_PAST_S
from vedette.store.engine.client import Engine
from vedette.store.write.tags import write_tags
from vedette.watchlists.rounds import FOLLOWER

ONE, TWO = (process_id(1), HOUR_MS), (process_id(2), HOUR_MS)
EVIL = file(r"c:\temp\evil.exe")


def test_new_telemetry_is_judged_once(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe")
    assert bench.run() == 0
    bench.commit(1, EVIL)
    bench.commit(2, file(r"c:\good.exe"))
    assert bench.run() == 1
    assert bench.run() == 0
    assert bench.tagged(watched) == [ONE]
    record = bench.record(watched)
    assert (record.total_hits, record.total_tags, record.last_hit_count) == (1, 1, 1)
    assert record.last_hit_us > NOW_US
    assert record.last_result == 0
    assert record.last_us > 0
    (alerted,) = bench.alerted
    assert alerted.detection.alert_type == "watchlist.hit.query.process"
    assert alerted.detection.process_id == process_id(1)
    assert alerted.detection.matched == {"filemod_path": r"c:\temp\evil.exe"}


def test_what_came_before_the_first_round_of_a_new_server_is_judged(bench: Bench) -> None:
    bench.rounds.begin()
    watched = bench.watch("filemod:evil.exe")
    bench.commit(1, EVIL)
    bench.rounds = bench.restarted()  # killed before its first round
    bench.rounds.begin()
    assert bench.run() == 1
    assert bench.tagged(watched) == [ONE]
    assert len(bench.alerted) == 1


def test_parts_of_a_segment_that_come_in_several_commits_are_judged_together(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe modload:amsi.dll")
    bench.commit(1, EVIL)
    assert bench.run() == 0
    bench.commit(1, module(r"c:\windows\amsi.dll"))
    assert bench.run() == 1
    assert bench.tagged(watched) == [ONE]


def test_a_segment_that_goes_on_is_told_of_once(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe")
    for count in range(3):
        bench.commit(1, EVIL)
        assert bench.run() == (count == 0)
    record = bench.record(watched)
    assert (record.total_hits, record.total_tags) == (3, 1)
    assert len(bench.alerted) == 1


def test_the_stored_past_is_judged_too(bench: Bench) -> None:
    bench.run()
    bench.commit(1, EVIL)
    bench.commit(2, EVIL, window_ms=NEXT_MS)
    bench.commit(3, file("c:\\good.exe"))
    old_ms = HOUR_MS - WATCHLIST_PAST_S * 1_000 - 600_000
    bench.commit(4, EVIL, window_ms=old_ms, partition_ms=old_ms)
    bench.run()
    watched = bench.watch("filemod:evil.exe")
    while bench.record(watched).has_past:
        bench.run()
    assert bench.tagged(watched) == [ONE, (process_id(2), NEXT_MS)]
    assert bench.record(watched).total_tags == 2
    assert len(bench.alerted) == 2


def test_nothing_is_missed_between_saving_and_following(bench: Bench) -> None:
    bench.run()
    bench.commit(1, EVIL)  # before it is saved, not followed yet
    watched = bench.watch("filemod:evil.exe")
    bench.commit(2, EVIL)
    bench.run()
    bench.commit(3, EVIL)
    while bench.record(watched).has_past or bench.run():
        bench.run()
    assert len(bench.tagged(watched)) == len(bench.alerted) == 3


@on_plain_tables
def test_a_new_query_starts_anew_under_the_next_id(bench: Bench) -> None:
    bench.commit(1, EVIL)
    bench.commit(2, file(r"c:\other.exe"))
    watched = bench.watch("filemod:evil.exe")
    bench.run()
    changed = bench.change(watched, search_query="filemod:other.exe")
    assert changed.id == watched + 1
    assert bench.record(watched).id == watched + 1
    bench.run()
    assert bench.tagged(watched) == [ONE]
    assert bench.tagged(watched + 1) == [TWO]
    assert bench.record(watched).total_tags == 1


@on_plain_tables
def test_a_disabled_one_is_not_asked_and_catches_up(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe")
    bench.run()
    bench.change(watched, enabled=False)
    bench.commit(1, EVIL)
    assert bench.run() == 0
    bench.change(watched, enabled=True)
    bench.run()
    assert bench.tagged(watched) == [ONE]


def test_binaries_are_told_of_for_each_host(bench: Bench) -> None:
    watched = bench.watch("digsig_result:Unsigned", "modules")
    bench.run()
    bench.sight("a" * 32, 1, digsig_result="Unsigned")
    bench.sight("b" * 32, 1, digsig_result="Signed")
    assert bench.run() == 1
    bench.sight("a" * 32, 1, digsig_result="Unsigned")
    bench.sight("a" * 32, 2, digsig_result="Unsigned")
    assert bench.run() == 0
    assert bench.tagged(watched) == [("a" * 32, 0)]
    hosts = [one.detection.sensor_id for one in bench.alerted]
    assert hosts == [1, 2]
    assert {one.detection.alert_type for one in bench.alerted} == {"watchlist.hit.query.binary"}


def test_stored_binaries_are_the_past_of_their_watchlists(bench: Bench) -> None:
    bench.sight("a" * 32, comments="bad")
    bench.run()
    watched = bench.watch("comments:bad", "modules")
    assert bench.run() == 1
    assert bench.tagged(watched) == [("a" * 32, 0)]
    assert not bench.record(watched).has_past


def test_joins_ask_the_binaries_of_all_hosts(bench: Bench) -> None:
    bench.sight("a" * 32, 2, digsig_result="Unsigned")
    bench.sight("b" * 32, 2, digsig_result="Signed")
    own = bench.watch("digsig_result:Unsigned")
    loaded = bench.watch("-digsig_result_modload:Signed process_name:x.exe")
    bench.run()
    bench.commit(1, module("c:\\m.dll", "b" * 32), process_md5="a" * 32, process_name="x.exe")
    bench.commit(2, module("c:\\m.dll", "a" * 32), process_md5="b" * 32, process_name="x.exe")
    bench.run()
    assert bench.tagged(own) == [ONE]
    assert bench.tagged(loaded) == [TWO]


def test_a_watchlist_of_a_group_sees_its_sensors_alone(bench: Bench) -> None:
    mine = bench.watch("filemod:evil.exe", group_id=2)
    every = bench.watch("filemod:evil.exe")
    bench.run()
    bench.commit(1, EVIL, sensor_id=1)
    bench.commit(1, EVIL, sensor_id=3)
    bench.run()
    assert [one[0] for one in bench.tagged(mine)] == [process_id(1, 3)]
    assert len(bench.tagged(every)) == 2
    later = bench.watch("filemod:evil.exe", group_id=2)
    bench.run()
    assert [one[0] for one in bench.tagged(later)] == [process_id(1, 3)]


def test_what_a_feed_says_later_is_followed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.watchlists.rounds.WATCHLIST_TAG_LAG_S", 0)
    watched = bench.watch("alliance_score_srs:[50 TO *]")
    bench.clock.advance(10**9)  # the store's clock is the machine's
    bench.run()
    bench.commit(1, EVIL)
    bench.run()
    write_tags(bench.engine, [reported(key(1), score=90), reported(key(2), score=90)])
    tag = bench.engine.capabilities.storage("tag")
    bench.engine.command(
        f"ALTER TABLE {tag} UPDATE written = fromUnixTimestamp64Micro(toInt64("
        f"{bench.clock.now_us() + 500_000}), 'UTC') WHERE 1 SETTINGS mutations_sync = 1"
    )
    assert bench.run() == 1
    assert bench.run() == 0
    assert bench.tagged(watched) == [ONE]


@on_plain_tables
def test_one_that_fails_costs_only_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = bench.watch("filemod:evil.exe", name="broken")
    good = bench.watch("filemod:evil.exe", name="good")
    bench.run()
    with bench.database.writing() as opened:
        opened.exec_driver_sql(
            "UPDATE watchlist SET search_query = 'nofield:x' WHERE id = ?", (broken,)
        )
    bench.commit(1, EVIL)
    assert bench.run() == 1
    assert bench.tagged(good) == [ONE]
    assert bench.record(broken).last_result == 1
    assert "nofield" in bench.record(broken).last_error
    assert bench.record(good).last_result == 0


@on_plain_tables
def test_one_that_costs_too_much_is_stopped_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = bench.watch("-filemod:evil.exe")
    bench.run()
    monkeypatch.setattr("vedette.watchlists.rounds.WATCHLIST_COST_S_AN_HOUR", 0)
    bench.commit(1, EVIL)
    bench.run()
    record = bench.record(watched)
    assert "in an hour" in record.stopped
    assert record.last_result == 2
    stopped = [one.detection for one in bench.alerted if one.detection.source.kind == "server"]
    assert [one.description for one in stopped] == [record.stopped]
    bench.commit(2, EVIL)
    bench.run()
    assert bench.tagged(watched) == []
    monkeypatch.setattr("vedette.watchlists.rounds.WATCHLIST_COST_S_AN_HOUR", 100)
    assert bench.change(watched, enabled=True).stopped == ""
    bench.commit(3, file("c:\\x"))
    bench.run()
    assert len(bench.tagged(watched)) == 1


@on_plain_tables
def test_more_hits_than_can_be_told_are_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.watchlists.hits.WATCHLIST_HITS_A_GROUP", 2)
    watched = bench.watch("filemod:evil.exe")
    bench.run()
    for number in range(1, 6):
        bench.commit(number, EVIL)
    assert bench.run() == 5
    assert len(bench.tagged(watched)) == 5
    kinds = [one.detection.source.kind for one in bench.alerted]
    assert kinds.count("watchlist") == 2
    (server,) = [one.detection for one in bench.alerted if one.detection.source.kind == "server"]
    assert server.description.startswith("3 more")


def test_a_relative_time_is_that_of_the_round(bench: Bench) -> None:
    watched = bench.watch("start:-1h")
    bench.run()
    bench.clock.advance(3 * 3600)
    bench.commit(1, EVIL, start=NOW_US)
    bench.commit(2, EVIL, start=NOW_US + 3 * 3600 * 1_000_000)
    bench.run()
    assert bench.tagged(watched) == [TWO]


def test_many_commits_are_judged_in_groups(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.watchlists.rounds.WATCHLIST_ROWS_A_ROUND", 2)
    watched = bench.watch("filemod:evil.exe ipaddr:10.0.0.9")
    bench.run()
    for number in range(1, 8):
        bench.commit(number, EVIL, connection("x.com"))
    assert bench.run() == 7
    assert len(bench.tagged(watched)) == 7
    assert watermarks.load(bench.database, FOLLOWER) == bench.seq


def test_documents_of_unmounted_partitions_are_passed_over(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe")
    bench.run()
    bench.commit(1, EVIL)
    segment = bench.engine.capabilities.storage("segment")
    bench.engine.command(f"ALTER TABLE {segment} DROP PARTITION ID '{HOUR_MS}'")
    assert bench.run() == 0
    assert bench.tagged(watched) == []


class _KilledError(UnavailableError):
    """The process ended here."""


class _Failing:
    """An engine that ends at its nth call."""

    def __init__(self, engine: Engine, calls: int) -> None:
        self._engine = engine
        self.left = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name not in ("query", "insert_arrow", "command", "query_table", "stream"):
            return found

        def counted(*arguments: Any, **options: Any) -> Any:
            if self.left == 0:
                raise _KilledError("killed")
            self.left -= 1
            return found(*arguments, **options)

        return counted


@on_plain_tables
def test_killed_between_any_two_steps_each_hit_is_told_once(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe")
    modules = bench.watch("comments:bad", "modules")
    bench.run()
    survived = 0
    for number, calls in enumerate(one_of(3, range(60)), 1):
        bench.commit(number, EVIL)
        bench.sight(f"{number:032x}", comments="bad")
        bench.clock.advance(1)
        failing = _Failing(bench.engine, calls)
        try:
            bench.restarted(failing).run()  # type: ignore[arg-type]
            survived += 1
        except _KilledError:
            bench.rounds = bench.restarted()
            bench.run()
        assert len(bench.tagged(watched)) == len(bench.tagged(modules)) == number
        for record in (bench.record(watched), bench.record(modules)):
            assert (record.total_hits, record.total_tags) == (number, number)
        if survived > 2:
            break
    assert survived > 2
    alerts = bench.alerts()
    assert len(alerts) == len(set(alerts)) == 2 * number
    assert {one.detection.id for one in bench.alerted} == {one[1] for one in alerts}


@on_plain_tables
def test_killed_in_the_transaction_nothing_counts_twice(bench: Bench) -> None:
    watched = bench.watch("filemod:evil.exe")
    bench.run()
    bench.commit(1, EVIL)
    fails = [True]
    received = bench.alerted.extend

    def hook(_: Any, written: Any) -> None:
        if fails.pop():
            raise _KilledError("killed")
        received(written)

    bench._hear = hook  # type: ignore[method-assign]
    bench.rounds = bench.restarted()
    with pytest.raises(_KilledError):
        bench.run()
    assert bench.record(watched).total_tags == 0
    fails.append(False)
    bench.rounds = bench.restarted()
    assert bench.run() == 1
    assert bench.record(watched).total_tags == 1
    assert len(bench.alerts()) == 1
