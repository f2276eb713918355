"""Which slots of hosts a server should take or give up: each of n servers has the same number, or
one more; slots that are held belong to nobody. Without I/O."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vedette.state.servers.slots import Slot


@dataclass(frozen=True, slots=True)
class Change:
    """How many free slots to claim, and which of its own to release."""

    claim: int
    release: tuple[int, ...]


def change_for(own_id: str, servers: Collection[str], slots: Sequence[Slot]) -> Change:
    """What a server should do next. `servers` are all that run, this one among them."""
    order = sorted(servers)
    share, more = divmod(len(slots), len(order))
    target = share + (order.index(own_id) < more)
    held = tuple(one.slot for one in slots if one.server_id == own_id and one.held)
    if held:
        return Change(0, held)
    own = [one.slot for one in slots if one.server_id == own_id]
    free = sum(not one.server_id and not one.held for one in slots)
    if len(own) > target:
        # Spread out: sensors are numbered one after the other, and slots follow their numbers.
        kept = {number * len(own) // target for number in range(target)}
        return Change(0, tuple(one for number, one in enumerate(own) if number not in kept))
    return Change(min(target - len(own), free), ())
