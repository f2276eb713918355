"""Orders files of programs from the sensors that have them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.errors import ConflictError, ForbiddenError
from vedette.limits import BINARY_ORDER_PATHS_MAX, BINARY_ORDER_SENSORS_MAX
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.files import binary_orders
from vedette.state.files.binary_orders import NewOrder, OrderedFile, Sender
from vedette.store.engine.client import Engine
from vedette.store.read.binary_usage import holders_of, paths_on


def request_file(
    engine: Engine,
    database: Database,
    caller: Principal,
    scope: Scope,
    file: OrderedFile,
    now_us: int,
    expires_us: int,
) -> None:
    """Orders a file that hosts of the scope have, of the sensors that were seen last.

    Raises ForbiddenError for who is Analyst in none of the groups that have it, ConflictError where
    no sensor can send it: only log shippers report it, or the groups send no files.
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
    """Of it, that have the file and could send it."""


def refusing_groups(
    engine: Engine, database: Database, scope: Scope, file: OrderedFile
) -> list[Refusing]:
    """The groups of the scope that keep sensors which have a file from sending it, by name."""
    holders = holders_of(engine, [file.md5, file.sha256], scope)
    counts = Counter(
        (one.group, one.group_id)
        for one in binary_orders.senders(database, holders)
        if not binary_orders.sends_orders(one.options)
    )
    return [Refusing(number, name, count) for (name, number), count in sorted(counts.items())]


def orders_of(engine: Engine, file: OrderedFile, able: Sequence[Sender]) -> list[NewOrder]:
    """Orders of a file for the first of the sensors, with the places where they have seen it."""
    chosen = [one.sensor_id for one in able[:BINARY_ORDER_SENSORS_MAX]]
    paths = paths_on(engine, [file.md5, file.sha256], chosen, BINARY_ORDER_PATHS_MAX)
    return [NewOrder(sensor_id, paths.get(sensor_id, [])) for sensor_id in chosen]


def _holders(
    engine: Engine, database: Database, caller: Principal, scope: Scope, file: OrderedFile
) -> list[int]:
    """The sensors that have the file. Raises ForbiddenError."""
    holders = holders_of(engine, [file.md5, file.sha256], scope)
    groups = binary_orders.groups_of(database, holders)
    if not caller.is_global_admin and not any(
        caller.role_in(group_id) >= Role.ANALYST for group_id in groups
    ):
        raise ForbiddenError(f"{caller.name} must be Analyst in a group whose hosts have the file")
    return holders


def _able(database: Database, sensor_ids: Sequence[int], caller: Principal) -> list[Sender]:
    """The sensors that may be asked. Raises ConflictError when there are none."""
    senders = [
        one
        for one in binary_orders.senders(database, sensor_ids)
        if caller.role_in(one.group_id) >= Role.ANALYST
    ]
    if not senders:
        raise ConflictError(
            "no host that has the file has a sensor which can send it", reason="no_sensor"
        )
    able = [one for one in senders if binary_orders.sends_orders(one.options)]
    if not able:
        names = ", ".join(sorted({one.group for one in senders}))
        raise ConflictError(
            f"sensors of {names} send no files: an administrator of the group sets its "
            "`binary_orders` to asked",
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
    """Takes back the orders of the groups in which the caller is Analyst. Raises ForbiddenError for
    who is that in none of the groups that have the file."""
    _holders(engine, database, caller, scope, file)
    known = binary_orders.of_file(database, file, scope, now_us)
    mine = [one.id for one in known if caller.role_in(one.group_id) >= Role.ANALYST]
    binary_orders.cancel(database, mine, now_us)
