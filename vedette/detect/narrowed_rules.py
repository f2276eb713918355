"""Prepares rules for evaluation: applies rule filters, and adds the fields that correlations
need."""

from collections.abc import Iterable, Sequence

from vedette.detect.correlation import Correlation
from vedette.detect.judged_rule import JudgedRule, judged_rule
from vedette.detect.nodes import And, Node
from vedette.detect.rule import Rule
from vedette.detect.rule_filter import RuleFilter


def narrowed_rules(
    rules: Iterable[Rule],
    filters: Sequence[RuleFilter] = (),
    correlations: Sequence[Correlation] = (),
) -> list[JudgedRule]:
    """Returns the evaluation form of each rule."""
    return [
        judged_rule(rule, _narrowed(rule, filters), _grouping_fields(rule, correlations))
        for rule in rules
    ]


def _narrowed(rule: Rule, filters: Sequence[RuleFilter]) -> Node:
    conditions = [one.condition for one in filters if one.narrows(rule)]
    return And((rule.condition, *conditions)) if conditions else rule.condition


def _grouping_fields(rule: Rule, correlations: Sequence[Correlation]) -> tuple[str, ...] | None:
    """Returns the fields that correlations need of the rule's hits; None if no correlation uses the
    rule."""
    about = [one for one in correlations if one.concerns(rule.id, rule.name)]
    if not about:
        return None
    return tuple(sorted({field for one in about for field in one.asked_of(rule.id, rule.name)}))
