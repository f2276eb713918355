"""Receipts as JSON, for the response to a request and for the summary of an import."""

from collections import Counter
from typing import Any

from vedette import limits
from vedette.pipeline.submission import Outcome, Receipt


def report(receipt: Receipt) -> dict[str, Any]:
    """Returns counts by outcome, rejected records by position, and a tally by channel and event
    id."""
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
        "conflicts": receipt.conflicts,
        **({"hosts": _hosts(receipt)} if receipt.hosts else {}),
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


def _hosts(receipt: Receipt) -> list[list[Any]]:
    """Returns (host, records, earliest and latest time of its events in epoch us), by name."""
    return [[name, *counts] for name, counts in sorted(receipt.hosts.items())]
