"""Serialized rules for the worker processes that evaluate events. Contain only what evaluation
needs."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from vedette.detect.nodes import Node, fields_of
from vedette.detect.rule import Level, Rule
from vedette.detect.rule_codec import decoded_condition, encoded_condition


class JudgedRule(Struct, frozen=True):
    """A rule without the texts that only its alerts show."""

    id: str
    sources: tuple[str, ...]
    condition: list[Any]
    """Condition encoded by `rule_codec`."""
    grouping_fields: tuple[str, ...] | None = None
    """If correlations use the rule: the fields whose values they need. Each hit is then stored
    individually. None if no correlation uses the rule, so that its hits on a process are
    collapsed."""
    title: str = ""
    level: Level = "medium"

    def rule(self) -> Rule:
        """Returns the rule for evaluation."""
        condition = decoded_condition(self.condition)
        fields = fields_of(condition).union(self.grouping_fields or ())
        title = self.title or self.id
        return Rule(self.id, title, self.level, self.sources, condition, fields=fields)


def judged_rule(
    rule: Rule, condition: Node, grouping_fields: tuple[str, ...] | None = None
) -> JudgedRule:
    """Returns the evaluation form of a rule. `condition` is the rule's own condition or a narrower
    one."""
    return JudgedRule(
        rule.id,
        rule.sources,
        encoded_condition(condition),
        grouping_fields,
        rule.title,
        rule.level,
    )


def encoded_rules(rules: Iterable[JudgedRule]) -> bytes:
    return msgspec.msgpack.encode(list(rules))


def decoded_rules(data: bytes) -> list[JudgedRule]:
    """Raises msgspec.DecodeError for invalid data."""
    return msgspec.msgpack.decode(data, type=list[JudgedRule])
