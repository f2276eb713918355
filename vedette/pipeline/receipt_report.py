"""What the write path says of a submission to whoever sent it, over HTTP or not."""

from collections import Counter
from typing import Any

from vedette import limits
from vedette.pipeline.submission import Outcome, Receipt


def report(receipt: Receipt) -> dict[str, Any]:
    """Counts by outcome, errors by position, and a tally by channel and event id."""
    counts = Counter(receipt.outcomes)
    listed = receipt.refusals[: limits.INGEST_ERRORS_MAX]
    return {
        "read": len(receipt.outcomes),
        "stored": counts[Outcome.EVENTS],
        "records": counts[Outcome.RECORD],
        "duplicate": counts[Outcome.DUPLICATE],
        "not_kept": counts[Outcome.NOT_KEPT],
        "filtered": counts[Outcome.FILTERED],
        "rejected": counts[Outcome.REJECTED],
        "errors": [
            {"position": one.position, "reason": one.reason, "message": one.message}
            for one in listed
        ],
        "errors_left_out": len(receipt.refusals) - len(listed),
        "tally": [
            [channel, event_id, Outcome(outcome).name.lower(), count]
            for (channel, event_id, outcome), count in sorted(receipt.tally.items())
        ],
    }
