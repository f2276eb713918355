"""Keys of records without a number, where several servers share the records of a request.

Such a record is identified with its whole request (`batch/deduplicate.py`). In a cluster, each
server receives the records of its own hosts, and the division may differ when the request is sent
again. So the texts are divided by a property that never changes: a part is the texts that name the
same host at first sight. All texts of a part go to a server together, which stores its records of
one slot in one commit. Hence (request, part, slot) is stored as a whole or not at all, and is the
identity for deduplication.
"""

from collections.abc import Sequence
from typing import Final

import xxhash

_STORED_MASK: Final = (1 << 63) - 1
_SEED: Final = 0x5EED
_ODD: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1


def parts_of(likely_hosts: Sequence[bytes]) -> list[int]:
    """Returns, for each text, its part (63 bits), computed from the host that it names."""
    found = {
        name: xxhash.xxh3_64_intdigest(name, seed=_SEED) & _STORED_MASK
        for name in set(likely_hosts)
    }
    return list(map(found.__getitem__, likely_hosts))


def key_of_part(request_key: int, part: int) -> int:
    """Returns the 63-bit key of a part of a request, which stored rows contain."""
    return request_key ^ part


def key_in_slot(stored_key: int, slot: int) -> int:
    """Returns the key of the records of one slot in a part, which one commit stores; used in memory
    only."""
    return stored_key ^ ((slot + 1) * _ODD & _MASK)
