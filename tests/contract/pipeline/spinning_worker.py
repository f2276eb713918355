"""The worker program with a decoder that never returns from a text with SPIN or HANG in it: it
computes for ever, or waits for ever."""

import time
from itertools import repeat

from vedette.bootstrap.ingest_workers import main
from vedette.ingest.decode import decode
from vedette.ingest.record import Record

SPIN = b"never-ending"
HANG = b"never-answered"


def spin_or_decode(raw: bytes, host: str) -> list[Record]:
    for _ in repeat(None):
        if SPIN not in raw:
            break
    while HANG in raw:
        time.sleep(1)
    return decode(raw, host)


if __name__ == "__main__":
    main(spin_or_decode)
