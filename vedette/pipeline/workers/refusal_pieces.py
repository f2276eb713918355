"""Splits refusals that a worker sends to the server into pieces that are encoded one by one.

A message is decoded in one step, which holds the interpreter lock of the server. Decoding 200,000
refusals, the answer to a body of half a megabyte, held it for 30 to 150 ms and blocked the event
loop.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from vedette.limits import Limit
from vedette.pipeline.submission import Receipt, Refusal

REFUSALS_PIECE: Limit[int] = 1_000
"""Refused records that the server decodes in one step: more block the event loop on the interpreter
lock, for a millisecond per 3,000 records."""


RefusalPiece = tuple[int, bytes]
"""The index of a receipt, and up to `REFUSALS_PIECE` of its refusals as MessagePack."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(list[Refusal])


def take_refusals(receipts: Iterable[Receipt]) -> list[RefusalPiece]:
    """Removes the refusals from receipts and returns them in pieces."""
    pieces = []
    for number, receipt in enumerate(receipts):
        refusals, receipt.refusals = receipt.refusals, []
        for begin in range(0, len(refusals), REFUSALS_PIECE):
            piece = refusals[begin : begin + REFUSALS_PIECE]
            pieces.append((number, _ENCODER.encode(piece)))
    return pieces


def put_refusals(receipts: list[Receipt], pieces: Iterable[RefusalPiece]) -> None:
    """Puts the refusals of `take_refusals` back into the receipts."""
    for number, encoded in pieces:
        receipts[number].refusals += _DECODER.decode(encoded)
