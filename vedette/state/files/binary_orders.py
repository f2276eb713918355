"""Orders for files of programs: which sensor is to send which file, and how far it is.

An order is for one sensor. It ends when a sensor of the same group has sent the file, when its own
sensor says that it cannot, when somebody takes it back, or at its time.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from vedette.errors import ConflictError
from vedette.limits import (
    BINARY_ORDER_KEPT_US,
    BINARY_ORDERS_HANDED_MAX,
    BINARY_ORDERS_OPEN_MAX,
    BINARY_REFUSAL_CHARS_MAX,
)
from vedette.model.group import ORDERS_OFF, GroupOptions
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_fleet import BINARY_ORDER
from vedette.state.policy.group_options import options_of

_O = BINARY_ORDER.c
_OPEN: Final = "open"
NO_ROOM: Final = "the sensor offers it, and there is no room: raise a quota, or delete copies"


@dataclass(frozen=True, slots=True)
class OrderedFile:
    """Hashes in lower case, "" unknown; never both."""

    md5: str
    sha256: str

    @property
    def name(self) -> str:
        """By which copies of it are asked for."""
        return self.md5 or self.sha256


@dataclass(frozen=True, slots=True)
class NewOrder:
    """What one sensor is to send, and where it has seen it."""

    sensor_id: int
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class BinaryOrder:
    """A stored order. Times in epoch microseconds, 0 not yet."""

    id: int
    sensor_id: int
    hostname: str
    group: str
    group_id: int
    username: str
    """Who asked; "" for the rule of the group."""
    state: str
    """waiting, sent (the sensor has it), arriving, done, failed, cancelled or expired."""
    message: str
    created_us: int
    expires_us: int
    received: int
    """Bytes that have come."""
    ended_us: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A sensor's word that it cannot send a file."""

    md5: str
    sha256: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sender:
    """A sensor that can send files, and what its group allows."""

    sensor_id: int
    group_id: int
    group: str
    options: GroupOptions


def senders(database: Database, sensor_ids: Collection[int]) -> list[Sender]:
    """Those of the sensors that are enrolled with Vedette's own program, the last seen first."""
    wanted = (
        select(SENSOR.c.id, SENSOR.c.group_id, GROUP.c.name, GROUP.c.options)
        .join(GROUP, GROUP.c.id == SENSOR.c.group_id)
        .where(SENSOR.c.key_sha256.is_not(None), SENSOR.c.uninstalled_us == 0)
        .order_by(SENSOR.c.checkin_us.desc(), SENSOR.c.id)
    )
    among = frozenset(sensor_ids)
    with database.reading() as connection:
        # Compared here: a file may be on more sensors than a statement takes values.
        found = [row for row in connection.execute(wanted) if row.id in among]
        options = {text: options_of(text) for text in {row.options for row in found}}
    return [Sender(row.id, row.group_id, row.name, options[row.options]) for row in found]


def groups_of(database: Database, sensor_ids: Collection[int]) -> set[int]:
    """The groups that sensors are in."""
    among = frozenset(sensor_ids)
    with database.reading() as connection:
        found = connection.execute(select(SENSOR.c.id, SENSOR.c.group_id))
        return {row.group_id for row in found if row.id in among}


def sensors_of(database: Database, group_id: int) -> list[int]:
    """The sensors of a group that can send files."""
    wanted = select(SENSOR.c.id).where(
        SENSOR.c.group_id == group_id,
        SENSOR.c.key_sha256.is_not(None),
        SENSOR.c.uninstalled_us == 0,
    )
    with database.reading() as connection:
        return list(connection.scalars(wanted.order_by(SENSOR.c.id)))


def place(
    database: Database,
    file: OrderedFile,
    orders: Iterable[NewOrder],
    username: str,
    now_us: int,
    expires_us: int,
) -> None:
    """Orders a file of sensors; one that is asked for it already is not asked again. Raises
    ConflictError when a group has too many open orders."""
    with database.writing() as connection:
        known = set(connection.scalars(select(_O.sensor_id).where(_is(file), _is_open(now_us))))
        rows = [
            {
                "sensor_id": one.sensor_id,
                "md5": file.md5,
                "sha256": file.sha256,
                "paths": orjson.dumps(list(one.paths)).decode(),
                "username": username,
                "state": _OPEN,
                "created_us": now_us,
                "expires_us": expires_us,
            }
            for one in orders
            if one.sensor_id not in known
        ]
        if rows:
            _check_room(connection, [row["sensor_id"] for row in rows], now_us)
            connection.execute(insert(BINARY_ORDER), rows)


def delete_old(connection: Connection, now_us: int) -> None:
    """Deletes the orders of long ago, answered or not. A job does, which asks the clock guard."""
    connection.execute(delete(BINARY_ORDER).where(_O.created_us < now_us - BINARY_ORDER_KEPT_US))


def _check_room(connection: Connection, sensor_ids: Collection[object], now_us: int) -> None:
    groups = select(SENSOR.c.group_id).where(SENSOR.c.id.in_(sensor_ids))
    most = (
        select(func.count().label("count"))
        .select_from(BINARY_ORDER.join(SENSOR, SENSOR.c.id == _O.sensor_id))
        .where(SENSOR.c.group_id.in_(groups), _is_open(now_us))
        .group_by(SENSOR.c.group_id)
    ).subquery()
    if (connection.scalar(select(func.max(most.c.count))) or 0) >= BINARY_ORDERS_OPEN_MAX:
        raise ConflictError(
            f"the group has {BINARY_ORDERS_OPEN_MAX:,} open orders for files: take some back",
            reason="too_many_orders",
        )


def of_file(database: Database, file: OrderedFile, scope: Scope, now_us: int) -> list[BinaryOrder]:
    """The orders for a file of the sensors in scope, the newest first."""
    wanted = (
        select(BINARY_ORDER, SENSOR.c.hostname, SENSOR.c.group_id, GROUP.c.name.label("group"))
        .join(SENSOR, SENSOR.c.id == _O.sensor_id)
        .join(GROUP, GROUP.c.id == SENSOR.c.group_id)
        .where(_is(file))
        .order_by(_O.id.desc())
    )
    with database.reading() as connection:
        rows = connection.execute(wanted).mappings().all()
    return [
        BinaryOrder(
            **{name: row[name] for name in BinaryOrder.__dataclass_fields__ if name != "state"},
            state=_state(row, now_us),
        )
        for row in rows
        if scope.allows(row["sensor_id"])
    ]


def cancel(database: Database, numbers: Collection[int], now_us: int) -> None:
    """Takes orders back that have not ended."""
    with database.writing() as connection:
        _end(connection, _O.id.in_(list(numbers)), "cancelled", now_us)


def waiting_sensors(database: Database, now_us: int) -> frozenset[int]:
    """Which sensors have something to send."""
    with database.reading() as connection:
        return frozenset(connection.scalars(select(_O.sensor_id).where(_is_open(now_us))))


def hand_out(database: Database, sensor_id: int, now_us: int) -> list[dict[str, Any]]:
    """What the sensor is to send now: `{md5, sha256, paths}`, the oldest first. Nothing where its
    group sends no files (any more)."""
    mine = (_O.sensor_id == sensor_id) & _is_open(now_us)
    with database.writing() as connection:
        if not _allows(connection, sensor_id):
            return []
        wanted = select(_O.id, _O.md5, _O.sha256, _O.paths).where(mine).order_by(_O.id)
        found = connection.execute(wanted.limit(BINARY_ORDERS_HANDED_MAX)).all()
        ids = [row.id for row in found]
        connection.execute(
            update(BINARY_ORDER).where(_O.id.in_(ids), _O.sent_us == 0).values(sent_us=now_us)
        )
    return [
        {"md5": row.md5, "sha256": row.sha256, "paths": orjson.loads(row.paths)} for row in found
    ]


def ordered_of(database: Database, sensor_id: int, now_us: int) -> frozenset[str]:
    """The hashes of what the sensor is to send."""
    mine = (_O.sensor_id == sensor_id) & _is_open(now_us)
    with database.reading() as connection:
        if not _allows(connection, sensor_id):
            return frozenset()
        found = connection.execute(select(_O.md5, _O.sha256).where(mine)).all()
    return frozenset(digest for row in found for digest in row if digest)


def note_received(database: Database, sensor_id: int, file: OrderedFile, received: int) -> None:
    """Says how much of a file has come."""
    mine = (_O.sensor_id == sensor_id) & (_O.state == _OPEN) & _is(file)
    with database.writing() as connection:
        connection.execute(update(BINARY_ORDER).where(mine).values(received=received))


def note_no_room(database: Database, sensor_id: int, files: Iterable[OrderedFile]) -> None:
    """Says of orders why their files do not come, though the sensor offers them."""
    hashes = {digest for file in files for digest in (file.md5, file.sha256) if digest}
    mine = (_O.sensor_id == sensor_id) & (_O.state == _OPEN) & (_O.message != NO_ROOM)
    if not hashes:
        return
    with database.writing() as connection:
        found = connection.execute(select(_O.id, _O.md5, _O.sha256).where(mine)).all()
        ids = [row.id for row in found if not hashes.isdisjoint((row.md5, row.sha256))]
        if ids:
            connection.execute(update(BINARY_ORDER).where(_O.id.in_(ids)).values(message=NO_ROOM))


def end_stored(connection: Connection, sensor_id: int, file: OrderedFile, now_us: int) -> bool:
    """Ends the orders that a file fulfils which a sensor has sent: those of all its group. Whether
    there were any."""
    own = select(SENSOR.c.group_id).where(SENSOR.c.id == sensor_id).scalar_subquery()
    group = select(SENSOR.c.id).where(SENSOR.c.group_id == own)
    return _end(connection, _is(file) & _O.sensor_id.in_(group), "done", now_us)


def refuse(database: Database, sensor_id: int, refusals: Iterable[Refusal], now_us: int) -> None:
    """Ends orders that the sensor cannot carry out."""
    with database.writing() as connection:
        for one in refusals:
            mine = (_O.sensor_id == sensor_id) & _is(OrderedFile(one.md5, one.sha256))
            _end(connection, mine, "failed", now_us, one.reason[:BINARY_REFUSAL_CHARS_MAX])


def open_by_rule(database: Database, group_id: int, now_us: int) -> int:
    """How many orders by the rule of a group have not ended."""
    wanted = (
        select(func.count())
        .select_from(BINARY_ORDER.join(SENSOR, SENSOR.c.id == _O.sensor_id))
        .where(SENSOR.c.group_id == group_id, _O.username == "", _is_open(now_us))
    )
    with database.reading() as connection:
        return int(connection.execute(wanted).scalar_one())


def ordered_since(database: Database, group_id: int, since_us: int) -> set[str]:
    """The hashes of what was ordered of a group's sensors since a time, however it ended."""
    wanted = (
        select(_O.md5, _O.sha256)
        .join(SENSOR, SENSOR.c.id == _O.sensor_id)
        .where(SENSOR.c.group_id == group_id, _O.created_us >= since_us)
    )
    with database.reading() as connection:
        return {digest for row in connection.execute(wanted) for digest in row if digest}


class WaitingSensors:
    """Which sensors have something to send: asked at each check-in, so kept in memory. Safe to
    share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: frozenset[int] = frozenset()

    def waits(self, sensor_id: int) -> bool:
        return sensor_id in self._waiting

    def refresh(self, now_us: int) -> None:
        """Reads them again: every two seconds, and after an order was made."""
        self._waiting = waiting_sensors(self._database, now_us)


def may_send(database: Database, sensor_id: int) -> bool:
    """Whether the group of a sensor lets programs leave its hosts."""
    with database.reading() as connection:
        return _allows(connection, sensor_id)


def _allows(connection: Connection, sensor_id: int) -> bool:
    wanted = (
        select(GROUP.c.options)
        .join(SENSOR, SENSOR.c.group_id == GROUP.c.id)
        .where(SENSOR.c.id == sensor_id)
    )
    text = connection.scalar(wanted)
    return text is not None and sends_orders(options_of(text))


def sends_orders(options: GroupOptions) -> bool:
    """Whether the sensors of a group send programs that somebody asks for."""
    return options.binary_orders != ORDERS_OFF or options.collect_storefiles


def _is(file: OrderedFile) -> ColumnElement[bool]:
    return or_(
        (_O.md5 == file.md5) & (_O.md5 != ""), (_O.sha256 == file.sha256) & (_O.sha256 != "")
    )


def _is_open(now_us: int) -> ColumnElement[bool]:
    return (_O.state == _OPEN) & (_O.expires_us > now_us)


def _end(
    connection: Connection, which: ColumnElement[bool], state: str, now_us: int, message: str = ""
) -> bool:
    ended = connection.execute(
        update(BINARY_ORDER)
        .where(which, _is_open(now_us))
        .values(state=state, ended_us=now_us, message=message)
    )
    return bool(ended.rowcount)


def _state(row: Any, now_us: int) -> str:
    if row["state"] != _OPEN:
        return str(row["state"])
    if row["expires_us"] <= now_us:
        return "expired"
    if row["received"]:
        return "arriving"
    return "sent" if row["sent_us"] else "waiting"
