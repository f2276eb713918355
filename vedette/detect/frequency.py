"""How often anchors hold, measured on a sample of events: what anchors are chosen by."""

from collections.abc import Iterable

from vedette.detect.anchors import Anchor, all_anchors
from vedette.detect.nodes import Text
from vedette.detect.prefilter import FieldIndex, ValueCaches
from vedette.detect.rule import Rule
from vedette.detect.views.event import Event


class FrequencySample:
    """Counts, for every anchor of some rules, the events of a sample that pass it."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._anchors: list[Anchor] = sorted(
            {anchor for rule in rules for anchor in all_anchors(rule.condition)},
            key=lambda anchor: (anchor[0], anchor[1].where, anchor[1].value),
        )
        by_field: dict[str, dict[Text, list[int]]] = {}
        for number, (field, test) in enumerate(self._anchors):
            by_field.setdefault(field, {})[test] = [number]
        caches = ValueCaches()
        self._fields = {field: FieldIndex(tests, caches) for field, tests in by_field.items()}
        self._counts = [0] * len(self._anchors)
        self.events = 0

    def add(self, event: Event) -> None:
        """Counts one event."""
        self.events += 1
        passed: set[int] = set()
        for field, index in self._fields.items():
            fields = (field,) if field else tuple(event.data)
            for name in fields:
                passed.update(index.find(event.value(name)))
        for number in passed:
            self._counts[number] += 1

    def shares(self) -> dict[Anchor, float]:
        """The share of events that pass, of every anchor; {} before any event was counted."""
        if not self.events:
            return {}
        return {
            anchor: count / self.events
            for anchor, count in zip(self._anchors, self._counts, strict=True)
        }
