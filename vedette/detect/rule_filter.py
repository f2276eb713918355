"""Rule filters: narrow rules without changing them, for instance to exclude the administrators of a
site. Each rule that a filter names, and that has its log source, becomes `rule and filter`."""

from dataclasses import dataclass

from vedette.detect.nodes import Node
from vedette.detect.rule import Rule


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """A rule filter. `rules` are ids and names of rules; () for all rules of the log source."""

    id: str
    title: str
    rules: tuple[str, ...]
    sources: tuple[str, ...]
    condition: Node

    def narrows(self, rule: Rule) -> bool:
        """Whether the filter applies to a rule."""
        if self.rules and not {rule.id, rule.name}.intersection(self.rules):
            return False
        return all(
            source in self.sources or f"{source.partition('/')[0]}//" in self.sources
            for source in rule.sources
        )
