"""Refusals travel from workers in pieces that are quick to decode."""

import msgspec
import pytest

from vedette.pipeline.submission import Receipt, Refusal
from vedette.pipeline.workers.refusal_pieces import REFUSALS_PIECE, put_refusals, take_refusals


def receipt(refused: int) -> Receipt:
    refusals = [Refusal(position, "unknown", f"number {position}") for position in range(refused)]
    return Receipt(bytearray(refused), refusals)


@pytest.mark.parametrize(
    "refused", [(), (0,), (1, 0, 3), (REFUSALS_PIECE,), (0, REFUSALS_PIECE + 1, 2)]
)
def test_refusals_are_what_they_were(refused: tuple[int, ...]) -> None:
    receipts = [receipt(count) for count in refused]
    pieces = take_refusals(receipts)
    assert not any(one.refusals for one in receipts)
    put_refusals(receipts, pieces)
    assert receipts == [receipt(count) for count in refused]


def test_no_piece_has_more_than_is_decoded_at_once() -> None:
    pieces = take_refusals([receipt(2 * REFUSALS_PIECE + 1), receipt(1)])
    counts = [(number, len(msgspec.msgpack.decode(encoded))) for number, encoded in pieces]
    assert counts == [(0, REFUSALS_PIECE), (0, REFUSALS_PIECE), (0, 1), (1, 1)]
