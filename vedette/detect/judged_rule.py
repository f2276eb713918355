"""Rules as they travel to the processes that judge events: only what judging needs."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from vedette.detect.nodes import Node, fields_of
from vedette.detect.rule import Rule
from vedette.detect.rule_codec import decoded_condition, encoded_condition


class JudgedRule(Struct, frozen=True):
    """A rule without its texts."""

    id: str
    sources: tuple[str, ...]
    condition: list[Any]
    """Of `rule_codec`."""
    grouping_fields: tuple[str, ...] | None = None
    """Where correlations are about the rule: the fields whose values they ask of its hits, each of
    which is then kept by itself. None where its hits on one process are collapsed."""

    def rule(self) -> Rule:
        """The rule to judge by."""
        condition = decoded_condition(self.condition)
        fields = fields_of(condition).union(self.grouping_fields or ())
        return Rule(self.id, self.id, "medium", self.sources, condition, fields=fields)


def judged_rule(
    rule: Rule, condition: Node, grouping_fields: tuple[str, ...] | None = None
) -> JudgedRule:
    """What judging needs of a rule; `condition` is its own, or a narrower one."""
    return JudgedRule(rule.id, rule.sources, encoded_condition(condition), grouping_fields)


def encoded_rules(rules: Iterable[JudgedRule]) -> bytes:
    return msgspec.msgpack.encode(list(rules))


def decoded_rules(data: bytes) -> list[JudgedRule]:
    """Raises msgspec.DecodeError."""
    return msgspec.msgpack.decode(data, type=list[JudgedRule])
