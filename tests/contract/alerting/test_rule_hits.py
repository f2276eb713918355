"""A stored rule raises one alert for a commit, despite interruptions; also with correlations."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.contract.pipeline.requests import security
from tests.contract.pipeline.write_path import NOON_S, Json, WritePath, write_path
from tests.support.sysmon import Host
from vedette import limits
from vedette.alerting.detection_writer import DetectionWriter, OnQuiet, Within, Written
from vedette.alerting.rule_budget import RULE_BUDGET_SHARE, RuleBudget
from vedette.alerting.rule_hits import HitMetrics, RuleHits
from vedette.alerting.rule_import import import_rules
from vedette.alerting.rule_messages import RuleFile
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.model.findings.detection import Detection, RuleCost
from vedette.pipeline.rule_reload import RuleReloader
from vedette.state.db.database import Database, open_database
from vedette.state.jobs import correlation_groups
from vedette.state.policy import rules
from vedette.state.policy.sigma.correlation_rules import base_rules
from vedette.store.engine.client import ClickHouseEngine

SHELL = """title: A shell starts
id: 11111111-1111-4111-8111-111111111111
name: shell_starts
level: high
tags: [attack.t1059]
falsepositives: [people]
description: Somebody works
references: [https://rules.example/shell]
date: 2024-05-06
logsource: {product: windows, category: process_creation}
detection:
  a:
    Image|endswith: \\shell.exe
  condition: a
"""
LOGON = """title: A logon fails
id: 22222222-2222-4222-8222-222222222222
name: logon_fails
level: medium
logsource: {product: windows, service: security}
detection:
  a:
    EventID: 4625
  condition: a
"""
MANY = """title: Many logons fail
id: 33333333-3333-4333-8333-333333333333
level: high
tags: [attack.t1110]
correlation:
  type: event_count
  rules: [logon_fails]
  group-by: [who]
  aliases:
    who:
      logon_fails: TargetUserName
  timespan: 5m
  condition:
    gte: 4
"""
MANY_ID = "33333333-3333-4333-8333-333333333333"
QUIET = """title: Known shells
logsource: {product: windows, category: process_creation}
filter:
  rules: [shell_starts]
  selection:
    User: CORP\\ann
  condition: not selection
"""


class Followed:
    """A write path with rules of the state, and who makes alerts of their hits."""

    def __init__(self, path: WritePath, database: Database, clock: DrivenClock) -> None:
        self.path = path
        self.database = database
        self.clock = clock
        self.rules = RuleReloader(database, path.processor, clock)
        self.writer = DetectionWriter(path.engine, database, clock)
        self.hits = self.follower(self.writer)

    def follower(self, writer: Any) -> RuleHits:
        settled = lambda: self.path.ingest_queue.settled_seq  # noqa: E731
        metrics = HitMetrics(CollectorRegistry())
        return RuleHits(self.path.engine, self.database, writer, settled, self.clock, metrics)

    def add(self, *texts: str) -> None:
        files = [RuleFile(f"{number}.yml", text, "") for number, text in enumerate(texts)]
        done = import_rules(self.database, files, "tester", self.clock.now_us())
        assert [one.rule.problem_message for one in done] == [""] * len(texts)
        self.rules.reload()

    def alerts(self) -> list[dict[str, Any]]:
        return self.path.engine.query("SELECT * FROM alert FINAL ORDER BY title, id").dicts()


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock(NOON_S * 1_000_000)


@pytest.fixture
def followed(engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock) -> Iterator[Followed]:
    with (
        write_path(engine, tmp_path, clock) as path,
        closing(open_database("", tmp_path)) as database,
    ):
        yield Followed(path, database, clock)


def shells(count: int, first: int = 10, name: str = "shells.example") -> list[Json]:
    host = Host(name, NOON_S - 200, record_id=first * 10)
    parent = host.process(4, "C:\\explorer.exe")
    return [
        host.created(host.process(n, "C:\\shell.exe", f"shell {n}", n), parent)
        for n in range(first, first + count)
    ]


def failures(who: str, count: int, first: int = 1) -> list[Json]:
    return [security(4625, n, TargetUserName=who) for n in range(first, first + count)]


def test_a_hit_becomes_an_alert_that_says_all_of_the_rule(followed: Followed) -> None:
    followed.add(SHELL)
    followed.path.post(shells(1))
    assert followed.hits.follow() == 1
    assert followed.hits.follow() == 0
    [alert] = followed.alerts()
    assert (alert["source_kind"], alert["title"]) == ("rule", "A shell starts")
    assert (alert["level"], alert["alert_severity"]) == ("high", 75_000)
    assert alert["techniques"] == ["T1059"]
    assert alert["false_positives"] == ["people"]
    assert alert["link"] == "https://rules.example/shell"
    assert alert["rule_text"] == SHELL
    assert alert["rule_version"] == "2024-05-06 revision 1"
    assert alert["matched"] == {"Image": "C:\\shell.exe"}
    assert alert["event"]["CommandLine"] == "shell 10"
    assert alert["hostname"] == "shells.example"
    assert alert["process_id"]


def test_a_rule_over_its_budget_is_stopped_and_that_is_an_alert(followed: Followed) -> None:
    followed.add(SHELL, LOGON)
    shell, logon = rules.evaluated(followed.database)[1]
    minute_ns = limits.RULE_BUDGET_WINDOW_S * 1_000_000_000
    budget = RuleBudget(followed.database, followed.rules, followed.writer, followed.clock)
    for share in (0.6, 0.6):
        spent = int(minute_ns * RULE_BUDGET_SHARE * share)
        followed.path.processor.rules.add_costs(
            [RuleCost(shell.id, 10, 0, spent), RuleCost(logon.id, 10, 0, spent // 2)]
        )
        followed.rules.flush()
    assert budget.check() == [shell.id]
    assert budget.check() == []
    [alert] = followed.alerts()
    assert alert["source_kind"] == "server"
    assert "30% of a processor" in alert["description"]
    stopped = rules.get(followed.database, shell.id)
    assert stopped.state(stopped.generation) == "stopped"
    assert stopped.stopped_reason == alert["matched"]["reason"]
    assert stopped.counts.verify_us == int(minute_ns * 0.3) // 1_000
    followed.path.post([*shells(1), *failures("bob", 1)])
    followed.hits.follow()
    assert {one["title"] for one in followed.alerts()} == {alert["title"], "A logon fails"}
    rules.switch(followed.database, [shell.id], "tester", 1, enabled=True)
    followed.rules.reload()
    followed.path.post(shells(1, first=20))
    assert followed.hits.follow() == 1


class Dying:
    """A writer that dies after, or before, it has written."""

    def __init__(self, writer: DetectionWriter, *, after: bool) -> None:
        self._writer = writer
        self._after = after

    def write(self, detections: list[Detection], within: Within, on_quiet: OnQuiet) -> Written:
        if self._after:

            def last_step(transaction: Any) -> None:
                within(transaction)
                raise UnavailableError("killed before the transaction ended")

            self._writer.write(detections, last_step, on_quiet)
        raise UnavailableError("killed before anything was written")


@pytest.mark.parametrize("after", [False, True])
def test_a_round_that_is_repeated_makes_the_same_alerts(followed: Followed, after: bool) -> None:
    followed.add(SHELL, LOGON, MANY)
    followed.path.post([*shells(3), *failures("bob", 3)])
    with pytest.raises(UnavailableError):
        followed.follower(Dying(followed.writer, after=after)).follow()
    followed.path.post(failures("bob", 3, first=4))
    with pytest.raises(UnavailableError):
        followed.follower(Dying(followed.writer, after=after)).follow()
    followed.hits.follow()
    titles = [alert["title"] for alert in followed.alerts()]
    assert titles == ["A shell starts"] * 3 + ["Many logons fail"]
    assert [alert["count"] for alert in followed.alerts()] == [1, 1, 1, 4]


def test_correlated_rules_alert_together_and_not_alone(followed: Followed) -> None:
    followed.add(LOGON, MANY)
    followed.path.post([*failures("Bob", 2), *failures("eve", 3, first=10)])
    followed.hits.follow()
    assert followed.alerts() == []
    followed.path.post(failures("bob", 2, first=3))
    followed.hits.follow()
    [alert] = followed.alerts()
    assert alert["title"] == "Many logons fail"
    assert alert["techniques"] == ["T1110"]
    assert alert["matched"]["who"].lower() == "bob"
    assert alert["hostname"] == "windows.example"
    assert alert["count"] == 4


def test_what_a_correlation_remembers_survives_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    for first in (1, 3):
        with (
            write_path(engine, tmp_path, clock) as path,
            closing(open_database("", tmp_path)) as database,
        ):
            followed = Followed(path, database, clock)
            followed.add(LOGON, MANY)
            followed.rules.reload()
            path.post(failures("bob", 2, first))
            followed.hits.follow()
            count = len(followed.alerts())
            followed.hits.forget()
            assert correlation_groups.count(database, [MANY_ID]) == 1
    assert count == 1


def test_a_filter_narrows_the_rules_that_it_names(followed: Followed) -> None:
    followed.add(SHELL, QUIET)
    followed.path.post(shells(2))
    assert followed.hits.follow() == 0
    [known] = [one for one in rules.evaluated(followed.database)[1] if one.kind == "filter"]
    rules.switch(followed.database, [known.id], "t", 1, enabled=False)
    followed.rules.reload()
    followed.path.post(shells(2, first=20))
    assert followed.hits.follow() == 2


def test_the_last_hits_of_a_deleted_rule_still_become_alerts(followed: Followed) -> None:
    followed.add(SHELL)
    followed.path.post(shells(1))
    rules.remove(followed.database, ["11111111-1111-4111-8111-111111111111"], "t", NOON_S)
    followed.rules.reload()
    followed.hits.follow()
    assert [alert["title"] for alert in followed.alerts()] == ["A shell starts"]
    rules.forget_removed(followed.database, followed.clock.now_us() * 2)
    assert rules.named(followed.database, ["11111111-1111-4111-8111-111111111111"]) == {}


def test_the_rules_whose_hits_a_correlation_counts_are_named_by_id(followed: Followed) -> None:
    above = (
        MANY.replace("Many", "More")
        .replace("3333", "4444")
        .replace("[logon_fails]", f"[{MANY_ID}]")
    )
    followed.add(LOGON, MANY, above, SHELL)
    with followed.database.reading() as connection:
        logon_id = "22222222-2222-4222-8222-222222222222"
        assert base_rules(connection, MANY_ID) == [logon_id]
        assert base_rules(connection, MANY_ID.replace("3333", "4444")) == [logon_id]
        assert base_rules(connection, logon_id) == []
