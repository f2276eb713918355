"""Numbers of records that arrived and make no row: without them, what `keep` and filters leave out
would look like loss (`search/completeness`)."""

from typing import Final

from vedette.model.event import Kept
from vedette.pipeline.batch.decoded_batch import DecodedBatch, Result
from vedette.pipeline.receipt_outcomes import FILTERED, NOT_KEPT, RECORD, REJECTED

Unstored = dict[tuple[int, str], list[int]]
"""Record keys by sensor id and outcome."""

_NAMES: Final = {NOT_KEPT: "not_kept", FILTERED: "filtered", REJECTED: "rejected"}


def note_unstored(unstored: Unstored, batch: DecodedBatch, outcomes: list[int]) -> None:
    """Adds those of one submission."""
    for key, host, outcome, result in zip(
        batch.keys, batch.hosts, outcomes, batch.results, strict=True
    ):
        name = _NAMES.get(outcome)
        if name is None and outcome == RECORD and not _makes_row(result):
            # Only what it says of a binary is stored, which does not name the record.
            name = "not_kept"
        if name is not None and key:
            unstored.setdefault((host.sensor.id, name), []).append(key)


def _makes_row(result: Result) -> bool:
    return isinstance(result, list) and any(type(one) is Kept for one in result)
