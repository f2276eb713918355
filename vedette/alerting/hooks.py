"""What happens with detections besides alerts: hooks that `bootstrap` assembles.

A hook runs in the same transaction of the state database as the caller's watermark: what it writes
there is there exactly when the detection counts as done. It must not wait for anything else.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from vedette.model.findings.alert import AlertRow
from vedette.model.findings.detection import Detection, Source
from vedette.state.db.database import Transaction


@dataclass(frozen=True, slots=True)
class WrittenDetection:
    """A detection that was neither suppressed nor of an ignored report."""

    detection: Detection
    """With the count of all detections of the batch that have its id."""
    alert: AlertRow
    """The alert as written, with what is known of host and process. Where `has_alert` is False, as
    it would have been."""
    has_alert: bool
    """Whether the alert is stored: the alert action of its source is on."""
    is_new: bool
    """False where an earlier batch has made the alert. After a crash it is True again for what the
    interrupted batch had made, so that a message is sent at least once; always True without an
    alert."""


DetectionHook = Callable[[Transaction, Sequence[WrittenDetection]], None]
"""Messages to the outbox, automatic responses. Called with all of a batch, which may be empty."""

AlertingSources = Callable[[Transaction, Collection[Source]], Collection[Source]]
"""Which of some sources make alerts: their alert action is on."""


def every_source(_: Transaction, sources: Collection[Source]) -> Collection[Source]:
    """Alerts for all of them."""
    return sources
