"""Runs a search by its plan, or by the plan's fallback if the plan reads too many rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.engine.errors import ManyRowsError
from vedette.store.plan.choose import choose_fallback, choose_plan
from vedette.store.plan.plan import Plan, Want
from vedette.store.plan.search_bounds import Reach

Answer = TypeVar("Answer")


def run_plan(
    engine: Engine,
    where: Condition,
    scope: Scope,
    want: Want,
    reach: Reach,
    run: Callable[[Plan, Reach], Answer],
) -> Answer:
    """Returns the result of `run` with the plan of a search. A plan with a fallback is bounded by
    `Plan.rows_max`; above it the fallback is chosen and run, unbounded.

    Raises UnavailableError (`deadline`).
    """
    plan = choose_plan(engine, where, scope, want, reach)
    if plan.fallback is None:
        return run(plan, reach)
    try:
        return run(plan, replace(reach, rows_max=plan.rows_max))
    except ManyRowsError:
        plan = choose_fallback(engine, where, scope, want, plan.fallback, reach)
    return run(plan, reach)
