"""The worker program with a decoder that never returns from a text with SPIN in it."""

from itertools import repeat

from vedette.bootstrap.ingest_workers import main
from vedette.ingest.decode import decode
from vedette.ingest.record import Record

SPIN = b"never-ending"


def spin_or_decode(raw: bytes, host: str) -> list[Record]:
    for _ in repeat(None):
        if SPIN not in raw:
            break
    return decode(raw, host)


if __name__ == "__main__":
    main(spin_or_decode)
