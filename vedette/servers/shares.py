"""Decides which slots of hosts a server should take or release: each of n servers has the same
number, or one more; locked slots belong to no server. Without I/O."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vedette.state.servers.slots import Slot


@dataclass(frozen=True, slots=True)
class Change:
    """Number of free slots to claim, and own slots to release."""

    claim: int
    release: tuple[int, ...]


def change_for(own_id: str, servers: Collection[str], slots: Sequence[Slot]) -> Change:
    """Returns the next step of a server. `servers` are all running servers, including this one."""
    order = sorted(servers)
    share, more = divmod(len(slots), len(order))
    target = share + (order.index(own_id) < more)
    held = tuple(one.slot for one in slots if one.server_id == own_id and one.held)
    if held:
        return Change(0, held)
    own = [one.slot for one in slots if one.server_id == own_id]
    free = sum(not one.server_id and not one.held for one in slots)
    if len(own) > target:
        # Spread out: sensors are numbered consecutively, and slots follow their numbers.
        kept = {number * len(own) // target for number in range(target)}
        return Change(0, tuple(one for number, one in enumerate(own) if number not in kept))
    return Change(min(target - len(own), free), ())
