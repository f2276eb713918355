"""Measures the frequency of anchors on a sample of events, to choose the anchors of rules."""

from collections.abc import Iterable, Mapping
from typing import Final

from vedette.detect.anchors import Anchor, all_anchors
from vedette.detect.nodes import Text
from vedette.detect.prefilter import FieldIndex, ValueCaches
from vedette.detect.rule import Rule
from vedette.detect.views.answered import ANSWERED
from vedette.detect.views.event import Event
from vedette.limits import Limit

ANCHORS_KNOWN_MAX: Limit[int] = 200_000
"""Maximum anchors whose frequency a worker stores across changes of the rules. All public rules
together have some 40,000."""


NOTHING_KNOWN: Final[Mapping[Anchor, float]] = {}


class FrequencySample:
    """Counts the events of a sample that pass each anchor of some rules, except anchors in
    `known`."""

    def __init__(
        self, rules: Iterable[Rule], known: Mapping[Anchor, float] = NOTHING_KNOWN
    ) -> None:
        self._known = known
        self._anchors: list[Anchor] = sorted(
            {anchor for rule in rules for anchor in all_anchors(rule.condition)} - known.keys(),
            key=lambda anchor: (anchor[0], anchor[1].where, anchor[1].value),
        )
        by_field: dict[str, dict[Text, list[int]]] = {}
        for number, (field, test) in enumerate(self._anchors):
            by_field.setdefault(field, {})[test] = [number]
        caches = ValueCaches()
        self._fields = {field: FieldIndex(tests, caches) for field, tests in by_field.items()}
        self._anywhere = self._fields.pop("", None)
        self._answered = [field for field in self._fields if field in ANSWERED]
        self._counts = [0] * len(self._anchors)
        self.events = 0

    @property
    def is_needed(self) -> bool:
        """Whether there are anchors to measure."""
        return bool(self._anchors)

    def add(self, event: Event) -> None:
        """Counts an event, and each anchor that it passes."""
        self.events += 1
        passed: set[int] = set()
        for field in event.data:
            index = self._fields.get(field)
            if index is not None:
                passed.update(index.find(event.value(field)))
            if self._anywhere is not None:
                passed.update(self._anywhere.find(event.value(field)))
        if event.is_answered:
            for field in self._answered:
                if event.data.get(field) is None:
                    passed.update(self._fields[field].find(event.value(field)))
        for number in passed:
            self._counts[number] += 1

    def shares(self) -> dict[Anchor, float]:
        """Returns the share of events that pass each anchor, including known anchors. Before the
        first event it returns only known anchors."""
        if not self.events:
            return dict(self._known)
        room = ANCHORS_KNOWN_MAX - len(self._anchors)
        found = dict(self._known) if len(self._known) <= room else {}
        for anchor, count in zip(self._anchors, self._counts, strict=True):
            found[anchor] = count / self.events
        return found
