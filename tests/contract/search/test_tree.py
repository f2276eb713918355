"""The tree of a process: who is in it, what they were called, and who is missing and why."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, module, partial, process_id, store
from tests.support.forms import in_form
from tests.support.indexed import on_two_shards
from vedette.errors import NotFoundError
from vedette.model.event import ChildKind, Childproc
from vedette.model.scope import EVERYTHING, Scope
from vedette.search.processes.suppression import NOTHING_SUPPRESSED, Suppression
from vedette.search.tree.descendants import TreeRequest
from vedette.search.tree.tree import tree
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.partitions.lifecycle import mount, open_partition, unmount
from vedette.store.partitions.partition import partition_name
from vedette.web.processes.analysis.tree_json import tree_body
from vedette.web.processes.analysis.tree_token import cursor_of

P1, P2, P3, P4 = (process_id(number) for number in range(1, 5))
DEPTH = 8


def ask(
    engine: Engine,
    root: str = P1,
    *,
    depth: int = DEPTH,
    most: int = 1_000,
    scope: Scope = EVERYTHING,
    token: str = "",
    suppression: Suppression = NOTHING_SUPPRESSED,
) -> dict[str, Any]:
    after = cursor_of(token, root, depth) if token else None
    return tree_body(tree(engine, scope, root, TreeRequest(depth, most, after), suppression))


def ids(nodes: list[dict[str, Any]]) -> list[str]:
    return [node["id"] for node in nodes]


def named(body: dict[str, Any], process: str) -> dict[str, Any]:
    (node,) = [one for one in (*body["ancestors"], *body["nodes"]) if one["id"] == process]
    return dict(node)


def reported(
    parent: int, child: int, kind: int = 0, time_us: int = 50, **reported: Any
) -> Childproc:
    return Childproc(process_id(parent), time_us, 1, kind, process_id(child), **reported)


def family(engine: ClickHouseEngine) -> None:
    """1 begins 2 and 3, 2 begins 4."""
    store(
        engine,
        partial(1, start=10, path="/bin/1", process_name="1", cmdline="one"),
        partial(2, file("a"), start=30, parent_id=P1, parent_path="/bin/was", path="/bin/2"),
        partial(3, start=20, parent_id=P1, path="/bin/3"),
        partial(4, start=40, parent_id=P2, parent_path="/bin/2", parent_name="2", path="/bin/4"),
    )


def test_descendants_come_by_generation_and_start(contract_engine: ClickHouseEngine) -> None:
    family(contract_engine)
    body = ask(contract_engine)
    assert ids(body["nodes"]) == [P1, P3, P2, P4]
    assert [node["depth"] for node in body["nodes"]] == [0, 1, 1, 2]
    assert [node["parent_id"] for node in body["nodes"]] == ["", P1, P1, P2]
    assert (body["is_complete"], body["continue"]) == (True, None)
    counted = named(body, P2)["event_counts"]
    assert (counted["filemod"], counted["netconn"]) == (1, 0)
    assert [node["alerts"] for node in body["nodes"]] == [[]] * 4


def test_ancestors_come_upwards_as_their_children_knew_them(
    contract_engine: ClickHouseEngine,
) -> None:
    family(contract_engine)
    body = ask(contract_engine, P4)
    assert ids(body["ancestors"]) == [P2, P1]
    assert [node["depth"] for node in body["ancestors"]] == [-1, -2]
    assert named(body, P1)["label"] == {"path": "/bin/was", "process_name": "1", "cmdline": "one"}
    assert named(body, P1)["now"]["path"] == "/bin/1"
    assert named(body, P2)["label"]["path"] == "/bin/2"


def test_an_exec_does_not_rename_the_past(engine: ClickHouseEngine) -> None:
    family(engine)
    first = reported(1, 2, ChildKind.FORK, path="/bin/sh", command_line="sh -c later")
    again = reported(1, 2, ChildKind.EXEC, time_us=60, path="/bin/zzz", command_line="zzz")
    store(engine, partial(1, first, again), partial(2, path="/bin/zzz", cmdline="zzz"))
    body = ask(engine)
    node = named(body, P2)
    assert node["label"] == {"path": "/bin/sh", "process_name": "sh", "cmdline": "sh -c later"}
    assert (node["now"]["path"], node["relation"]) == ("/bin/zzz", "fork")
    assert named(ask(engine, P2), P2)["label"]["path"] == "/bin/sh"


def test_what_a_process_became_hangs_below_it(engine: ClickHouseEngine) -> None:
    """2 runs 3 in its place: their parent is the same, and 2 is asked for."""
    family(engine)
    store(engine, partial(2, reported(2, 3, ChildKind.EXEC, path="/bin/3")))
    body = ask(engine, P2)
    assert ids(body["nodes"]) == [P2, P4, P3]
    node = named(body, P3)
    assert (node["relation"], node["reported_by"], node["parent_id"]) == ("exec", P2, P2)


def test_nobody_is_met_twice_in_a_cycle(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, parent_id=P3), partial(2, parent_id=P1), partial(3, parent_id=P2))
    store(engine, partial(4, parent_id=P4))
    body = ask(engine)
    assert sorted([*ids(body["ancestors"]), *ids(body["nodes"])]) == [P1, P2, P3]
    assert ids(ask(engine, P4)["nodes"]) == [P4]


def test_depth_cuts_both_ways_and_says_where_more_is(engine: ClickHouseEngine) -> None:
    family(engine)
    body = ask(engine, depth=1)
    assert ids(body["nodes"]) == [P1, P3, P2]
    assert [node["has_more_children"] for node in body["nodes"]] == [False, False, True]
    assert ids(ask(engine, P4, depth=1)["ancestors"]) == [P2]
    alone = ask(engine, P2, depth=0)
    assert (ids(alone["nodes"]), alone["ancestors"]) == ([P2], [])


# --- who is missing ---------------------------------------------------------------------


def test_what_was_never_seen_is_shown_as_it_was_reported(engine: ClickHouseEngine) -> None:
    seven = reported(
        1,
        7,
        ChildKind.OTHER_EXEC,
        path="C:\\x\\seven.exe",
        command_line="seven -a",
        username="ann",
        pid=77,
        md5="ab" * 16,
    )
    store(engine, partial(1, seven, parent_id=process_id(9), parent_path="/sbin/9", last_update=1))
    body = ask(engine)
    child, parent = named(body, process_id(7)), named(body, process_id(9))
    assert (child["missing"], parent["missing"]) == ("never_seen", "never_seen")
    assert child["label"] == {
        "path": "C:\\x\\seven.exe",
        "process_name": "seven.exe",
        "cmdline": "seven -a",
    }
    assert (child["username"], child["process_pid"], child["segment_id"]) == ("ann", 77, None)
    assert (parent["label"]["path"], parent["depth"]) == ("/sbin/9", -1)


def test_a_suppressed_child_says_so(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, reported(1, 7, suppressed=1)))
    node = named(ask(engine), process_id(7))
    assert (node["missing"], node["is_suppressed"]) == ("suppressed", True)


def test_a_group_that_suppresses_shows_who_did_nothing(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, group="g"), partial(2, parent_id=P1, group="g"))
    loads = module("a.dll")
    loads.process_id = P3
    store(engine, partial(3, loads, parent_id=P1, group="g"))
    store(engine, partial(4, file("x"), parent_id=P1, group="g"))
    body = ask(engine, suppression=Suppression(frozenset({"g"})))
    quiet = {node["id"]: node["is_suppressed"] for node in body["nodes"]}
    assert quiet == {P1: True, P2: True, P3: True, P4: False}
    assert not any(node["is_suppressed"] for node in ask(engine)["nodes"])


@on_two_shards
def test_another_hosts_process_is_not_looked_at_without_permission(
    contract_engine: ClickHouseEngine,
) -> None:
    foreign = process_id(5, sensor_id=2)
    event = Childproc(P1, 50, 1, 0, foreign, "/bin/foreign")
    other = partial(5, sensor_id=2, path="/secret", last_update=60)
    store(contract_engine, partial(1, event), other)
    node = named(ask(contract_engine, scope=Scope(frozenset({1}))), foreign)
    assert (node["missing"], node["label"]["path"]) == ("not_permitted", "/bin/foreign")
    assert named(ask(contract_engine), foreign)["missing"] is None


def test_an_unmounted_partition_is_the_reason_while_it_may_hold_the_process(
    engine: ClickHouseEngine,
) -> None:
    old_us, new_us = HOUR_MS * 1_000, (HOUR_MS + 7 * 86_400_000) * 1_000
    open_partition(engine, HOUR_MS)
    store(engine, partial(2, parent_id=P1, start=old_us, path="/bin/2"))
    open_partition(engine, HOUR_MS + 86_400_000)
    later = HOUR_MS + 8 * 86_400_000
    events = reported(1, 2, time_us=old_us), reported(1, 3, time_us=new_us)
    store(engine, partial(1, *events, partition_ms=HOUR_MS + 86_400_000, window_ms=later))
    unmount(engine, partition_name(HOUR_MS))
    body = ask(engine)
    assert (named(body, P2)["missing"], named(body, P3)["missing"]) == (
        "partition_unmounted",
        "never_seen",
    )
    mount(engine, partition_name(HOUR_MS))
    assert named(ask(engine), P2)["missing"] is None


@on_two_shards
def test_a_process_of_nobody_is_not_found(contract_engine: ClickHouseEngine) -> None:
    family(contract_engine)
    for scope in (Scope(frozenset()), Scope(frozenset({2}))):
        with pytest.raises(NotFoundError):
            ask(contract_engine, scope=scope)


# --- going on ---------------------------------------------------------------------------


def pages(engine: Engine, most: int) -> Iterator[dict[str, Any]]:
    body = ask(engine, most=most)
    yield body
    while body["continue"]:
        body = ask(engine, most=most, token=body["continue"])
        yield body


def wild(engine: ClickHouseEngine, seed: int) -> None:
    """Forty processes, each with a parent before it; starts repeat, some are only reported."""
    draw = Random(seed)
    rows = []
    for number in range(2, 42):
        parent = draw.randrange(1, number)
        start = draw.randrange(100, 105)
        if draw.random() < 0.3:
            rows.append(partial(parent, reported(parent, number, time_us=start)))
        else:
            rows.append(partial(number, parent_id=process_id(parent), start=start))
    store(engine, partial(1, start=1), *rows)


@pytest.mark.parametrize("most", in_form([1, 7, 41], [1, 3, 7, 40, 41]))
def test_pages_together_are_the_whole_tree(engine: ClickHouseEngine, most: int) -> None:
    wild(engine, seed=most)
    whole = ask(engine, depth=DEPTH)
    gathered = list(pages(engine, most))
    assert [node for page in gathered for node in page["nodes"]] == whole["nodes"]
    assert len(whole["nodes"]) > 30
    assert all(len(page["nodes"]) <= most + 1 for page in gathered)
    assert [page["ancestors"] for page in gathered[1:]] == [[]] * (len(gathered) - 1)


def test_the_rest_of_a_tree_is_asked_for_with_the_scope_of_the_asker(
    engine: ClickHouseEngine,
) -> None:
    wild(engine, seed=1)
    token = ask(engine, most=5)["continue"]
    with pytest.raises(NotFoundError):
        ask(engine, most=5, token=token, scope=Scope(frozenset({2})))


def test_what_begins_between_two_pages_repeats_nobody(engine: ClickHouseEngine) -> None:
    family(engine)
    first = ask(engine, most=2)
    store(engine, partial(5, parent_id=P1, start=5, window_ms=NEXT_MS))
    rest = ask(engine, most=9, token=first["continue"])
    assert not set(ids(first["nodes"])) & set(ids(rest["nodes"]))


class Counting:
    """An engine that counts what it is asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def query(self, *arguments: Any, **named: Any) -> Any:
        self.asked += 1
        return self._engine.query(*arguments, **named)


def test_questions_grow_with_generations_and_not_with_nodes(engine: ClickHouseEngine) -> None:
    asked = []
    for children in (3, 300):
        rows = [partial(n, parent_id=P1, start=n) for n in range(2, 2 + children)]
        store(engine, partial(1, start=1), *rows)
        counting = Counting(engine)
        assert len(ask(counting)["nodes"]) == children + 1
        asked.append(counting.asked)
    assert asked[0] == asked[1] < 12


@pytest.mark.parametrize("most", in_form([1, 4, 1_000], [1, 2, 4, 9, 1_000]))
def test_a_tree_is_the_same_whether_its_nodes_are_asked_for_at_once_or_later(
    engine: ClickHouseEngine, most: int
) -> None:
    rows = [partial(n, parent_id=process_id(n // 3), start=n, path=f"/{n}") for n in range(2, 30)]
    store(engine, partial(1, start=1), *rows)
    reported = {node["id"]: node for node in ask(engine)["nodes"]}
    body, seen = ask(engine, most=most), []
    while body["continue"]:
        seen += body["nodes"]
        body = ask(engine, most=most, token=body["continue"])
    seen += body["nodes"]
    assert {node["id"]: node for node in seen} == reported
    assert all(node["missing"] is None for node in seen)


def test_a_generation_too_large_to_be_put_in_order_says_so(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    family(engine)
    monkeypatch.setattr("vedette.search.tree.descendants.TREE_GENERATION_MAX", 1)
    assert ask(engine)["is_complete"] is False
