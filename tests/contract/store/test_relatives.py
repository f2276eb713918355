"""Many processes at once: who names whom, who reports whom, and what they are."""

from typing import Any

from tests.contract.store.rows import NEXT_MS, file, partial, process_id, store
from tests.support.indexed import on_two_shards
from vedette.model.event import ChildKind, Childproc
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.process import children_of
from vedette.store.read.relatives import (
    CHILD_REPORTS_MAX,
    FACTS,
    NODE,
    Tie,
    children_named,
    facts_of,
    known_of,
    reports_of,
    ties_of,
)

P1, P2, P3 = process_id(1), process_id(2), process_id(3)
OTHERS = Scope(frozenset({2}))


def started(parent: int, child: int, time_us: int, **reported: Any) -> Childproc:
    return Childproc(process_id(parent), time_us, 1, ChildKind.EXEC, process_id(child), **reported)


def test_children_name_their_parents_whatever_partial_row_does(
    contract_engine: ClickHouseEngine,
) -> None:
    store(contract_engine, partial(2, start=50), partial(3, parent_id=P1, start=40))
    store(contract_engine, partial(2, file("a"), parent_id=P1), partial(4, parent_id=P2, start=60))
    found = ties_of(contract_engine, [P1, P2], EVERYTHING, limit=9)
    assert found == [
        Tie(P1, P3, 40, 0),
        Tie(P1, P2, 50, 0),
        Tie(P2, process_id(4), 60, 0),
    ]
    assert ties_of(contract_engine, [P1, P2], EVERYTHING, limit=1) == found[:1]
    assert ties_of(contract_engine, [P1, P2], OTHERS, limit=9) == []


@on_two_shards
def test_who_sees_no_host_sees_no_children(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(2, parent_id=P1, start=50))
    assert ties_of(contract_engine, [P1], Scope(frozenset()), limit=9) == []
    assert children_of(contract_engine, P1, Scope(frozenset())) == []


def test_children_are_found_by_any_partial_row_unless_they_are_too_many(
    contract_engine: ClickHouseEngine,
) -> None:
    store(contract_engine, partial(2, parent_id=P1, start=50, path="/bin/2"), partial(3, file("a")))
    store(contract_engine, partial(3, parent_id=P1, start=40), partial(2, started(2, 9, 60)))
    assert children_named(contract_engine, [P1], 2) == [P2, P3]
    assert children_named(contract_engine, [P1], 1) is None
    assert children_named(contract_engine, [P2, P3], 2) == []


def test_a_process_comes_with_the_children_that_it_reported(
    contract_engine: ClickHouseEngine,
) -> None:
    ended = Childproc(P1, 90, 0, ChildKind.EXEC, P2, "/bin/z")
    nobody = Childproc(P1, 90, 1, ChildKind.EXEC, "", "/bin/n")
    store(contract_engine, partial(1, ended, nobody, window_ms=NEXT_MS), partial(2, file("a")))
    store(contract_engine, partial(1, started(1, 2, 50, path="/bin/first", suppressed=1)))
    store(contract_engine, partial(1, started(1, 3, 40, command_line="x", pid=7, md5="ab")))
    known = known_of(contract_engine, [P1, P2, P3], EVERYTHING, FACTS)
    facts = facts_of(contract_engine, [P1, P2, P3], EVERYTHING)
    assert {name: one.row for name, one in known.items()} == facts
    reported = sorted(known[P1].reports or [], key=lambda report: report.time_us)
    assert reported == reports_of(contract_engine, [P1], EVERYTHING, limit=9)
    assert known[P2].reports == []


def test_of_very_many_children_no_reports_come_with_their_parent(engine: ClickHouseEngine) -> None:
    many = [started(1, 2 + number, 50 + number) for number in range(CHILD_REPORTS_MAX)]
    store(engine, partial(1, *many), partial(2, *many[:-1]))
    known = known_of(engine, [P1, P2], EVERYTHING, NODE)
    assert len(known[P1].reports or []) == CHILD_REPORTS_MAX
    store(engine, partial(1, started(1, 2, 50)))
    known = known_of(engine, [P1, P2], EVERYTHING, NODE)
    assert known[P1].reports is None
    assert len(known[P2].reports or []) == CHILD_REPORTS_MAX - 1


def test_a_child_is_reported_as_it_was_when_it_began(contract_engine: ClickHouseEngine) -> None:
    ended = Childproc(P1, 90, 0, ChildKind.EXEC, P2, "/bin/z")
    later = started(1, 2, 60, path="/bin/later")
    store(contract_engine, partial(1, ended, window_ms=NEXT_MS))
    store(contract_engine, partial(1, started(1, 2, 50, path="/bin/first", suppressed=1), later))
    store(contract_engine, partial(1, started(1, 3, 40, command_line="x")))
    third, second = reports_of(contract_engine, [P1], EVERYTHING, limit=9)
    assert (third.child_id, third.command_line, third.is_suppressed) == (P3, "x", False)
    assert (second.path, second.time_us, second.is_suppressed) == ("/bin/first", 50, True)
    only = reports_of(contract_engine, [P1], EVERYTHING, limit=9, child_ids=[P2])
    assert only == [second]
    assert reports_of(contract_engine, [P1], OTHERS, limit=9) == []


def test_facts_are_summed_over_all_segments(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(1, file("a"), path="/bin/a", cmdline="a -x"))
    store(contract_engine, partial(1, file("b"), file("c"), window_ms=NEXT_MS, terminated=1))
    facts = facts_of(contract_engine, [P1, P2], EVERYTHING)
    assert list(facts) == [P1]
    assert (facts[P1]["path"], facts[P1]["cmdline"]) == ("/bin/a", "a -x")
    assert (facts[P1]["filemod_count"], facts[P1]["terminated"]) == (3, 1)
    assert (facts[P1]["sensor_id"], facts[P1]["segment_id"]) == (1, NEXT_MS)
    assert facts_of(contract_engine, [P1], OTHERS) == {}
    assert facts_of(contract_engine, [], EVERYTHING) == {}


def test_questions_of_many_processes_are_asked_in_parts(engine: ClickHouseEngine) -> None:
    rows = [partial(n, parent_id=P1, start=n) for n in range(2, 40)]
    store(engine, *rows)
    many = [process_id(n) for n in range(1, 4_500)]
    assert len(facts_of(engine, many, EVERYTHING)) == 38
    assert len(ties_of(engine, many, EVERYTHING, limit=99)) == 38
