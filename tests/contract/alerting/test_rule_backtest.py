"""Rules tried on the stored past find what they found when it was stored."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.alerting.test_trial_agrees import EVENTS, rules
from tests.contract.pipeline.requests import security
from tests.contract.pipeline.write_path import NOON_S, WritePath, submission, write_path
from tests.support.sysmon import Host, story
from vedette.alerting.past_literals import record_literals, segment_literals
from vedette.alerting.rule_backtest import PastTime, RulePast, backtest_rules
from vedette.clock import DrivenClock
from vedette.detect.narrowed_rules import narrowed_rules
from vedette.detect.rule import Rule
from vedette.detect.sigma.load import load_rules
from vedette.detect.views.stored import columns_of, kinds_of
from vedette.model.scope import EVERYTHING, Scope
from vedette.simulate.day import iter_events
from vedette.simulate.fleet import build_fleet
from vedette.simulate.stories import STORIES
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.rule_hits import hits_after

DAY_MS = 86_400_000

NOW_US = (NOON_S + 3_600) * 1_000_000

FILE = """title: a file
logsource: {product: windows, category: file_event}
detection:
  a: {TargetFilename|endswith: '\\up.exe'}
  condition: a
"""
TRACE = """title: opened with a trace
logsource: {product: windows, category: process_access}
detection:
  a: {TargetImage|endswith: '\\lsass.exe', CallTrace|contains: 'dbghelp'}
  condition: a
"""
LOG = """title: a log was cleared
logsource: {product: windows, service: security}
detection:
  a: {EventID: 1102}
  condition: a
"""

STARTED = """title: a shell started
logsource: {product: windows, category: process_creation}
detection:
  a: {Image|endswith: '\\shell.exe'}
  condition: a
"""


def loaded(*texts: str) -> list[Rule]:
    return [rule for text in texts for rule in load_rules(text, "rules").rules]


@contextmanager
def stored(
    engine: ClickHouseEngine, folder: Path, records: Sequence[Mapping[str, object]]
) -> Iterator[WritePath]:
    with write_path(engine, folder, DrivenClock(int(time.time() * 1_000_000))) as path:
        path.ingest_queue.enqueue(submission(records)).result(60)
        yield path


def tried(
    engine: ClickHouseEngine, found: list[Rule], scope: Scope = EVERYTHING, now_ms: int = 0
) -> RulePast:
    now_ms = now_ms or int(time.time() * 1_000)
    reach = Reach.within(60)
    return backtest_rules(
        engine, narrowed_rules(found), scope, now_ms - DAY_MS, now_ms + DAY_MS, reach
    )


def test_the_same_processes_as_at_ingest(engine: ClickHouseEngine, tmp_path: Path) -> None:
    fleet = build_fleet(3, 12)
    day = iter_events(fleet, NOON_S * 1_000_000, events=EVENTS, hours=1, stories=STORIES)
    lines = [
        b"".join(stream.frame(at_us, body)).partition(b"\n")[2].strip()
        for at_us, stream, body in day
    ]
    clock = DrivenClock(NOW_US)
    with write_path(engine, tmp_path, clock) as path:
        path.processor.rules.use(1, narrowed_rules(rules()))
        for at in range(0, len(lines), 500):
            path.ingest_queue.enqueue(submission(lines[at : at + 500])).result(120)
        hits = hits_after(engine, 0, path.ingest_queue.settled_seq, 1_000_000).hits
    at_ingest = {(one.hit.rule_id, one.hit.process_id) for one in hits}
    past = tried(engine, rules(), now_ms=NOW_US // 1_000)
    reported = {one.id: one.title for one in rules()}
    records = {rule for rule, subject in past.subjects if subject.startswith("record:")}
    found = {pair for pair in past.subjects if pair[0] not in records}
    exact = reported.keys() - past.not_stored.keys() - records
    assert {(reported[a], b) for a, b in at_ingest - found if a in exact} == set()
    # Of a process that ran before, the path may be learned after its first events.
    assert len({process_id for rule, process_id in found - at_ingest if rule in exact}) <= 1
    assert records <= {rule for rule, _ in at_ingest}
    assert len(exact & {rule for rule, _ in found}) >= 10
    assert not past.is_incomplete


def test_hits_are_told_by_day_host_and_rule(engine: ClickHouseEngine, tmp_path: Path) -> None:
    tale, other = story("past-a.corp.example"), story("past-b.corp.example")
    found = loaded(FILE, TRACE)
    with stored(engine, tmp_path, [*tale.records, *other.records]):
        past = tried(engine, found)
        (sensor_id,) = {one for one, name in past.hosts if name == "past-a.corp.example"}
        seen = tried(engine, found, Scope(frozenset((sensor_id,))))
        nothing = tried(engine, found, Scope(frozenset()))
    assert (past.hits, past.alerts(), past.alerts(found[0].id)) == (2, 2, 2)
    assert {name for _, name in past.hosts} == {"past-a.corp.example", "past-b.corp.example"}
    assert past.samples[0].matched["TargetFilename"].endswith("up.exe")
    assert past.not_stored == {found[1].id: frozenset(("CallTrace",))}
    assert (seen.hits, len(seen.hosts), nothing.hits) == (1, 1, 0)


def test_imported_events_count_when_they_happened(engine: ClickHouseEngine, tmp_path: Path) -> None:
    """Events of three days ago that arrive now; their process started ten minutes before."""
    happened_s = NOON_S - 3 * 86_400
    host = Host("imported.example", happened_s - 600)
    parent = host.process(4, "C:\\explorer.exe")
    shell = host.process(5, "C:\\shell.exe", "shell", 0)
    late = host.process(6, "C:\\shell.exe", "shell", 1_200)
    record = security(1102, 9)
    record["@timestamp"] = "2023-11-12T12:00:05.000Z"
    records = [
        host.created(shell, parent),
        host.of(shell, 11, 600, TargetFilename="C:\\up.exe"),
        host.created(late, parent),
        record,
    ]
    found = loaded(FILE, LOG, STARTED)
    with write_path(engine, tmp_path, DrivenClock(NOON_S * 1_000_000)) as path:
        path.post(records)

    def hits(from_s: int, until_s: int, by: PastTime) -> dict[str, int]:
        past = backtest_rules(
            engine,
            narrowed_rules(found),
            EVERYTHING,
            from_s * 1_000,
            until_s * 1_000,
            Reach.within(60),
            by,
        )
        assert (past.is_incomplete, past.from_ms, past.by) == (False, from_s * 1_000, by)
        return {one.title: past.by_rule[one.id] for one in found if past.by_rule[one.id]}

    file, log, started = (one.title for one in found)
    assert hits(happened_s - 60, happened_s + 60, "event") == {file: 1, log: 1}
    assert hits(happened_s - 900, happened_s + 900, "event") == {file: 1, log: 1, started: 2}
    assert hits(happened_s - 900, happened_s - 300, "event") == {started: 1}
    assert hits(NOON_S - 3_600, NOON_S + 60, "event") == {}
    assert hits(happened_s - 900, happened_s + 900, "arrival") == {}
    assert hits(NOON_S - 3_600, NOON_S + 60, "arrival") == {file: 1, log: 1, started: 2}


def test_a_process_started_when_it_arrived_first(engine: ClickHouseEngine, tmp_path: Path) -> None:
    host = Host("twice.example", NOON_S - 60)
    parent = host.process(4, "C:\\explorer.exe")
    shell = host.process(5, "C:\\shell.exe", "shell", 0)
    clock = DrivenClock(NOON_S * 1_000_000)
    with write_path(engine, tmp_path, clock) as path:
        path.post([host.created(shell, parent)])
        clock.advance(3_600)
        path.post([host.of(shell, 11, 3_500, TargetFilename="C:\\a.txt")])
    reach = Reach.within(60)
    judged = narrowed_rules(loaded(STARTED))
    bounds = [(NOON_S - 600, NOON_S + 600, 1), (NOON_S + 1_800, NOON_S + 4_000, 0)]
    bounds.append((NOON_S - 600, NOON_S + 4_000, 1))
    for from_s, until_s, hits in bounds:
        past = backtest_rules(
            engine, judged, EVERYTHING, from_s * 1_000, until_s * 1_000, reach, "arrival"
        )
        assert past.hits == hits


def test_a_trial_that_runs_out_of_time_says_so(engine: ClickHouseEngine, tmp_path: Path) -> None:
    tale = story("past-late.corp.example")
    with stored(engine, tmp_path, tale.records):
        now_ms = int(time.time() * 1_000)
        past = backtest_rules(
            engine, narrowed_rules(loaded(FILE)), EVERYTHING, 0, now_ms, Reach(until_s=0.0)
        )
    assert (past.is_incomplete, past.hits, past.from_ms) == (True, 0, now_ms)


@pytest.mark.parametrize("text", [FILE, LOG])
def test_what_narrows_the_read_loses_nothing(text: str) -> None:
    """Each literal is one of the rule's own texts."""
    (rule,) = loaded(text)
    literals = segment_literals([rule], columns_of(kinds_of(rule.sources)))
    expected = {"filemod_path": ["\\up.exe"]} if text is FILE else {}
    assert literals == expected
    assert record_literals([rule]) in ({}, {"mapValues(fields)": ["\\up.exe"]})
