"""What identifies records without a number, where several servers share the records of a request.

Such a record is recognised with its whole request (`batch/deduplicate.py`). In a cluster the
records of a request go to the servers that have their hosts, and which those are may be another
when the request is sent again. So its texts are divided by what never changes: a part is the texts
that name the same host at first sight. All texts of a part go to a server together, which stores
its records of one slot in one commit. Hence (request, part, slot) is stored as a whole or not at
all, and that is what is recognised.
"""

from collections.abc import Sequence
from typing import Final

import xxhash

_STORED_MASK: Final = (1 << 63) - 1
_SEED: Final = 0x5EED
_ODD: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1


def parts_of(likely_hosts: Sequence[bytes]) -> list[int]:
    """For each text the part that it belongs to, 63 bits, from the host that it names."""
    found = {
        name: xxhash.xxh3_64_intdigest(name, seed=_SEED) & _STORED_MASK
        for name in set(likely_hosts)
    }
    return list(map(found.__getitem__, likely_hosts))


def key_of_part(request_key: int, part: int) -> int:
    """63-bit key of a part of a request: what stored rows name."""
    return request_key ^ part


def key_in_slot(stored_key: int, slot: int) -> int:
    """Key of what one commit stores of a part, the records of one slot: known in memory only."""
    return stored_key ^ ((slot + 1) * _ODD & _MASK)
