"""Orders for program files: which sensor should send which file, and the progress.

An order is for a single sensor. It ends when a sensor of the same group has sent the file, when its
own sensor refuses, when a user cancels it, or when it expires.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from vedette.limits import Limit
from vedette.model.group import ORDERS_OFF
from vedette.model.scope import Scope
from vedette.record.objects.sensor_group import GroupOptions
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_fleet import BINARY_ORDER
from vedette.state.policy.group_options import options_of
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import BINARY_ORDERS

BINARY_ORDER_KEPT_US: Limit[int] = 90 * 24 * 3600 * 1_000_000
"""Time (us) for which orders are retained, so that their outcome can be looked up; the audit log
keeps them."""

BINARY_ORDERS_HANDED_MAX: Limit[int] = 16
"""Orders in one response to a sensor, which may send those files concurrently."""

BINARY_REFUSAL_CHARS_MAX: Limit[int] = 256
"""Characters of a sensor's reason for refusing to send a file."""


_O = BINARY_ORDER.c
_OPEN: Final = "open"
NO_ROOM: Final = "no space for the offered copy: raise a quota or delete copies"


@dataclass(frozen=True, slots=True)
class OrderedFile:
    """Hashes of a file in lower case; "" if unknown. At least one is set."""

    md5: str
    sha256: str

    @property
    def name(self) -> str:
        """Hash by which its copies are requested."""
        return self.md5 or self.sha256


@dataclass(frozen=True, slots=True)
class NewOrder:
    """A sensor that should send a file, and the paths where it saw the file."""

    sensor_id: int
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class BinaryOrder:
    """A stored order. Times are epoch microseconds; 0 for not yet."""

    id: int
    sensor_id: int
    hostname: str
    group: str
    group_id: int
    username: str
    """Requesting user; "" for the group's rule."""
    state: str
    """waiting, sent (to the sensor), arriving, done, failed, cancelled or expired."""
    message: str
    created_us: int
    expires_us: int
    received: int
    """Bytes received so far."""
    ended_us: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A sensor's report that it cannot send a file."""

    md5: str
    sha256: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sender:
    """A sensor that can send files, and the options of its group."""

    sensor_id: int
    group_id: int
    group: str
    options: GroupOptions


def senders(database: Database, sensor_ids: Collection[int]) -> list[Sender]:
    """Returns those of the sensors that run Vedette's own sensor program, in order of their latest
    check-in, newest first."""
    wanted = (
        select(SENSOR.c.id, SENSOR.c.group_id, GROUP.c.name, GROUP.c.options)
        .join(GROUP, GROUP.c.id == SENSOR.c.group_id)
        .where(SENSOR.c.key_sha256.is_not(None), SENSOR.c.uninstalled_us == 0)
        .order_by(SENSOR.c.checkin_us.desc(), SENSOR.c.id)
    )
    among = frozenset(sensor_ids)
    with database.reading() as connection:
        # Filter in Python: a file may be on more sensors than a statement can have parameters.
        found = [row for row in connection.execute(wanted) if row.id in among]
        options = {text: options_of(text) for text in {row.options for row in found}}
    return [Sender(row.id, row.group_id, row.name, options[row.options]) for row in found]


def groups_of(database: Database, sensor_ids: Collection[int]) -> set[int]:
    """Returns the group ids of sensors."""
    among = frozenset(sensor_ids)
    with database.reading() as connection:
        found = connection.execute(select(SENSOR.c.id, SENSOR.c.group_id))
        return {row.group_id for row in found if row.id in among}


def sensors_of(database: Database, group_id: int) -> list[int]:
    """Returns the sensors of a group that can send files."""
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
    """Orders a file from sensors; skips sensors with an open order for it. Raises ConflictError
    when a group has too many open orders."""
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
            _check_room(connection, [row["sensor_id"] for row in rows], username, now_us)
            connection.execute(insert(BINARY_ORDER), rows)


def delete_old(connection: Connection, now_us: int) -> None:
    """Deletes orders older than `BINARY_ORDER_KEPT_US`, whatever their state. Called by a job that
    consults the clock guard."""
    connection.execute(delete(BINARY_ORDER).where(_O.created_us < now_us - BINARY_ORDER_KEPT_US))


def _check_room(
    connection: Connection, sensor_ids: Collection[Any], username: str, now_us: int
) -> None:
    """Raises ConflictError if a group of the sensors has no quota left for their orders."""
    groups = (
        select(SENSOR.c.group_id, func.count())
        .where(SENSOR.c.id.in_(sensor_ids))
        .group_by(SENSOR.c.group_id)
    )
    for group_id, count in connection.execute(groups).all():
        of_group = _O.sensor_id.in_(select(SENSOR.c.id).where(SENSOR.c.group_id == group_id))
        check_room(connection, BINARY_ORDERS, username, of_group, _is_open(now_us), adding=count)


def of_file(database: Database, file: OrderedFile, scope: Scope, now_us: int) -> list[BinaryOrder]:
    """Returns the orders for a file from sensors in scope, newest first."""
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
    """Cancels the open ones of the orders."""
    with database.writing() as connection:
        _end(connection, _O.id.in_(list(numbers)), "cancelled", now_us)


def waiting_sensors(database: Database, now_us: int) -> frozenset[int]:
    """Returns the sensors that have open orders."""
    with database.reading() as connection:
        return frozenset(connection.scalars(select(_O.sensor_id).where(_is_open(now_us))))


def hand_out(database: Database, sensor_id: int, now_us: int) -> list[dict[str, Any]]:
    """Returns the files to send as `{md5, sha256, paths}`, oldest order first, and marks their
    orders as sent. Empty if the sensor's group does not allow sending."""
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
    """Returns the hashes of all files that the sensor should send."""
    mine = (_O.sensor_id == sensor_id) & _is_open(now_us)
    with database.reading() as connection:
        if not _allows(connection, sensor_id):
            return frozenset()
        found = connection.execute(select(_O.md5, _O.sha256).where(mine)).all()
    return frozenset(digest for row in found for digest in row if digest)


def note_received(database: Database, sensor_id: int, file: OrderedFile, received: int) -> None:
    """Records how many bytes of a file have arrived."""
    mine = (_O.sensor_id == sensor_id) & (_O.state == _OPEN) & _is(file)
    with database.writing() as connection:
        connection.execute(update(BINARY_ORDER).where(mine).values(received=received))


def note_no_room(database: Database, sensor_id: int, files: Iterable[OrderedFile]) -> None:
    """Marks orders whose offered files the server cannot accept for lack of room."""
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
    """Ends all open orders of the sensor's group for a file that the sensor has sent. Returns
    whether there were any."""
    own = select(SENSOR.c.group_id).where(SENSOR.c.id == sensor_id).scalar_subquery()
    group = select(SENSOR.c.id).where(SENSOR.c.group_id == own)
    return _end(connection, _is(file) & _O.sensor_id.in_(group), "done", now_us)


def refuse(database: Database, sensor_id: int, refusals: Iterable[Refusal], now_us: int) -> None:
    """Fails the orders that a sensor refuses."""
    open_hashes = _open_hashes(database, sensor_id)
    meant = [one for one in refusals if not open_hashes.isdisjoint((one.md5, one.sha256))]
    if not meant:
        return
    with database.writing() as connection:
        for one in meant:
            mine = (_O.sensor_id == sensor_id) & _is(OrderedFile(one.md5, one.sha256))
            _end(connection, mine, "failed", now_us, one.reason[:BINARY_REFUSAL_CHARS_MAX])


def _open_hashes(database: Database, sensor_id: int) -> frozenset[str]:
    """Returns the hashes of a sensor's open orders: a refusal may name files that were not
    ordered."""
    mine = (_O.sensor_id == sensor_id) & (_O.state == _OPEN)
    with database.reading() as connection:
        found = connection.execute(select(_O.md5, _O.sha256).where(mine)).all()
    return frozenset(digest for row in found for digest in row if digest)


def open_by_rule(database: Database, group_id: int, now_us: int) -> int:
    """Returns the number of open orders from the rule of a group."""
    wanted = (
        select(func.count())
        .select_from(BINARY_ORDER.join(SENSOR, SENSOR.c.id == _O.sensor_id))
        .where(SENSOR.c.group_id == group_id, _O.username == "", _is_open(now_us))
    )
    with database.reading() as connection:
        return int(connection.execute(wanted).scalar_one())


def ordered_since(database: Database, group_id: int, since_us: int) -> set[str]:
    """Returns the hashes of files ordered from a group's sensors since `since_us`, whatever the
    outcome."""
    wanted = (
        select(_O.md5, _O.sha256)
        .join(SENSOR, SENSOR.c.id == _O.sensor_id)
        .where(SENSOR.c.group_id == group_id, _O.created_us >= since_us)
    )
    with database.reading() as connection:
        return {digest for row in connection.execute(wanted) for digest in row if digest}


class WaitingSensors:
    """In-memory set of sensors with open orders, consulted at each check-in. Safe to share between
    threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: frozenset[int] = frozenset()

    def waits(self, sensor_id: int) -> bool:
        return sensor_id in self._waiting

    def refresh(self, now_us: int) -> None:
        """Rereads the set. Called every two seconds and after placing an order."""
        self._waiting = waiting_sensors(self._database, now_us)


def may_send(database: Database, sensor_id: int) -> bool:
    """Whether the sensor's group allows program files to leave its hosts."""
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
    """Whether sensors of a group send programs on request."""
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
