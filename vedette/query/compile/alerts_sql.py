"""Compiles a typed tree to a condition on the newest versions of alerts.

Tests of columns that are equal in all versions of an alert are applied before versions are merged
(`Condition.before`), so that only the remaining rows are merged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from vedette.model.findings.alert import ALERT_CHANGING
from vedette.query.compile.binder import Binder
from vedette.query.compile.condition import Condition
from vedette.query.compile.document import ALERT
from vedette.query.compile.segments_sql import SegmentCompiler
from vedette.query.nodes import And, Everything, Not, Or, all_of
from vedette.query.typed import Checked, Match, TextTest, source_of

_SHARED: Final = frozenset({"title", "hostname"})
"""Columns whose text repeats in many alerts: texts of rules, and hosts."""


def compile_alerts(tree: Checked, *, prefix: str = "q") -> Condition:
    """Returns the condition for alerts that match. Run it with `SETTINGS`, within a scope."""
    compiler = SegmentCompiler(ALERT, Binder(prefix))
    parts = _conjuncts(tree)
    lasting = [part for part in parts if not _changes(part)]
    changing = [part for part in parts if _changes(part)]
    before = compiler.node(all_of(lasting)) if lasting else ""
    return Condition(
        f"({compiler.node(all_of(changing))})" if changing else "1",
        compiler.bind.params,
        before="" if before == "1" else before,
    )


def shared_tests(tree: Checked) -> list[tuple[str, Match]]:
    """Returns the conjuncts that test a single column of `_SHARED`, each with that column."""
    return [
        (column, part)
        for part in _conjuncts(tree)
        if isinstance(part, Match) and (column := _shared_column(part))
    ]


def with_values(tree: Checked, values: Mapping[Match, Sequence[str]]) -> Checked:
    """Returns the tree with each of these conjuncts replaced by tests for the column values that
    satisfy it."""
    return all_of(
        replace(part, tests=tuple(_equals(part, one) for one in values[part]))
        if isinstance(part, Match) and part in values
        else part
        for part in _conjuncts(tree)
    )


def _conjuncts(tree: Checked) -> Sequence[Checked]:
    return tree.children if isinstance(tree, And) else (tree,)


def _shared_column(match: Match) -> str:
    """Returns the column if the leaf tests only one column and it is in `_SHARED`; else ""."""
    sources = {source_of(test) for test in match.tests}
    return sources.pop() if len(sources) == 1 and sources <= _SHARED else ""


def _equals(match: Match, value: str) -> TextTest:
    return TextTest(_shared_column(match), "exact", "equals", value)


def all_conditions(parts: Sequence[Condition]) -> Condition:
    """Returns the AND of conditions on alerts. Their parameter names must differ."""
    params = {name: value for part in parts for name, value in part.params.items()}
    before = " AND ".join(f"({part.before})" for part in parts if part.before)
    return Condition(" AND ".join(f"({part.sql})" for part in parts), params, before=before)


def _changes(node: Checked) -> bool:
    """Whether the tested columns may differ between versions of an alert."""
    match node:
        case Everything():
            return False
        case Match(tests):
            return not ALERT_CHANGING.isdisjoint(map(source_of, tests))
        case Not(child):
            return _changes(child)
        case And(children) | Or(children):
            return any(map(_changes, children))
