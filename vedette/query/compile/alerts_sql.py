"""Compile a typed tree to a condition on alerts, which are tested in their newest versions.

What tests only columns that all versions of an alert share is tested before versions are merged
(`Condition.before`): then only what it leaves has to be merged.
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
"""Columns that many alerts have the same texts in: those of rules, and of hosts."""


def compile_alerts(tree: Checked, *, prefix: str = "q") -> Condition:
    """The condition that an alert matches. Run it with `SETTINGS`, within a scope."""
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
    """The conjuncts that test nothing but one of the columns `_SHARED`, with that column."""
    return [
        (column, part)
        for part in _conjuncts(tree)
        if isinstance(part, Match) and (column := _shared_column(part))
    ]


def with_values(tree: Checked, values: Mapping[Match, Sequence[str]]) -> Checked:
    """The tree with such conjuncts replaced by the values for which they are true."""
    return all_of(
        replace(part, tests=tuple(_equals(part, one) for one in values[part]))
        if isinstance(part, Match) and part in values
        else part
        for part in _conjuncts(tree)
    )


def _conjuncts(tree: Checked) -> Sequence[Checked]:
    return tree.children if isinstance(tree, And) else (tree,)


def _shared_column(match: Match) -> str:
    """The only column that it tests, if it is one of those; else ""."""
    sources = {source_of(test) for test in match.tests}
    return sources.pop() if len(sources) == 1 and sources <= _SHARED else ""


def _equals(match: Match, value: str) -> TextTest:
    return TextTest(_shared_column(match), "exact", "equals", value)


def all_conditions(parts: Sequence[Condition]) -> Condition:
    """Alerts that meet all of some conditions, whose parameters have different names."""
    params = {name: value for part in parts for name, value in part.params.items()}
    before = " AND ".join(f"({part.before})" for part in parts if part.before)
    return Condition(" AND ".join(f"({part.sql})" for part in parts), params, before=before)


def _changes(node: Checked) -> bool:
    """Whether versions of one alert may differ in what the node tests."""
    match node:
        case Everything():
            return False
        case Match(tests):
            return not ALERT_CHANGING.isdisjoint(map(source_of, tests))
        case Not(child):
            return _changes(child)
        case And(children) | Or(children):
            return any(map(_changes, children))
