"""Orders program files from the sensors that have them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.errors import ConflictError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, may, of_groups, require
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.files import binary_orders
from vedette.state.files.binary_orders import NewOrder, OrderedFile, Sender
from vedette.store.engine.client import Engine
from vedette.store.read.binary_usage import holders_of, paths_on

BINARY_ORDER_SENSORS_MAX: Limit[int] = 3
"""Sensors that get an order for the same file: one of them is soon online, and others are not
burdened."""

BINARY_ORDER_PATHS_MAX: Limit[int] = 8
"""Paths where a sensor looks for an ordered file."""


def request_file(
    engine: Engine,
    database: Database,
    caller: Principal,
    scope: Scope,
    file: OrderedFile,
    now_us: int,
    expires_us: int,
) -> None:
    """Orders a file that hosts of the scope have, from the most recently seen sensors.

    Raises ForbiddenError if the caller is not an Analyst in any group that has the file;
    ConflictError if no sensor can send it, because only log shippers report it or the groups send
    no files.
    """
    able = _able(database, _holders(engine, database, caller, scope, file), caller)
    orders = orders_of(engine, file, able)
    binary_orders.place(database, file, orders, caller.name, now_us, expires_us)


@dataclass(frozen=True, slots=True)
class Refusing:
    """A sensor group whose sensors send no files."""

    group_id: int
    name: str
    sensors: int
    """Number of its sensors that have the file and could send it."""


def refusing_groups(
    engine: Engine, database: Database, scope: Scope, file: OrderedFile
) -> list[Refusing]:
    """Returns the groups of the scope whose options keep sensors from sending a file that they
    have, sorted by name."""
    holders = holders_of(engine, [file.md5, file.sha256], scope)
    counts = Counter(
        (one.group, one.group_id)
        for one in binary_orders.senders(database, holders)
        if not binary_orders.sends_orders(one.options)
    )
    return [Refusing(number, name, count) for (name, number), count in sorted(counts.items())]


def orders_of(engine: Engine, file: OrderedFile, able: Sequence[Sender]) -> list[NewOrder]:
    """Returns orders of a file for the first `BINARY_ORDER_SENSORS_MAX` sensors, with the paths
    where they saw it."""
    chosen = [one.sensor_id for one in able[:BINARY_ORDER_SENSORS_MAX]]
    paths = paths_on(engine, [file.md5, file.sha256], chosen, BINARY_ORDER_PATHS_MAX)
    return [NewOrder(sensor_id, paths.get(sensor_id, [])) for sensor_id in chosen]


def _holders(
    engine: Engine, database: Database, caller: Principal, scope: Scope, file: OrderedFile
) -> list[int]:
    """Returns the sensors that have the file. Raises ForbiddenError."""
    holders = holders_of(engine, [file.md5, file.sha256], scope)
    groups = binary_orders.groups_of(database, holders)
    if not any(may(caller, Deed.ORDER_BINARY, of_groups(one)) for one in groups):
        require(caller, Deed.ORDER_BINARY, of_groups(*sorted(groups)[:1]))
    return holders


def _able(database: Database, sensor_ids: Sequence[int], caller: Principal) -> list[Sender]:
    """Returns the sensors that can get an order. Raises ConflictError if there are none."""
    senders = [
        one
        for one in binary_orders.senders(database, sensor_ids)
        if may(caller, Deed.ORDER_BINARY, of_groups(one.group_id))
    ]
    if not senders:
        raise ConflictError(
            "no host with the file has a sensor that can send it", reason="no_sensor"
        )
    able = [one for one in senders if binary_orders.sends_orders(one.options)]
    if not able:
        names = ", ".join(sorted({one.group for one in senders}))
        raise ConflictError(
            f"sensors of {names} send no files: an administrator of the group must "
            "set `binary_orders` to asked",
            reason="orders_off",
        )
    return able


def cancel_request(
    engine: Engine,
    database: Database,
    caller: Principal,
    scope: Scope,
    file: OrderedFile,
    now_us: int,
) -> None:
    """Cancels orders for a file in the groups where the caller is an Analyst. Raises ForbiddenError
    if the caller is not an Analyst in any group that has the file."""
    _holders(engine, database, caller, scope, file)
    known = binary_orders.of_file(database, file, scope, now_us)
    mine = [one.id for one in known if may(caller, Deed.ORDER_BINARY, of_groups(one.group_id))]
    binary_orders.cancel(database, mine, now_us)
