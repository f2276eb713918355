"""Orders programs that a group sees for the first time and nobody signed, where the group's rule
says so (`binary_orders` "unsigned").

A background job looks at what was first reported in the last minutes, and remembers nothing: what
is ordered or stored already is not ordered again, and what a server received is dated by its own
clock, so that rounds that fall out lose nothing.
"""

from typing import Final

from vedette.errors import ConflictError
from vedette.limits import (
    BINARY_ORDER_HOURS,
    BINARY_RULE_LOOKBACK_US,
    BINARY_RULE_ORDERS_MAX,
    BINARY_RULE_SIGHTS_MAX,
)
from vedette.model.group import ORDERS_UNSIGNED
from vedette.model.scope import Scope
from vedette.respond.binary_requests import orders_of
from vedette.state.db.database import Database
from vedette.state.files import binary_orders, stored_files
from vedette.state.files.binary_orders import OrderedFile
from vedette.state.policy import groups
from vedette.store.engine.client import Engine
from vedette.store.read.binary_usage import FirstSight, first_unsigned, holders_of

_HOUR_US: Final = 3600 * 1_000_000


def order_first_sightings(engine: Engine, database: Database, now_us: int) -> int:
    """One round; how many programs were ordered."""
    ruled = [
        one.id
        for one in groups.all_groups(database)
        if one.options.binary_orders == ORDERS_UNSIGNED
    ]
    since_us = now_us - BINARY_RULE_LOOKBACK_US
    return sum(_order(engine, database, group_id, since_us, now_us) for group_id in ruled)


def _order(engine: Engine, database: Database, group_id: int, since_us: int, now_us: int) -> int:
    sensors = binary_orders.sensors_of(database, group_id)
    room = BINARY_RULE_ORDERS_MAX - binary_orders.open_by_rule(database, group_id, now_us)
    if not sensors or room <= 0:
        return 0
    ordered = 0
    known = binary_orders.ordered_since(database, group_id, since_us)
    for sight in first_unsigned(engine, sensors, since_us, BINARY_RULE_SIGHTS_MAX):
        if ordered >= room:
            break
        if known.isdisjoint({sight.md5, sight.sha256}):
            ordered += _order_one(engine, database, sight, now_us)
    return ordered


def _order_one(engine: Engine, database: Database, sight: FirstSight, now_us: int) -> bool:
    file = OrderedFile(sight.md5, sight.sha256)
    scope = Scope(frozenset(sight.sensors))
    known = stored_files.copies_of(database, [file.name])
    if any(senders.intersection(sight.sensors) for _, senders in known):
        return False
    holders = holders_of(engine, [sight.md5, sight.sha256], scope)
    orders = orders_of(engine, file, binary_orders.senders(database, holders))
    if orders:
        expires_us = now_us + BINARY_ORDER_HOURS * _HOUR_US
        try:
            binary_orders.place(database, file, orders, "", now_us, expires_us)
        except ConflictError:  # people ordered as many as there may be
            return False
    return bool(orders)
