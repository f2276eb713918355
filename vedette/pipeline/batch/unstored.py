"""Numbers of records that arrived but are not stored: without them, records that `keep` and filters
leave out would look like loss (`search/completeness`)."""

from typing import Final

from vedette.model.event import Kept
from vedette.pipeline.batch.decoded_batch import DecodedBatch, Result
from vedette.pipeline.receipt_outcomes import FILTERED, NOT_KEPT, RECORD, REJECTED

Unstored = dict[tuple[int, str], list[int]]
"""Maps (sensor id, outcome) to record keys."""

_NAMES: Final = {NOT_KEPT: "not_kept", FILTERED: "filtered", REJECTED: "rejected"}


def note_unstored(unstored: Unstored, batch: DecodedBatch, outcomes: list[int]) -> None:
    """Adds the unstored records of one submission."""
    for key, host, outcome, result in zip(
        batch.keys, batch.hosts, outcomes, batch.results, strict=True
    ):
        name = _NAMES.get(outcome)
        if name is None and outcome == RECORD and not _makes_row(result):
            # Only its binary is stored, and that row does not name the record.
            name = "not_kept"
        if name is not None and key:
            unstored.setdefault((host.sensor.id, name), []).append(key)


def _makes_row(result: Result) -> bool:
    return isinstance(result, list) and any(type(one) is Kept for one in result)
