"""A search is run by its plan, and by the plan's fallback above the bound on rows."""

import pytest

from tests.contract.store.rows import HOUR_MS, file, partial, store
from vedette.model.scope import EVERYTHING
from vedette.query import Condition, check, compile_segments, parse
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.partitions.lifecycle import open_partition
from vedette.store.plan.plan import (
    COUNT,
    FewSegments,
    NoMatch,
    Plan,
    Want,
    describe,
)
from vedette.store.plan.run import run_plan
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.segment_search import NEWEST_FIRST, search_segments

PAGE = Want(NEWEST_FIRST, 10)


def compiled(engine: ClickHouseEngine, text: str) -> Condition:
    return compile_segments(check(parse(text), now_us=0), indexes=suffix_indexes(engine))


def run(engine: ClickHouseEngine, text: str, want: Want) -> tuple[int, list[tuple[Plan, int]]]:
    """The total, and each plan that was run with its bound on rows."""
    ran: list[tuple[Plan, int]] = []

    def total(plan: Plan, reach: Reach) -> int:
        ran.append((plan, reach.rows_max))
        if plan.access.condition is None:
            return 0
        return search_segments(
            engine,
            plan.access.condition,
            EVERYTHING,
            want.order,
            rows=want.rows,
            reach=reach,
            ranking=plan.ranking,
        ).total

    where = compiled(engine, text)
    return run_plan(engine, where, EVERYTHING, want, EVERYWHERE, total), ran


def fill(engine: ClickHouseEngine) -> None:
    open_partition(engine, HOUR_MS)
    for _ in range(2):
        store(engine, *(partial(number, file(r"C:\Temp\a.txt")) for number in range(20)))


def test_few_rows_are_found_by_the_first_plan(engine: ClickHouseEngine) -> None:
    fill(engine)
    total, ran = run(engine, "filemod:a.txt", PAGE)
    ((plan, rows_max),) = ran
    assert (total, type(plan.access), plan.fallback) == (20, FewSegments, "scan")
    assert rows_max == plan.rows_max > 0
    assert describe(plan)["fallback"] == "scan"


def test_above_the_bound_the_fallback_answers_the_same_unbounded(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine)
    monkeypatch.setattr("vedette.limits.FEW_ROWS_MAX", 5)
    total, ran = run(engine, "filemod:a.txt", PAGE)
    (first, bound), (second, unbound) = ran
    assert (total, bound, unbound) == (20, 5, 0)
    assert isinstance(first.access, FewSegments)
    assert not isinstance(second.access, FewSegments | NoMatch)
    assert second.fallback is None
    assert "fallback" not in describe(second)


@pytest.mark.parametrize(
    "want",
    [COUNT, Want(NEWEST_FIRST, 10, has_facets=True), Want(NEWEST_FIRST, 10, is_grouped=True)],
)
def test_counts_facets_and_groups_have_no_bound_and_need_no_fallback(
    engine: ClickHouseEngine, want: Want
) -> None:
    fill(engine)
    total, ran = run(engine, "filemod:a.txt", want)
    ((plan, rows_max),) = ran
    assert (total, plan.fallback, plan.rows_max, rows_max) == (20, None, 0, 0)
    assert not isinstance(plan.access, FewSegments)
