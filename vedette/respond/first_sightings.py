"""Orders unsigned programs that a group sees for the first time, if the group's rule requests that
(`binary_orders` "unsigned").

A background job examines the programs that were first reported in the last minutes. It keeps no
state: files that are already ordered or stored are not ordered again, and the server's own clock
dates its telemetry, so missed rounds lose nothing.
"""

from typing import Final

from vedette.errors import ConflictError
from vedette.limits import BINARY_ORDER_HOURS, Limit
from vedette.model.group import ORDERS_UNSIGNED
from vedette.model.scope import Scope
from vedette.respond.binary_requests import orders_of
from vedette.state.db.database import Database
from vedette.state.files import binary_orders, stored_files
from vedette.state.files.binary_orders import OrderedFile
from vedette.state.policy import groups
from vedette.store.engine.client import Engine
from vedette.store.read.binary_usage import FirstSight, first_unsigned, holders_of

BINARY_RULE_ORDERS_MAX: Limit[int] = 200
"""Open orders from the rule of one group: a new image on a thousand hosts must not flood the
network with copies."""

BINARY_RULE_LOOKBACK_US: Limit[int] = 600 * 1_000_000
"""Maximum age (us) of a first sighting for an order by rule; longer than the job ever lacks a
server that runs it."""

BINARY_RULE_SIGHTS_MAX: Limit[int] = 2_000
"""First sightings that one round examines per group; a new host has as many."""


_HOUR_US: Final = 3600 * 1_000_000


def order_first_sightings(engine: Engine, database: Database, now_us: int) -> int:
    """Runs one round and returns the number of ordered programs."""
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
        except ConflictError:  # users have ordered up to the quota
            return False
    return bool(orders)
