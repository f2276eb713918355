"""Interface of hooks, which process detections besides alerts; `bootstrap` assembles them.

A hook runs in the transaction that saves the caller's watermark, so its writes take effect exactly
when the detection counts as processed. It must not wait for anything else.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from vedette.model.findings.alert import AlertRow
from vedette.model.findings.detection import Detection, Source
from vedette.state.db.database import Transaction


@dataclass(frozen=True, slots=True)
class WrittenDetection:
    """A detection that neither a suppression nor an ignored report excludes."""

    detection: Detection
    """The first detection with this id; its count covers all detections of the batch with the
    id."""
    alert: AlertRow
    """The alert as written, with facts about host and process. If `has_alert` is False, as it would
    have been."""
    has_alert: bool
    """True if the alert is stored, because the alert action of its source is enabled."""
    is_new: bool
    """False if an earlier batch created the alert. After a crash, True again for alerts of the
    interrupted batch, so that messages are sent at least once. Always True without an alert."""


DetectionHook = Callable[[Transaction, Sequence[WrittenDetection]], None]
"""A hook: queues messages, records automatic responses. Called with all detections of a batch,
possibly none."""

AlertingSources = Callable[[Transaction, Collection[Source]], Collection[Source]]
"""Returns those of the sources whose alert action is enabled."""


def every_source(_: Transaction, sources: Collection[Source]) -> Collection[Source]:
    """Enables alerts for all sources."""
    return sources
