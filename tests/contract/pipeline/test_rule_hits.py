"""Rules on the write path: which events they are asked of, what a hit keeps, what survives what."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.pipeline.requests import plain, security, sysmon
from tests.contract.pipeline.test_connection_pairs import Story
from tests.contract.pipeline.write_path import (
    NOON_S,
    WritePath,
    local_processor,
    submission,
    worker_processor,
    write_path,
)
from tests.support.sysmon import Host
from tests.unit.detect.rules import rule
from vedette.clock import DrivenClock
from vedette.detect.judged_rule import JudgedRule, judged_rule
from vedette.detect.rule import Rule
from vedette.errors import UnavailableError
from vedette.pipeline.batch.pack import PackedCommit
from vedette.pipeline.batch.rule_judge import RULE_HITS_A_COMMIT_MAX
from vedette.pipeline.store_writer import StoreWriter
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.read.detection.rule_hits import StoredHit, hits_after

FILES = rule(
    "  a:\n    TargetFilename|endswith: .txt\n    CommandLine|contains: 'C:'\n  condition: a\n",
    category="file_event",
)


@pytest.fixture(params=[local_processor, worker_processor], ids=["here", "apart"])
def judging(
    request: pytest.FixtureRequest, engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> Iterator[WritePath]:
    """A write path over an empty store, with rules judged in this process and in workers."""
    with write_path(engine, tmp_path, clock, prepared=request.param) as opened:
        yield opened


def use(path: WritePath, *rules: Rule, generation: int = 7) -> None:
    path.processor.rules.use(generation, [judged_rule(one, one.condition) for one in rules])


def hits(path: WritePath) -> list[StoredHit]:
    return hits_after(path.engine, 0, path.ingest_queue.settled_seq, 100_000).hits


def test_a_hit_has_the_event_as_the_rule_saw_it_and_the_place_of_its_process(
    judging: WritePath,
) -> None:
    wanted = rule(
        "  a:\n    TargetObject|endswith: \\Run\\updater\n    ParentImage|endswith: WINWORD.EXE\n"
        "    CommandLine|contains: -enc\n  condition: a\n",
        category="registry_set",
    )
    use(judging, wanted)
    host = Host("seen.example", NOON_S - 100)
    word = host.process(4, "C:\\Office\\WINWORD.EXE")
    shell = host.process(5, "C:\\powershell.exe", "powershell.exe -nop -enc SQBF", 10)
    value = {"EventType": "SetValue", "TargetObject": "HKU\\Run\\updater", "Details": "up.exe"}
    judging.post(
        [host.created(word, word), host.created(shell, word), host.of(shell, 13, 5, **value)]
    )
    [found] = hits(judging)
    hit = found.hit
    assert (hit.rule_id, hit.generation, hit.count) == (wanted.id, 7, 1)
    assert hit.process_id.endswith(shell.sensor_less_id)
    assert hit.subject == hit.process_id
    assert hit.matched["ParentImage"] == word.image
    assert hit.matched["CommandLine"] == shell.command_line
    assert hit.event["Details"] == "up.exe"
    assert hit.event["EventType"] == "SetValue"
    assert hit.md5 == f"{shell.pid:032x}"
    segments = judging.engine.query(
        "SELECT segment_id FROM segment WHERE process_id = {id:String}", {"id": hit.process_id}
    )
    assert {row[0] for row in segments.rows} == {hit.segment_id}
    assert found.committed_us == judging.clock.now_us()


def test_both_records_of_one_connection_are_judged_and_name_its_process(
    judging: WritePath,
) -> None:
    use(judging, _of_security("    EventID: 5156\n    DestPort: 443"))
    story = Story("both.example")
    judging.post([story.created])
    judging.post([story.sysmon(10.2), story.security(10.0)])
    [found] = hits(judging)
    assert found.hit.process_id.endswith(story.process.sensor_less_id)


def test_hits_of_one_process_in_a_commit_are_one_with_a_count(judging: WritePath) -> None:
    use(judging, FILES)
    host = Host("counted.example", NOON_S - 100)
    parent, process = host.process(4, "C:\\p.exe"), host.process(5, "C:\\a.exe")
    records = [host.created(process, parent)]
    records += [host.of(process, 11, n, TargetFilename=f"C:\\{n}.txt") for n in range(20)]
    judging.post(records)
    [found] = hits(judging)
    assert found.hit.count == 20
    assert found.hit.event["TargetFilename"] == "C:\\0.txt"
    assert found.hit.last_us - found.hit.time_us == 19_000_000
    [cost] = judging.processor.rules.take_costs()
    assert (cost.rule_id, cost.events, cost.hits) == (FILES.id, 20, 20)
    assert judging.processor.rules.take_costs() == []


def test_what_is_not_kept_is_judged_and_what_is_sent_again_is_not(judging: WritePath) -> None:
    wanted = _of_security("    EventID: 4799\n    SubjectUserName: mallory")
    use(judging, wanted)
    assert [*judging.outcomes([security(4799, 5, SubjectUserName="Mallory")])]
    [found] = hits(judging)
    assert found.hit.process_id == ""
    assert found.hit.subject.startswith("record:")
    assert found.hit.event["SubjectUserName"] == "Mallory"
    judging.post(sysmon())
    use(judging, FILES)
    judging.post(sysmon())
    assert len(hits(judging)) == 1, "every record of it is a duplicate"


def test_rules_apply_to_commits_that_begin_later_and_stop_when_they_are_gone(
    judging: WritePath,
) -> None:
    use(judging, _any_file(), generation=1)
    judging.post(plain(2))
    assert judging.processor.rules.judged_by.generation == 1
    use(judging, generation=2)
    judging.post(plain(2, first=2))
    assert judging.processor.rules.judged_by.generation == 2
    use(judging, _any_file(), generation=3)
    judging.post(plain(2, first=4))
    found = hits(judging)
    assert [one.hit.generation for one in found] == [1, 3]
    assert judging.processor.rules.judged_by.seq == found[-1].seq


def test_records_that_a_filter_drops_are_asked_of_no_rule(judging: WritePath) -> None:
    use(judging, _any_file())
    judging.processor.use_filters(
        [IngressFilter("b", path_filters=("C:\\b.exe",), filter_all_events=True)]
    )
    judging.post(plain())
    judging.post(sysmon())
    assert {one.hit.event["Image"] for one in hits(judging)} == {"C:\\a.exe"}


def test_a_rule_that_fires_on_everything_keeps_few_events_and_all_hits(path: WritePath) -> None:
    use(path, _of_security("    EventID: 4799"))
    count = RULE_HITS_A_COMMIT_MAX + 50
    path.post([security(4799, n) for n in range(1, count + 1)])
    found = hits(path)
    assert sum(bool(one.hit.event) for one in found) == RULE_HITS_A_COMMIT_MAX
    assert len({one.hit.subject for one in found}) == count
    assert {one.hit.count for one in found} == {1}


def test_values_of_any_size_and_kind_are_kept_within_bounds(path: WritePath) -> None:
    use(path, _any_file())
    host = Host("large.example", NOON_S - 100)
    process = host.process(5, "C:\\a.exe")
    record = host.of(process, 11, 0, TargetFilename="C:\\" + "x" * 200_000)
    record["winlog"]["event_data"] |= {
        "List": ["a", {"b": 1}],
        "Nothing": None,
        "N" * 100_000: "v",
        "\ud800": "\udfff",
    }
    path.post([record])
    [found] = hits(path)
    assert 8_000 < sum(map(len, found.hit.event.values())) < 66_000
    assert found.hit.event["Image"] == "C:\\a.exe"


def test_a_rule_that_cannot_be_asked_costs_neither_others_nor_the_commit(
    judging: WritePath,
) -> None:
    broken = JudgedRule("unreadable", ("windows/file_event",), ["what", 1])
    failing = JudgedRule("failing", ("windows/file_event",), ["f", "Image", "r", "(?=x)", ""])
    whole = judged_rule(_any_file(), _any_file().condition)
    judging.processor.rules.use(7, [broken, failing, whole])
    judging.post(plain())
    assert {one.hit.rule_id for one in hits(judging)} == {whole.id}


class Failing:
    """A store that fails after the hits of a commit were written."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.fails = True

    def write(self, packed: PackedCommit) -> None:
        if self.fails:
            first = [(name, rows) for name, rows in packed.tables.aside if name == "hit"]
            for name, rows in first:
                self._engine.insert_arrow(name, rows)
            raise UnavailableError("the disk is gone")
        StoreWriter(self._engine).write(packed)


def test_hits_of_a_commit_that_failed_are_those_of_the_one_that_repeats_it(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = Failing(engine)
    with write_path(engine, tmp_path, clock, ledger=ledger) as path:
        use(path, _any_file())
        with pytest.raises(UnavailableError):
            path.post(plain())
        ledger.fails = False
        deadline_s = time.monotonic() + 30
        while time.monotonic() < deadline_s:
            try:
                path.ingest_queue.enqueue(submission(plain())).result(30)
                break
            except UnavailableError:
                time.sleep(0.1)
        found = hits(path)
        assert {one.hit.subject for one in found} == {found[0].hit.subject}
        assert {one.seq for one in found} <= set(range(path.ingest_queue.settled_seq + 1))


def test_a_commit_of_hits_alone_is_numbered(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    """Else a number would be given twice, and who follows would miss what has it second."""
    with write_path(engine, tmp_path, clock) as path:
        use(path, _of_security("    EventID: 4799"))
        path.post([security(4799, 1)])
        [first] = hits(path)
    with write_path(engine, tmp_path, clock) as path:
        use(path, _of_security("    EventID: 4799"))
        path.post([security(4799, 2)])
        assert [one.seq for one in hits(path)] == [first.seq, first.seq + 1]


def _any_file() -> Rule:
    return rule("  a:\n    TargetFilename|contains: ':'\n  condition: a\n", category="file_event")


def _of_security(detection: str) -> Rule:
    made = rule(f"  a:\n{detection}\n  condition: a\n")
    return Rule(made.id, made.title, made.level, ("windows//security",), made.condition)
