"""Refusals on their way from a worker to the server, in pieces that are encoded one by one.

A message is decoded in one step, which holds the interpreter lock of the server. That of 200,000
refusals, the answer to a body of half a megabyte, held it for 30 to 150 ms, in which the event loop
did nothing.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from vedette.limits import REFUSALS_PIECE
from vedette.pipeline.submission import Receipt, Refusal

RefusalPiece = tuple[int, bytes]
"""The position of a receipt, and up to `REFUSALS_PIECE` of its refusals as MessagePack."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(list[Refusal])


def take_refusals(receipts: Iterable[Receipt]) -> list[RefusalPiece]:
    """The refusals of receipts, which have none afterwards."""
    pieces = []
    for number, receipt in enumerate(receipts):
        refusals, receipt.refusals = receipt.refusals, []
        for begin in range(0, len(refusals), REFUSALS_PIECE):
            piece = refusals[begin : begin + REFUSALS_PIECE]
            pieces.append((number, _ENCODER.encode(piece)))
    return pieces


def put_refusals(receipts: list[Receipt], pieces: Iterable[RefusalPiece]) -> None:
    """Undoes `take_refusals`."""
    for number, encoded in pieces:
        receipts[number].refusals += _DECODER.decode(encoded)
